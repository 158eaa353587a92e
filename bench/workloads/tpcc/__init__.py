"""The TPC-C-like workload."""

from workloads.tpcc.workload import Tpcc

# Parameters of data that load in a second, for tests.
SMOKE_SCALE = {"tables": 1, "scale": 1, "customers": 60, "items": 500}

__all__ = ["SMOKE_SCALE", "Tpcc"]
