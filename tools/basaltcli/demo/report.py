"""The table at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rich.table import Table

from basaltcli import ui
from basaltcli.demo.compare import Measured
from basaltcli.demo.crash import CrashReport
from basaltcli.demo.disk import Space
from basaltcli.demo.engines import INNODB, ROCKSDB, Engine

_MIB = 1 << 20


@dataclass
class Results:
    """Everything that was found out."""

    packages: int = 0
    dependencies: int = 0
    load: dict[Engine, float] = field(default_factory=dict)
    loaded: Space | None = None
    changed: Space | None = None
    reads: list[Measured] = field(default_factory=list)
    writes: list[Measured] = field(default_factory=list)
    tables: list[Measured] = field(default_factory=list)
    crash: CrashReport = field(default_factory=CrashReport)
    checked: int = 0
    check_problems: list[str] = field(default_factory=list)

    @property
    def compared(self) -> list[Measured]:
        return [*self.reads, *self.writes, *self.tables]

    @property
    def is_good(self) -> bool:
        """Whether both engines agree and the crash lost nothing."""
        return (all(one.is_same for one in self.compared)
                and not self.crash.problems and not self.check_problems)


def show(results: Results) -> None:
    """Prints the table, and below it what was proved or what went wrong."""
    ui.console.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for name in (INNODB.name, ROCKSDB.name, "ROCKSDB / InnoDB"):
        table.add_column(name, justify="right")
    rows = f"{results.packages + results.dependencies:,}"
    table.add_row("rows loaded", rows, rows, "")
    _add(table, "load time", results.load, _seconds)
    if results.loaded is not None:
        _add(table, "tables on disk, loaded", results.loaded.tables, _megabytes)
    if results.changed is not None:
        _add(table, "tables on disk, after the changes", results.changed.tables, _megabytes)
        _add(table, "logs and other files on disk", results.changed.others, _megabytes)
    for title, group in (("Queries, time of one", results.reads),
                         ("Changes, time of one", results.writes)):
        table.add_row("")
        table.add_row(f"[bold]{title}[/]")
        for one in group:
            _add(table, one.title, one.seconds, _seconds, one.is_same)
    ui.console.print(table)
    ui.info("\nTimes: the median of three runs with warm caches (changes: one run), client\n"
            "included. Sizes: bytes allocated on disk after purge, a clean restart, and the end\n"
            "of all background work; nothing was optimised by hand. InnoDB's log has a\n"
            "fixed size.\n")
    _show_verdict(results)


def _show_verdict(results: Results) -> None:
    crash = results.crash
    same = sum(one.is_same for one in results.compared)
    restart = max(crash.restart_seconds, default=0)
    _line(same == len(results.compared),
          f"{same} of {len(results.compared)} results are the same in both engines, byte for byte")
    _line(not crash.problems,
          f"{crash.rounds} times SIGKILL: each of {crash.acknowledged:,} acknowledged commits is "
          "there, none by halves, and the binary log agrees with the tables "
          f"({crash.unacknowledged} unacknowledged ones survived too; ready again within "
          f"{restart:.1f} s)" if not crash.problems else
          f"{crash.rounds} times SIGKILL: {len(crash.problems)} problems with "
          f"{crash.acknowledged:,} acknowledged commits")
    _line(not results.check_problems,
          f"CHECK TABLE: {results.checked} ROCKSDB tables, {len(results.check_problems)} problems")
    for problem in [*crash.problems, *results.check_problems]:
        ui.error(problem)
    for one in results.compared:
        if not one.is_same:
            ui.error(f"the engines disagree about '{one.title}': {one.difference}")


def _line(is_good: bool, text: str) -> None:
    ui.console.print("[green]ok    [/]" if is_good else "[bold red]FAILED[/]", end=" ")
    ui.info(text)


def _add(table: Table, title: str, values: Mapping[Engine, float],
         shown: Callable[[float], str], is_same: bool = True) -> None:
    if not values:
        table.add_row(title, "", "", "[bold red]DIFFERENT[/]")
        return
    ratio = values[ROCKSDB] / values[INNODB] if values[INNODB] else 0.0
    table.add_row(title, shown(values[INNODB]), shown(values[ROCKSDB]),
                  f"{ratio:.2f}" if is_same else "[bold red]DIFFERENT[/]")


def _seconds(value: float) -> str:
    if value < 0.001:
        return f"{value * 1e6:.0f} us"
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.1f} s"


def _megabytes(value: float) -> str:
    return f"{value / _MIB:.1f} MiB"
