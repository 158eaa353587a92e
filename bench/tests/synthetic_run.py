"""A made-up run for tests of the report: the same numbers on every machine, no server needed.

It has every kind of chart, three setups and more, three blocks, two trials that failed, a study
with values of its own, an A/A run, and a study that could not run.

    ./basalt python bench/tests/synthetic_run.py DIRECTORY    writes its page
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import Mock

from lab.cell import Cell
from lab.charts import Bars, Chart, Curves, OverTime, RateOverUnits, SecondsBoxes, SecondsScatter
from lab.metrics import Metric
from lab.report import write_report
from lab.results import Results, TrialRecord
from lab.setup import BASALT, D1, D3, INNODB, MIB, SETUPS, Limits, Setup, server_options
from lab.store import Run
from lab.study import Claim, Finding, Size, Study, Verdict
from lab.throttle import IoLimits
from lab.workload import Workload

NO_DOUBLEWRITE = INNODB.variant("innodb-no-doublewrite", "InnoDB without doublewrite",
                                options=("--innodb-doublewrite=OFF",))
AGAIN = (INNODB, INNODB.variant("innodb-again", "InnoDB again"), BASALT,
         BASALT.variant("basalt-again", "Basalt again"))
# Throughput at a gigabyte of memory, and how much of it is left at half a gigabyte.
_SPEED = {"innodb": (1400, 0.45), "myrocks": (1150, 0.9), "basalt": (1430, 0.93)}
_BAD_BLOCK = 2


def workload(name: str) -> Workload:
    """Something that can be asked for its name only."""
    found = Mock(spec=Workload)
    found.name = name
    return found


class Noise(Study):
    name = "noise"
    title = "Noise floor: the same thing twice"
    question = "How much do two measurements of the same engine with the same settings differ?"
    published = "Abedi and Brecht (ICPE 2017) saw up to 38 % between identical systems in clouds."
    scaling = "The TPC-C-like workload with 1 GB of memory, every engine under two names."

    def cells(self, size: Size) -> Sequence[Cell]:
        return [Cell("1024 MB", workload("tpcc"), AGAIN, {"memory": 1024},
                     Limits(memory=1024 * MIB))]

    def claims(self) -> Sequence[Claim]:
        return []

    def charts(self) -> Sequence[Chart]:
        return [Bars("Identical trials", metric="per_second", y_label="transactions per second")]


class Memory(Study):
    name = "memory"
    title = "Memory sweep of a TPC-C-like workload"
    question = "How does throughput depend on the memory that the server may use?"
    published = ("MyRocks kept its throughput down to 5 GB of 256, where InnoDB lost 80 % of its "
                 "own (Percona, April 2018, 1000 warehouses).")
    scaling = "40 warehouses, 4 threads, a control group that holds server and page cache."

    def cells(self, size: Size) -> Sequence[Cell]:
        return [Cell(f"{memory} MB", workload("tpcc"), SETUPS, {"memory": memory},
                     Limits(memory=memory * MIB), D3)
                for memory in (512, 768, 1024, 2048)]

    def claims(self) -> Sequence[Claim]:
        def small(results: Results) -> Finding:
            ratio = results.ratio("per_second", "512 MB", "myrocks", "innodb")
            ours = results.ratio("per_second", "512 MB", "basalt", "innodb")
            assert ratio and ours
            good = ratio.median >= 1.3
            return Finding(Verdict.REPRODUCED if good else Verdict.NOT_REPRODUCED,
                           f"MyRocks {ratio} of InnoDB", f"{ours} of InnoDB",
                           "the band is x 1.3 or more")

        def large(results: Results) -> Finding:
            ratio = results.ratio("per_second", "2048 MB", "myrocks", "innodb")
            assert ratio
            return Finding(Verdict.NOT_REPRODUCED, f"MyRocks {ratio} of InnoDB", "x 1.02",
                           "the band is x 0.6 to 0.8; client and server share two cores here")

        return [Claim("Little memory", "MyRocks is far ahead when data do not fit into memory.",
                      "2.6 times InnoDB at 5 GB", small),
                Claim("Ample memory", "InnoDB is ahead when everything fits.",
                      "0.77 times InnoDB at 100 GB", large),
                Claim("SSD lifetime", "MyRocks writes less than a tenth at 5 GB.", "13.9 times",
                      lambda results: Finding(Verdict.NOT_COMPARABLE, "", reason="the data are "
                                              "smaller than one level"))]

    def charts(self) -> Sequence[Chart]:
        memory = {"axis": "memory", "x_label": "memory, MB"}
        return [Curves("Throughput over memory", "The further left, the less memory.",
                       y_label="transactions per second", is_log_x=True, **memory),
                Curves("Written per transaction", "Binary log included.",
                       metric="total_write_kb_per_unit", y_label="KB", is_log_x=True,
                       is_log_y=True, **memory),
                SecondsBoxes("Spread of seconds", "Whiskers: 1 % to 99 %.", **memory),
                OverTime("Data over time, small memory", where={"memory": 512}),
                SecondsScatter("Every second", "Each dot is a second of any block.")]


class Sysbench(Study):
    name = "sysbench"
    title = "Memory-constrained sysbench"
    question = "Which engine is faster when memory is short: reading, mixed, writing?"
    published = "In May 2025 MyRocks was ahead in writing at every memory size."
    scaling = "16 million rows instead of 640 million; memory in the same proportion to data."

    def cells(self, size: Size) -> Sequence[Cell]:
        return [Cell(f"{kind}, {memory} MB, {threads} threads", workload(f"oltp_{kind}"), SETUPS,
                     {"workload": kind, "memory": memory, "threads": threads},
                     Limits(memory * MIB, IoLimits(3000, 3000)), D1, threads)
                for kind in ("read-only", "write-only") for memory in (512, 1024)
                for threads in (1, 4, 16)]

    def claims(self) -> Sequence[Claim]:
        def broken(results: Results) -> Finding:
            raise KeyError("no such cell")
        return [Claim("Writing", "MyRocks is ahead in write-only.", "1.3 to 3 times",
                      lambda results: Finding(Verdict.REPRODUCED, "x 1.62", "x 2.1")),
                Claim("A judge that fails", "Its error is shown.", "-", broken)]

    def charts(self) -> Sequence[Chart]:
        return [Curves("Transactions over threads", axis="threads", x_label="threads",
                       y_label="transactions per second"),
                Bars("p99 latency, 512 MB", where={"memory": 512}, metric="p99_ms"),
                Bars("Nothing was measured for this", where={"memory": 1}, metric="p99_ms")]


class Insert(Study):
    name = "insert"
    title = "Insert benchmark"
    question = "How fast are rows inserted while secondary indexes outgrow memory?"
    published = "MyRocks inserted 50 million rows at a steady rate, InnoDB slowed down."
    scaling = "2 million rows in 512 MB."

    def cells(self, size: Size) -> Sequence[Cell]:
        return [Cell("out of memory", workload("insert"), (*SETUPS, NO_DOUBLEWRITE),
                     {"place": "disk"}, Limits(memory=512 * MIB)),
                Cell("in memory", workload("insert"), (*SETUPS, NO_DOUBLEWRITE),
                     {"place": "memory"})]

    def claims(self) -> Sequence[Claim]:
        return [Claim("Steady rate", "The rate does not fall with the rows.", "flat",
                      lambda results: Finding(Verdict.REPRODUCED, "-4 % from first to last"))]

    def charts(self) -> Sequence[Chart]:
        return [RateOverUnits("Rate over rows", "A line that falls is an index that has left "
                              "memory."),
                OverTime("Memory over time", sample="memory_bytes"),
                Curves("Rows per second", axis="place", x_label="data in", is_log_y=True)]


class Query(Study):
    name = "icp"
    title = "Index condition pushdown, Q19"
    question = "What is saved when the index decides which rows are read?"
    published = "16 times fewer rows read."
    scaling = "Scale factor 1."
    metrics = {"query_s": Metric("Query time", "s", 2, True, "Seconds of one execution of Q19."),
               "rows_read": Metric("Rows read", "", 0, True, "Rows that the engine returned.")}

    def cells(self, size: Size) -> Sequence[Cell]:
        return [Cell(f"pushdown {state}, cold", workload("q19"), SETUPS, {"pushdown": state},
                     warm_seconds=0) for state in ("off", "on")]

    def claims(self) -> Sequence[Claim]:
        return [Claim("Fewer rows", "Rows read fall to a sixteenth.", "16 times",
                      lambda results: Finding(Verdict.REPRODUCED, "16.0 times", "16.0 times"))]

    def charts(self) -> Sequence[Chart]:
        return [Bars("Query time", metric="query_s", y_label="seconds")]


class Cloud(Study):
    name = "cloud"
    title = "Cloud IOPS sweep"
    question = "Which engine needs fewer operations per second of rented disk?"
    published = "MyRocks at 3000 operations per second did what InnoDB needed 9000 for."
    scaling = "170 to 1700 operations per second."

    def cells(self, size: Size) -> Sequence[Cell]:
        return [Cell("500 IOPS", workload("tpcc"), SETUPS, {"iops": 500},
                     Limits(disk=IoLimits(500, 500)))]

    def claims(self) -> Sequence[Claim]:
        return [Claim("Cost", "Half the price for the same work.", "$ 0.5", lambda results:
                      Finding(Verdict.REPRODUCED, "never asked"))]

    def charts(self) -> Sequence[Chart]:
        return [Curves("Throughput over operations", axis="iops")]


STUDIES: Sequence[Study] = (Noise(), Memory(), Sysbench(), Insert(), Query(), Cloud())
IDENTITY = {
    "host": {"cpu": "Made-up 2000 at 2 GHz", "cores": 2, "memory_bytes": 24 << 30,
             "is_virtual": True, "kernel": "6.1.0", "system": "Debian 12"},
    "versions": {"server": "10.11.18", "sysbench": "1.0.20", "basalt": "abc1234",
                 "rocksdb": "11.8.1"},
    "fsync": {"4096 bytes, p50 us": 812.3456, "4096 bytes, p99 us": 2210.0}}


def make_run(directory: Path, seed: int = 1) -> Run:
    """Stores the run. Another seed is another run of the same things."""
    run = Run(directory, "full", [study.name for study in STUDIES],
              [setup.name for setup in SETUPS], "2026-11-21T15:05:00", IDENTITY,
              {"cloud": "Operations per second cannot be limited: /sys/fs/cgroup/blkio is not "
                        "there. What is needed: root and control groups."})
    run.save()
    for study in STUDIES[:-1]:
        for trial in _trials(study, seed):
            run.add(trial)
    return run


def _trials(study: Study, seed: int) -> Iterator[TrialRecord]:
    blocks = 1 if study.name == "icp" else 3
    for block in range(1, blocks + 1):
        for cell in study.cells(Size.FULL):
            for setup in cell.setups:
                source = random.Random(f"{seed} {study.name} {cell.name} {setup.name} {block}")
                yield _trial(study, cell, setup, block, source)


def _trial(study: Study, cell: Cell, setup: Setup, block: int,
           source: random.Random) -> TrialRecord:
    trial = TrialRecord(study.name, cell.name, setup.name, block, dict(cell.axes),
                        f"2026-11-21T15:{block:02d}:00", 55.5,
                        options=server_options(setup, cell.limits, cell.durability))
    rate = _rate(cell, setup, source)
    if study.name == "icp":
        share = 16 if cell.axes["pushdown"] == "off" else 1
        trial.values = {"query_s": 30 * share / rate * 100, "rows_read": 7500.0 * share,
                        "read_kb_per_unit": 1234.5 * share, "server_cpu_us_per_unit": 1e6 / rate}
        trial.details = {"status": {"handler_icp_attempts": 120000, "handler_icp_match": 7500}}
        return trial
    falls = 1.2 if study.name == "insert" and setup.engine is INNODB.engine else 0
    trial.seconds = [round(rate * math.exp(-falls * second / 90) * source.gauss(1, 0.06)
                           * (0.3 if source.random() < 0.02 else 1), 1) for second in range(90)]
    trial.samples = [{"t": second + 0.5, "data_bytes": (2e9 if setup.engine is INNODB.engine else
                                                        8e8) + 4e6 * second,
                      "memory_bytes": min(5e8, 1e7 * second)} for second in range(90)]
    _fill(trial, setup, source)
    is_bad = study.name == "memory" and block == _BAD_BLOCK
    if is_bad and (cell.name, setup.name) in (("768 MB", "innodb"), ("2048 MB", "basalt")):
        trial.problems = ["another process took 14 % of the CPU", "the canary was off by 31 %"]
        trial.values["per_second"] = 1.0
    return trial


def _rate(cell: Cell, setup: Setup, source: random.Random) -> float:
    at_gigabyte, left = _SPEED[setup.engine.value]
    memory = (cell.limits.memory or 1 << 30) / (1 << 30)
    rate = at_gigabyte * left ** -math.log2(min(memory, 1.5))
    return rate * math.log2(1 + cell.threads) / 2 * source.gauss(1, 0.012)


def _fill(trial: TrialRecord, setup: Setup, source: random.Random) -> None:
    mean = sum(trial.seconds) / len(trial.seconds)
    ordered = sorted(trial.seconds)
    written = (60 if setup.engine is INNODB.engine else 14) * source.gauss(1, 0.02)
    latency = 4000 / mean
    percentiles = {"p50": latency, "p95": 2.2 * latency, "p99": 4 * latency,
                   "p999": 9 * latency, "max": 40 * latency}
    trial.values = {
        "per_second": mean, "per_second_median": ordered[len(ordered) // 2],
        "cv_percent": source.uniform(6, 12), "longest_gap_s": source.uniform(0, 1.5),
        "p1_of_median_percent": 100 * ordered[1] / ordered[len(ordered) // 2],
        **{f"{name}_ms": value for name, value in percentiles.items()},
        "reads_per_unit": written / 9, "writes_per_unit": written / 4,
        "read_kb_per_unit": 3 * written, "write_kb_per_unit": written,
        "deferred_write_kb_per_unit": 0.2 * written, "total_write_kb_per_unit": 1.2 * written,
        "server_cpu_us_per_unit": 1e6 / mean, "host_user_percent": source.uniform(40, 60),
        "host_system_percent": 12.0, "host_iowait_percent": 8.0, "host_idle_percent": 4.0,
        "memory_peak_mb": 497.0, "data_mb": trial.samples[-1]["data_bytes"] / 1e6,
        "data_peak_mb": 2400.0, "log_mb": 96.0, "binlog_mb": 310.0,
        "deferred_seconds": source.uniform(1, 20)}
    if trial.study == "memory":
        trial.latency = {operation: {"count": 100 * share, **{
            name: value * share for name, value in percentiles.items()}}
            for operation, share in (("new_order", 2), ("payment", 1), ("delivery", 3))}


def main() -> None:
    directory = Path(sys.argv[1])
    write_report(make_run(directory / "synthetic"), STUDIES, directory / "report.html")


if __name__ == "__main__":
    main()
