"""Study S4: the insert benchmark, in memory and beyond it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab import sysbench
from lab.cell import Cell
from lab.charts import Bars, Chart, RateOverUnits, SecondsScatter
from lab.judging import cell, not_here, ratio_claim
from lab.metrics import Metric
from lab.setup import D3, GIB, MIB, SETUPS, Limits
from lab.study import Claim, Size, Study
from lab.trial import Trial
from workloads.insert_benchmark import InsertBenchmark

_CLIENTS = 4
_IN_MEMORY, _IO_BOUND = "in memory", "beyond memory"
_SLICE = 10


class InsertStudy(Study):
    """Inserts into tables with three secondary indexes, then queries beside slower inserts."""

    name = "insert_benchmark"
    title = "Insert benchmark"
    question = "How fast are rows with secondary indexes inserted, and does the rate hold?"
    published = ("M. Callaghan, January 2017: 2 billion rows, 16 clients. Beyond memory (50 GB) "
                 "MyRocks inserted 115,000 rows per second, InnoDB 66,000; in memory (256 GB) "
                 "103,000 and 268,000. MyRocks wrote a quarter per row and needed 0.62 of the "
                 "space.")
    scaling = ("4 clients with a table each, 100 rows per commit, nothing synced at commit, by "
               "time instead of rows: the limit beyond memory is passed within the first half. "
               "Then the 2017 query step: a querying thread per client at full speed beside 1000 "
               "inserted rows per second each.")
    metrics: Mapping[str, Metric] = {
        "last_per_second": Metric("Throughput at the end", "rows/s", 0, False,
                                  f"The mean of the last {_SLICE} seconds of the inserts."),
        "q1000_queries_per_second": Metric(
            "Queries", "1/s", 0, False, "Queries answered beside 1000 inserts per client."),
        "q1000_rows_per_second": Metric(
            "Inserts beside queries", "rows/s", 0, False,
            "What was reached of 1000 inserts per second and client.")}

    def cells(self, size: Size) -> Sequence[Cell]:
        workload = InsertBenchmark(tables=_CLIENTS)
        seconds = {Size.SMOKE: (1, 1), Size.QUICK: (10, 30), Size.FULL: (30, 40),
                   Size.LONG: (60, 180)}[size]
        limits = ((_IN_MEMORY, 3 * GIB, seconds[0]),
                  (_IO_BOUND, (512 if size is Size.SMOKE else 448) * MIB, seconds[1]))
        return [Cell(name, workload, SETUPS, {"memory_mb": limit // MIB}, Limits(limit), D3,
                     threads=_CLIENTS, seconds=time, warm_seconds=0,
                     seconds_after=time / 2)
                for name, limit, time in (limits[:1] if size is Size.SMOKE else limits)]

    def measure(self, trial: Trial, cell: Cell) -> None:
        """The standard window from empty tables, then the query step on what was inserted."""
        workload = cell.workload
        assert isinstance(workload, InsertBenchmark)
        with trial.serving() as server:
            before = server.meter.read()
            with trial.window(server) as measured:
                inserted = sysbench.run_load(cell.load(cell.seconds, trial.seed), server.socket)
            trial.keep_clients(inserted)
            trial.keep_window(measured, inserted[0].units)
            rates = inserted[0].rates[-_SLICE:]
            trial.record.values["last_per_second"] = sum(rates) / max(len(rates), 1)
            queries = sysbench.run_load(
                workload.q(1000, cell.threads, max(cell.seconds / 4, 2), trial.seed + 1),
                server.socket)
            trial.record.values["q1000_queries_per_second"] = (
                queries[0].events / queries[0].seconds)
            trial.record.values["q1000_rows_per_second"] = queries[1].units / queries[1].seconds
            trial.record.latency["q1000 queries"] = queries[0].latency.summary()
            trial.drain_after(server, before, measured,
                              inserted[0].units + queries[1].units)
            trial.check(server)

    def claims(self) -> Sequence[Claim]:
        beyond, within = cell(_IO_BOUND), cell(_IN_MEMORY)
        return (
            ratio_claim("4.1", "Beyond memory MyRocks inserts faster", "x 1.76", beyond,
                        at_least=1.5),
            ratio_claim("4.1b", "It is further ahead at the end, where InnoDB has left memory",
                        "the rate at the end of the graph", beyond, metric="last_per_second",
                        at_least=1.5),
            ratio_claim("4.2", "In memory InnoDB inserts faster", "x 0.39", within, at_most=1.0),
            ratio_claim("4.3", "MyRocks needs less space", "x 0.62", beyond,
                        metric="drained_data_mb", at_most=0.8),
            ratio_claim("4.5", "MyRocks writes a quarter per inserted row", "x 0.25", beyond,
                        metric="total_write_kb_per_unit", at_most=0.5),
            not_here("4.7", "A later slowdown of writes, at 20 files instead of 10, means fewer "
                     "stalls", "no figure", "the rivals run with their best settings only; 20 is "
                     "stock MyRocks' here"))

    def charts(self) -> Sequence[Chart]:
        return (Bars("Rows inserted", y_label="rows per second"),
                RateOverUnits("Rate over the rows inserted"),
                SecondsScatter("Each second's rate", y_label="rows per second"),
                Bars("Queries beside 1000 inserts per second and client",
                     metric="q1000_queries_per_second", y_label="queries per second"))


STUDY = InsertStudy()
