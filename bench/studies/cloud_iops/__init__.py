"""Study S2, part 1: throughput on storage that is paid by operations per second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.cell import Cell
from lab.charts import Chart, Curves, SecondsScatter
from lab.judging import cell, highest, lowest, ratio_claim
from lab.metrics import Metric
from lab.results import Results
from lab.setup import D2, MIB, SETUPS, Limits
from lab.study import Claim, Finding, Size, Study, Verdict
from lab.throttle import IoLimits
from lab.trial import Trial
from studies.cloud_iops import costs
from workloads.tpcc import SMOKE_SCALE, Tpcc

_IOPS = "iops"
_FEW, _MUCH = 448, 768
_POINTS = {Size.SMOKE: (2000,), Size.QUICK: (300, 1000), Size.FULL: (300, 600, 1000),
           Size.LONG: (300, 600, 1000, 1700)}
_MUCH_POINTS = {Size.SMOKE: (), Size.QUICK: (), Size.FULL: (300,), Size.LONG: (300, 1000)}
# The study's gp2 volume was also limited in bytes: 160 MiB/s for 10,000 operations of 5000 W.
_GP2_NAME = "gp2: 600 per second, 9 MiB/s"
_GP2 = IoLimits(600, 600, 9 * MIB, 9 * MIB)


class CloudIops(Study):
    """The TPC-C-like workload in little memory, on disks of different speed."""

    name = "cloud_iops"
    title = "Cloud storage: throughput by operations per second"
    question = "How much slower, so cheaper, may the storage be?"
    published = ("Percona 2018, \"Saving with MyRocks in the cloud\": 5000 warehouses, 32 threads, "
                 "27 and 54 GB of cache, volumes of 5000 to 30000 operations per second. MyRocks "
                 "did 2.5 to 5.6 times InnoDB's transactions; at 5000 as many as InnoDB at 15000.")
    scaling = ("10 warehouses in 448 MB, 4 threads, operations divided by 18 as the cores are. "
               "The limit is for reads and for writes each, which favours InnoDB, half of whose "
               "operations are writes; a cloud volume limits their sum.")
    metrics: Mapping[str, Metric] = {
        "dollars_per_million": Metric(
            "A million transactions", "$", 3, True,
            "Price of a volume twice as large as the data for the time of a million transactions.")}

    def cells(self, size: Size) -> Sequence[Cell]:
        workload = Tpcc(**SMOKE_SCALE) if size is Size.SMOKE else Tpcc(tables=1, scale=10)
        seconds = {Size.SMOKE: 1, Size.QUICK: 10, Size.FULL: 30, Size.LONG: 60}[size]
        warm = {Size.SMOKE: 0, Size.QUICK: 5, Size.FULL: 10, Size.LONG: 20}[size]

        def of(name: str, memory: int, axes: dict[str, float | str], disk: IoLimits) -> Cell:
            return Cell(name, workload, SETUPS, {**axes, "memory_mb": memory},
                        Limits(memory * MIB, disk), D2, threads=4, seconds=seconds,
                        warm_seconds=warm)

        cells = [of(f"{iops} per second", _FEW, {_IOPS: iops}, IoLimits(iops, iops))
                 for iops in _POINTS[size]]
        if size in (Size.FULL, Size.LONG):
            cells += [of(_GP2_NAME, _FEW, {}, _GP2)]
        return cells + [of(f"{iops} per second, {_MUCH} MB", _MUCH, {_IOPS: iops},
                           IoLimits(iops, iops)) for iops in _MUCH_POINTS[size]]

    def claims(self) -> Sequence[Claim]:
        slowest, fastest = lowest(_IOPS, memory_mb=_FEW), highest(_IOPS, memory_mb=_FEW)
        return (
            Claim("2.1", "A volume of 1 TB costs 5400 to 24,900 dollars a year with 5000 to "
                  "30,000 operations", "$5400 to $24,900", _are_prices_right),
            ratio_claim("2.2", "MyRocks needs a fraction of InnoDB's space", "x 0.19",
                        slowest, metric="template_data_mb", at_most=0.6),
            ratio_claim("2.3a", "On slow storage MyRocks does a multiple of the transactions",
                        "x 3.63", slowest, at_least=1.8),
            ratio_claim("2.3b", "On fast storage it still is ahead", "x 3.33", fastest,
                        at_least=1.2),
            ratio_claim("2.3c", "Furthest on a volume that is limited in bytes, too", "x 5.59",
                        cell(_GP2_NAME), at_least=1.8),
            ratio_claim("2.4", "With twice the memory it still is ahead", "x 2.45 to 4.78",
                        lowest(_IOPS, memory_mb=_MUCH), at_least=1.2),
            ratio_claim("2.7", "MyRocks varies more from second to second",
                        "x 1.1 to 1.3 (coefficients of variation)", fastest, metric="cv_percent",
                        at_least=1.05),
            ratio_claim("2.8", "A copy of MyRocks' data is made in a fraction of the time",
                        "x 0.2", slowest, metric="restore_seconds", at_most=0.5),
            Claim("2.6", "MyRocks needs a third of the operations for the same throughput",
                  "481 transactions at 5000 per second, InnoDB 436 at 15000", _same_throughput))

    def charts(self) -> Sequence[Chart]:
        x = {"axis": _IOPS, "x_label": "operations per second"}
        return (Curves("Throughput", y_label="transactions per second", **x),
                Curves("Cost of a million transactions", "Storage alone, at the prices of 2018.",
                       metric="dollars_per_million", y_label="US dollars", **x),
                SecondsScatter("Each second's throughput", y_label="transactions per second"))

    def measure(self, trial: Trial, cell: Cell) -> None:
        """The standard protocol; the cost follows from the volume and the throughput."""
        trial.measure_load(cell)
        iops = cell.axes.get(_IOPS)
        rate = trial.record.values.get("per_second")
        if isinstance(iops, int) and rate:
            size = trial.record.values["template_data_mb"] / 1e3
            trial.record.values["dollars_per_million"] = costs.per_million(iops, size, rate)


def _are_prices_right(_: Results) -> Finding:
    """Whether our arithmetic gives the study's table."""
    table = {iops: costs.per_year(iops, 1000) for iops in (5000, 10000, 15000, 20000, 30000)}
    is_right = [round(table[iops]) for iops in (5000, 30000)] == [5400, 24900]
    return Finding(Verdict.REPRODUCED if is_right else Verdict.NOT_REPRODUCED,
                   ", ".join(f"{iops}: ${price:,.0f}" for iops, price in table.items()),
                   reason="arithmetic, at the prices of 2018; the second picture puts ours on it")


def _same_throughput(results: Results) -> Finding:
    """How many times the operations InnoDB needs for what MyRocks does at the fewest."""
    cells = sorted((name for name in results.cells({"memory_mb": _FEW})
                    if _IOPS in results.axes(name)),
                   key=lambda name: float(results.axes(name)[_IOPS]))
    found = {setup: costs.iops_ratio(results, cells, _IOPS, setup)
             for setup in ("myrocks", "basalt")}
    if found["myrocks"] is None:
        return Finding(Verdict.NOT_COMPARABLE, "", reason="too few cells were measured")
    ours = "" if found["basalt"] is None else costs.as_text(found["basalt"])
    verdict = Verdict.REPRODUCED if found["myrocks"].factor >= 2 else Verdict.NOT_REPRODUCED
    return Finding(verdict, costs.as_text(found["myrocks"]), ours,
                   "InnoDB's operations at equal throughput; expected at least 2 times")


STUDY = CloudIops()
