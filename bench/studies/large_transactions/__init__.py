"""Study S1, slide "problems": transactions of very many rows in little memory."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from lab import measures, sysbench
from lab.cell import Cell
from lab.charts import Bars, Chart
from lab.histogram import Histogram
from lab.judging import cell, ratio_claim
from lab.metrics import Metric
from lab.results import Results
from lab.server import MeasuredServer
from lab.setup import BASALT, D1, INNODB, MIB, MYROCKS, Limits, Setup
from lab.study import Claim, Finding, Size, Study, Verdict
from lab.sysbench import ClientResult
from lab.trial import Trial
from workloads.large_transaction import LargeTransaction, Outcome, Statement
from workloads.sysbench_oltp import SysbenchOltp

# A guess of what the three statements take, by which the time of a run is foretold.
_SECONDS = {Size.SMOKE: 1, Size.QUICK: 6, Size.FULL: 30, Size.LONG: 600}
_ATOMIC, _UNDONE, _MIDDLE = "one transaction", "rolled back", "commits in the middle"
_BESIDE = "beside 16 clients"
_ROWS = {Size.SMOKE: 2000, Size.QUICK: 250_000, Size.FULL: 500_000, Size.LONG: 8_000_000}
# Rows have 100 bytes, and where it takes long 250: two gigabytes.
_HASHES = {Size.SMOKE: 2, Size.QUICK: 2, Size.FULL: 2, Size.LONG: 6}
_LIMIT = 512
_ROWS_OF_CLIENTS = 5000
_SECONDS_OF_PIECE = 3
# In transactions of 8 million rows InnoDB takes 150 MB beside its pool. With the 362 MB that other
# studies give it under this limit there is no memory left for mariadbd's own code: it pages that in
# all the time, and an hour is not enough.
_INNODB_POOL_OF_LONG = "--innodb-buffer-pool-size=288M"


def _metrics() -> Mapping[str, Metric]:
    """What each statement's window says."""
    found: dict[str, Metric] = {}
    for statement in Statement:
        name, title = statement.name.lower(), statement.name.replace("_", " ")
        found |= {
            f"{name}_seconds": Metric(f"{title}, time", "s", 1, True,
                                      "Until the statement and its commit were done."),
            f"{name}_per_second": Metric(f"{title}, rows", "rows/s", 0, False,
                                         "Rows of the table by the statement's time."),
            f"{name}_write_kb_per_unit": Metric(f"{title}, written per row", "KB", 2, True,
                                                "Kilobytes written to the device meanwhile."),
            f"{name}_memory_peak_mb": Metric(f"{title}, memory", "MB", 0, True,
                                             "Peak of the server's memory since its start, with "
                                             "the system's cache of its files."),
            f"{name}_data_mb": Metric(f"{title}, size", "MB", 0, True,
                                      "The data on the disk when it is done."),
            f"{name}_rolled_back_seconds": Metric(f"{title}, rolled back", "s", 1, True,
                                                  "Until the statement was done, and undone."),
            f"{name}_undo_seconds": Metric(f"{title}, rollback", "s", 2, True,
                                           "Of the time before, ROLLBACK.")}
    return found


def _setups(size: Size) -> Sequence[Setup]:
    innodb = INNODB
    if size is Size.LONG:
        innodb = dataclasses.replace(INNODB, options=(*INNODB.options, _INNODB_POOL_OF_LONG))
    return innodb, MYROCKS, BASALT


class LargeTransactions(Study):
    """An UPDATE, an INSERT ... SELECT and a DELETE of every row, each a transaction."""

    name = "large_transactions"
    title = "Large transactions"
    question = "Does a statement over a whole table end, in what time and memory?"
    published = ("M. Callaghan, slides \"MyRocks\", 2017: a transaction is kept in memory, so a "
                 "large one can exhaust it; MyRocks has a limit of row locks, and commits in the "
                 "middle of statements for those who can do without atomicity.")
    scaling = ("Half a million rows (quick: half of that) of 100 bytes, or 8 million of 250 bytes "
               f"(long), with a secondary index, in {_LIMIT} MB.")
    metrics: Mapping[str, Metric] = _metrics()

    def cells(self, size: Size) -> Sequence[Cell]:
        limits = Limits(_LIMIT * MIB)
        atomic = LargeTransaction(_ROWS[size], hashes=_HASHES[size])
        cells = [Cell(name, atomic, _setups(size), {}, limits, D1, threads=1,
                      seconds=_SECONDS[size], warm_seconds=0) for name in (_ATOMIC, _UNDONE)]
        middle = dataclasses.replace(atomic, is_atomic=False)
        # Stock MyRocks is killed for its memory, or refuses.
        beside = [setup for setup in _setups(size) if setup is not MYROCKS]
        if size in (Size.SMOKE, Size.LONG):
            cells.append(Cell(_BESIDE, atomic, beside, {}, limits, D1, threads=16,
                              seconds=_SECONDS[size], warm_seconds=0))
        return [*cells, Cell(_MIDDLE, middle, (MYROCKS,), {}, limits, D1, threads=1,
                             seconds=_SECONDS[size], warm_seconds=0)]

    def measure(self, trial: Trial, cell: Cell) -> None:
        """Each statement in a window of its own; errors are results here."""
        workload = cell.workload
        assert isinstance(workload, LargeTransaction)
        if cell.name == _BESIDE:
            _measure_beside_clients(trial, workload)
            return
        trial.record.unit = "row"
        with trial.serving() as server:
            for statement in Statement:
                with trial.window(server) as measured:
                    outcome = _run(workload, server, statement, cell)
                assert measured.window is not None
                name = statement.name.lower()
                if cell.name == _UNDONE:
                    _keep_rollback(trial, outcome)
                    continue
                if outcome.is_done:
                    trial.record.values[f"{name}_seconds"] = outcome.seconds
                    trial.record.values[f"{name}_per_second"] = workload.rows / outcome.seconds
                trial.note(**{name: outcome.error or f"done in {outcome.seconds:.1f} s"})
                trial.record.values |= {
                    f"{name}_{metric}": value for metric, value in measures.of_window(
                        measured.window, measured.samples, workload.rows).items()
                    if metric in ("write_kb_per_unit", "memory_peak_mb", "data_mb")}
            done = [trial.record.values.get(f"{each.name.lower()}_seconds") for each in Statement]
            if all(done):
                trial.record.values["per_second"] = (
                    len(done) * workload.rows / sum(seconds for seconds in done if seconds))
            trial.check(server)

    def claims(self) -> Sequence[Claim]:
        return (
            Claim("1.8a", "A large transaction is limited by memory or by a number of locks",
                  "no figure", _does_it_end),
            ratio_claim("1.8b", "Large transactions take MyRocks longer than InnoDB", "no figure",
                        cell(_ATOMIC), metric="update_seconds", at_least=1.0),
            ratio_claim("1.8c", "Commits in the middle spare memory", "no figure", cell(_MIDDLE),
                        metric="update_memory_peak_mb", setup="myrocks", base="myrocks",
                        base_cell=cell(_ATOMIC), at_most=0.95))

    def charts(self) -> Sequence[Chart]:
        return tuple(Bars(f"{statement.name.replace('_', ' ')}, one transaction",
                          metric=f"{statement.name.lower()}_seconds", y_label="seconds")
                     for statement in Statement)


