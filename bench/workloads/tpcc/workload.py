"""Tpcc: data, load and check of the TPC-C-like workload."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.workload import Client, Damage, Load, Target, Workload
from workloads.tpcc import checks, damages, schema

SCRIPT = Path(__file__).with_name("tpcc.lua")
_DATA_SEED = 1


class Tpcc(Workload):
    """Order processing with the schema and mix of the published studies.

    `tables` sets of nine tables hold `scale` warehouses each; a warehouse takes about 92 MB in
    InnoDB. `incompressible` fills texts with random characters instead of one letter repeated, as
    the studies had it. `logic` is "quirks", what the studies' program does, or "spec", what the
    specification demands. `stock_level` is "case2" in the memory sweep of March 2018 (a query per
    item) and "case1" since (one join). `has_foreign_keys` declares those of the specification, and
    checks them in transactions. `customers` per district and `items` are smaller in tests.
    """

    name = "tpcc"

    def __init__(self, tables: int = 1, scale: int = 10, *, incompressible: bool = False,
                 logic: str = "quirks", stock_level: str = "case1", isolation: str = "RC",
                 has_foreign_keys: bool = False, customers: int = 3000,
                 items: int = 100000) -> None:
        self.scale = checks.Scale(tables, scale, customers, items)
        self.incompressible = incompressible
        self.logic = logic
        self.stock_level = stock_level
        self.isolation = isolation
        self.has_foreign_keys = has_foreign_keys

    def identity(self) -> Mapping[str, Any]:
        """Logic, stock level and isolation do not change what is loaded."""
        keys = {"has_foreign_keys": True} if self.has_foreign_keys else {}
        return {**self._scale_options(), "incompressible": self.incompressible,
                "seed": _DATA_SEED, **keys}

    def expected_rows(self) -> int:
        """Stock, and for each customer one row, its payment, and an order with its lines."""
        scale = self.scale
        return scale.tables * scale.scale * (scale.items + checks.DISTRICTS * scale.customers * 13)

    def prepare(self, target: Target) -> None:
        for statement in schema.statements(self.scale.tables, target.table_options,
                                           has_foreign_keys=self.has_foreign_keys):
            target.query(statement)
        threads = min(os.cpu_count() or 1, self.scale.tables * self.scale.scale)
        target.sysbench(self._client(threads, _DATA_SEED), "prepare")

    def load(self, threads: int, seconds: float, seed: int) -> Load:
        return Load((self._client(threads, seed),), seconds)

    def check(self, target: Target) -> list[str]:
        return checks.violations(target, self.scale)

    def damages(self) -> Sequence[Damage]:
        return list(damages.of(self.scale))

    def _client(self, threads: int, seed: int) -> Client:
        return Client("tpcc", SCRIPT, threads, {
            **self._scale_options(), "incompressible": "on" if self.incompressible else "off",
            "logic": self.logic, "stock-level": self.stock_level, "isolation": self.isolation,
            "foreign-keys": "on" if self.has_foreign_keys else "off"},
            seed)

    def _scale_options(self) -> dict[str, int]:
        return {"tables": self.scale.tables, "scale": self.scale.scale,
                "customers": self.scale.customers, "items": self.scale.items}
