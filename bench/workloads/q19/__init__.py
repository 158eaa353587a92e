"""The workload of index condition pushdown."""

from workloads.q19.query import Counts, Outcome, expected
from workloads.q19.workload import Q19

__all__ = ["Counts", "Outcome", "Q19", "expected"]
