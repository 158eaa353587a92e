"""Study S2, third article: index condition pushdown, by a query derived from TPC-H's Q19."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from lab import sysbench
from lab.cell import Cell
from lab.charts import Bars, Chart
from lab.metrics import Metric
from lab.server import MeasuredServer
from lab.setup import D1, GIB, MIB, SETUPS, Limits
from lab.study import Claim, Size, Study
from lab.throttle import IoLimits
from lab.trial import Trial
from lab.workload import Load
from studies.icp import claims
from studies.icp.cache import cache_use, pages_missed
from workloads.q19 import Q19, Outcome, expected

_SCALE = {Size.SMOKE: 0.01, Size.QUICK: 0.25, Size.FULL: 1, Size.LONG: 4}
_IOPS = 500
# Counters of the server by the names that trials give them.
_COUNTED = {"part_rows": "Handler_read_rnd_next", "lookups": "Handler_read_key",
            "entries_read": "Handler_read_next", "entries_tried": "Handler_icp_attempts",
            "entries_passed": "Handler_icp_match"}


class Icp(Study):
    """The query with pushdown and without, from memory and from a slow disk."""

    name = "icp"
    title = "Index condition pushdown (Q19)"
    question = "How much does it save to test a condition on the index before reading the row?"
    published = ("Percona 2018: TPC-H's Q19 in InnoDB with the index (l_partkey, l_quantity, "
                 "l_shipmode, l_shipinstruct). Scale 2 in memory: up to x 2. Scale 40, 95 GB, from "
                 "disks: 78 minutes without pushdown, 2 minutes with it; 19 times fewer page "
                 "reads.")
    scaling = ("Scale 1 in memory and from a disk of 500 operations per second in 384 MB (quick: "
               "0.25; long: 4 from the disk, in 512 MB); rows of our own generator, the query's "
               "plan pinned.")
    metrics: Mapping[str, Metric] = {
        "query_s": Metric("Query", "s", 3, True, "Seconds that one run of the query takes."),
        "part_rows": Metric("Rows of part", "", 0, None, "Handler_read_rnd_next."),
        "lookups": Metric("Lookups", "", 0, None, "Handler_read_key: parts that qualify."),
        "entries_read": Metric("Entries returned", "", 0, True,
                               "Handler_read_next: index entries whose rows were read."),
        "entries_tried": Metric("Entries tried", "", 0, None, "Handler_icp_attempts."),
        "entries_passed": Metric("Entries passed", "", 0, None, "Handler_icp_match."),
        "counters_off_percent": Metric(
            "Counters' deviation", "%", 1, True,
            "The largest deviation of the five counters from what the generated rows imply."),
        "pages_missed": Metric(
            "Pages missed", "", 0, True,
            "Pages (InnoDB) or data blocks (MyRocks) that were not in the engine's cache."),
        "cache_used_mb": Metric("Cache used", "MB", 0, True,
                                "What the engine's own cache holds after the query."),
        "cache_used_percent": Metric("Cache used", "%", 0, True, "The same as a part of its size.")}

    def cells(self, size: Size) -> Sequence[Cell]:
        stored = Q19(_SCALE[size])
        small = Limits((512 if size is Size.LONG else 384) * MIB,
                       IoLimits(read_iops=_IOPS, write_iops=_IOPS))
        # One run of the query; its seconds are a guess for the time that is left.
        cold = [self._cell(name, stored, small, {"storage": "disk", "pushdown": pushdown}, seconds)
                for name, pushdown, seconds in (
                    (claims.COLD_ON, "on", 5),
                    (claims.COLD_OFF, "off", expected(_SCALE[size]).entries / _IOPS))]
        if size is Size.SMOKE:
            return cold[:1]
        cached = Q19(1) if size is Size.LONG else stored
        seconds, warm_seconds = (4, 1) if size is Size.QUICK else (20, 4)
        warm = [self._cell(name, cached, Limits(3 * GIB),
                           {"storage": "memory", "pushdown": pushdown}, seconds, warm_seconds)
                for name, pushdown in ((claims.WARM_ON, "on"), (claims.WARM_OFF, "off"),
                                       (claims.NO_HINT, "on"))]
        return [*warm, *cold]

    def _cell(self, name: str, workload: Q19, limits: Limits, axes: Mapping[str, str],
              seconds: float = 0, warm_seconds: float = 0) -> Cell:
        return Cell(name, workload, SETUPS,
                    {**axes, "hint": "no" if name == claims.NO_HINT else "yes"}, limits, D1,
                    threads=1, seconds=seconds, warm_seconds=warm_seconds)

    def measure(self, trial: Trial, cell: Cell) -> None:
        """In memory the query again and again, from the disk once; the counters of one run.

        The query only reads: its answer is checked instead of all data.
        """
        workload = cell.workload
        assert isinstance(workload, Q19)
        icp, force = cell.axes["pushdown"] == "on", cell.axes["hint"] == "yes"
        with trial.serving() as server:
            if cell.axes["storage"] == "memory":
                _measure_warm(trial, server, lambda seconds: workload.query_load(
                    cell.threads, seconds, icp=icp, force=force))
                outcome = workload.query(server, icp, force)
            else:
                with trial.window(server) as measured:
                    outcome = workload.query(server, icp, force)
                trial.keep_window(measured, 1)
                trial.record.values["query_s"] = outcome.seconds
            trial.record.unit = "run"
            self._keep(trial, workload, outcome)
            _keep_cache_use(trial, server)

    def _keep(self, trial: Trial, workload: Q19, outcome: Outcome) -> None:
        """Records what one run of the query counted, and whether its answer is right."""
        values = trial.record.values
        values |= {name: float(outcome.counters[counter]) for name, counter in _COUNTED.items()}
        missed = pages_missed(trial.setup.engine, outcome.counters)
        if missed is not None:
            values["pages_missed"] = float(missed)
        answer, icp = workload.answer, trial.cell.axes["pushdown"] == "on"
        if outcome.index() == "i_l_partkey":
            values["counters_off_percent"] = max(
                100 * max(0, abs(outcome.counters[name] - wanted) - 1) / max(wanted, 1)
                for name, wanted in answer.counts.handler(icp).items())
        trial.note(scale=workload.scale, index=outcome.index(), counters=dict(outcome.counters),
                   plan=[[str(value) for value in row] for row in outcome.plan],
                   counts=dataclasses.asdict(answer.counts))
        if outcome.value != answer.revenue:
            trial.record.problems.append(
                f"the query gave {outcome.value}, the rows imply {answer.revenue}")
        if trial.cell.axes["hint"] == "yes" and (
                outcome.index() != "i_l_partkey" or outcome.uses_icp() != icp):
            trial.record.problems.append("the optimizer did not follow the hint")

    def claims(self) -> Sequence[Claim]:
        return claims.claims()

    def charts(self) -> Sequence[Chart]:
        return (Bars("Time of the query, in memory", where={"storage": "memory"}, metric="query_s",
                     y_label="seconds"),
                Bars("Time of the query, from the disk", where={"storage": "disk"},
                     metric="query_s", y_label="seconds", is_log_y=True),
                Bars("Read from the device", where={"storage": "disk"}, metric="read_kb_per_unit",
                     y_label="KB", is_log_y=True),
                Bars("Index entries whose rows were read", where={"hint": "yes"},
                     metric="entries_read", y_label="entries", is_log_y=True))


def _measure_warm(trial: Trial, server: MeasuredServer, load: Callable[[float], Load]) -> None:
    """The standard protocol without deferred work: nothing is written."""
    sysbench.run_load(load(trial.cell.warm_seconds), server.socket)
    with trial.window(server) as measured:
        clients = sysbench.run_load(load(trial.cell.seconds), server.socket)
    trial.keep_clients(clients)
    trial.keep_window(measured, clients[0].units)
    if clients[0].units:
        trial.record.values["query_s"] = clients[0].seconds / clients[0].units


def _keep_cache_use(trial: Trial, server: MeasuredServer) -> None:
    use = cache_use(server)
    if use is not None:
        used, room = use
        trial.record.values |= {"cache_used_mb": used / 1e6,
                                "cache_used_percent": 100 * used / room}


STUDY = Icp()