def _measure_beside_clients(trial: Trial, workload: LargeTransaction) -> None:
    """The UPDATE, while clients change rows of other tables, and some seconds before and behind."""
    small = SysbenchOltp(tables=4, rows=_ROWS_OF_CLIENTS, script="oltp_write_only")
    with trial.serving() as server:
        small.prepare(server)
        stops = threading.Event()
        with ThreadPoolExecutor(1) as pool, trial.window(server) as measured:
            # In pieces, since nobody knows when the statement ends.
            clients = pool.submit(_run_until, stops, small, trial, server)
            outcome = workload.run(server, Statement.UPDATE)
            stops.set()
            results = clients.result()
        assert measured.window is not None
        trial.note(update=outcome.error or f"done in {outcome.seconds:.1f} s")
        if outcome.is_done:
            trial.record.values["update_seconds"] = outcome.seconds
        _keep_pieces(trial, results)
        trial.check(server)
        trial.record.problems += small.check(server)


def _keep_pieces(trial: Trial, results: Sequence[ClientResult]) -> None:
    """As Trial.keep_clients() of one client."""
    rates = [rate for result in results for rate in result.rates]
    latency = Histogram.merged(result.latency for result in results).summary()
    trial.record.unit = results[0].client.unit
    trial.record.seconds = [round(rate, 1) for rate in rates]
    trial.record.latency[results[0].client.label] = latency
    trial.record.values |= measures.steadiness(rates)
    trial.record.values |= {f"{name}_ms": value for name, value in latency.items()
                            if name != "count"}
    trial.record.values["per_second"] = (sum(result.units for result in results)
                                         / sum(result.seconds for result in results))


def _run_until(stops: threading.Event, workload: SysbenchOltp, trial: Trial,
               server: MeasuredServer) -> list[ClientResult]:
    results: list[ClientResult] = []
    while not results or not stops.is_set():
        load = workload.load(trial.cell.threads, _SECONDS_OF_PIECE, trial.seed + len(results))
        results += sysbench.run_load(load, server.socket)
    return results


def _keep_rollback(trial: Trial, outcome: Outcome) -> None:
    name = outcome.statement.name.lower()
    trial.note(**{name: outcome.error or f"done and undone in {outcome.seconds:.1f} s"})
    if outcome.is_done:
        trial.record.values |= {f"{name}_rolled_back_seconds": outcome.seconds,
                                f"{name}_undo_seconds": outcome.undo_seconds}


def _run(workload: LargeTransaction, server: MeasuredServer, statement: Statement,
         cell: Cell) -> Outcome:
    if cell.name == _UNDONE:
        return workload.run_and_roll_back(server, statement)
    if cell.name == _ATOMIC:
        return workload.run(server, statement)
    outcome = workload.run_committing_in_the_middle(server, statement)
    assert outcome is not None, "stock MyRocks has commits in the middle"
    return outcome


def _does_it_end(results: Results) -> Finding:
    """Whether stock MyRocks refused a statement or died of it; what Basalt did beside it."""
    def said(setup: str) -> list[str]:
        # A server that died is an answer here, so trials with problems count.
        trial = next((trial for trial in results.all
                      if (trial.cell, trial.setup) == (_ATOMIC, setup)), None)
        if trial is None:
            return []
        ended = [f"{each.name}: {trial.details[name]}" for each in Statement
                 if (name := each.name.lower()) in trial.details]
        return [*ended, *trial.problems]
    rival, ours = said("myrocks"), said("basalt")
    if not rival:
        return Finding(Verdict.NOT_COMPARABLE, "", reason="not measured")
    is_limited = any("done" not in text for text in rival)
    return Finding(Verdict.REPRODUCED if is_limited else Verdict.NOT_REPRODUCED,
                   "; ".join(rival), "; ".join(ours),
                   "reproduced if a statement is refused at this size, or the server dies; the "
                   "peaks of memory are in the table")


STUDY = LargeTransactions()
