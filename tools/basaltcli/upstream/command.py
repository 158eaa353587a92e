"""./basalt test upstream: what is chosen, the run, the table, the verdict."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table

from basaltcli import layout, locking, ui
from basaltcli.errors import BasaltError
from basaltcli.server_release import ServerRelease
from basaltcli.upstream import differences, results, runner, suites
from basaltcli.upstream.results import Expectation, Figures, Surprise
from basaltcli.upstream.suites import Suite


class _Choice:
    """What is to run: whole suites, or single cases."""

    def __init__(self, words: Sequence[str]) -> None:
        known = suites.load()
        self.cases: list[str] = []
        self.suites: list[Suite] = []
        for word in words:
            name, _, case = word.partition(".")
            found = [suite for suite in known if suite.name == name
                     or (not case and suite.name.startswith(name + "/"))]
            if not found:
                raise BasaltError(f"there is no suite {name}",
                                  f"the suites are {', '.join(suite.name for suite in known)}")
            self.suites += [suite for suite in found if suite not in self.suites]
            if case:
                # Our combination is every case's, and the lists do not show it.
                self.cases.append(f"{found[0].driver_name}.{case}")
        if not words:
            self.suites = known
        if self.cases and any("." not in word for word in words):
            raise BasaltError("whole suites and single cases cannot be mixed",
                              "run the command twice")

    def arguments(self, group: Sequence[Suite]) -> list[str]:
        """What the driver is told to run of some of the suites."""
        names = [suite.driver_name for suite in group]
        if self.cases:
            return [case for case in self.cases if case.partition(".")[0] in names]
        return ["--suite=" + ",".join(names)]


def quick_cases() -> list[str]:
    """The cases that ./basalt test runs every time."""
    return [f"{suite.name}.{case}" for suite in suites.load() for case in suite.quick]


def run(release: ServerRelease, flavour: str, words: Sequence[str], parallel: int = 1,
        update: bool = False) -> tuple[int, list[str]]:
    """Runs suites or cases; returns how many are as listed, and a line for each that is not."""
    choice = _Choice(words)
    place = runner.directory(flavour)
    place.mkdir(parents=True, exist_ok=True)
    lists = {suite.name: results.load(suite.list_file) for suite in choice.suites}
    cases = len(choice.cases) or sum(map(len, lists.values()))
    seen = runner.Run()
    with locking.exclusive(place.with_name("upstream.lock"), "the server's suites"), \
            ui.progress("The server's own suites") as bar:
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            bar.update(min(done, cases), cases)

        for group in suites.by_view(choice.suites):
            # Combinations of a case overwrite each other's results when they run at the same time.
            arguments = [f"--parallel={1 if update else parallel}", *choice.arguments(group)]
            left_out = [f"{suite.driver_name}.{case}" for suite in group
                        for case, expected in lists[suite.name].items()
                        if expected.status == "not_run"]
            part = runner.execute(release, flavour, group, arguments, left_out, count,
                                  with_differences=not update)
            if update:
                runner.record_differences(flavour, part, group, lists)
            seen.add(part)
    surprises: list[str] = []
    total = sum(map(len, seen.outcomes.values()))
    for suite in choice.suites:
        outcomes = seen.outcomes[suite.name]
        if update:
            lists[suite.name] = results.updated(lists[suite.name], outcomes,
                                                seen.comments[suite.name])
            _write_list(suite, lists[suite.name])
        recorded = differences.recorded(suite) if not update else set()
        found = results.compare(lists[suite.name], outcomes, recorded,
                                is_complete=not choice.cases)
        surprises += [_describe(suite, surprise, flavour) for surprise in found]
        surprises += [f"{suite.name}.{case} has no reason in the list yet"
                      for case in results.unexplained(lists[suite.name]) if case in outcomes]
    _report(choice.suites, lists, seen, flavour)
    return max(0, total - len(surprises)), surprises


def _describe(suite: Suite, surprise: Surprise, flavour: str) -> str:
    details = runner.directory(flavour) / "failures" / suite.name / f"{surprise.case}.txt"
    where = f"; see {details.relative_to(layout.ROOT)}" if details.exists() else ""
    return f"{suite.name}.{surprise}{where}"


def _write_list(suite: Suite, expectations: dict[str, Expectation]) -> None:
    suite.list_file.parent.mkdir(parents=True, exist_ok=True)
    suite.list_file.write_text(
        results.dump(expectations, f"What the server's suite {suite.name} comes to: "
                                   "docs/upstream-tests.md."))


def _report(chosen: Sequence[Suite], lists: dict[str, dict[str, Expectation]], seen: runner.Run,
            flavour: str) -> None:
    """Shows the table and leaves it, and the single outcomes, in the build directory."""
    table = Table(box=None, pad_edge=False)
    for name in ("suite", "cases", "not applicable", "skipped", "applicable", "passed", ""):
        table.add_column(name, justify="left" if name == "suite" else "right")
    rows = [(suite.name, results.figures(lists[suite.name], seen.outcomes[suite.name],
                                         differences.recorded(suite)))
            for suite in chosen]
    for name, row in rows:
        table.add_row(name, *_cells(row))
    if len(rows) > 1:
        table.add_section()
        table.add_row("all", *_cells(results.total(row for _, row in rows)))
    ui.console.print(table)
    place = runner.directory(flavour)
    with (place / "summary.txt").open("w") as out:
        Console(file=out, width=100).print(table)
    (place / "outcomes.json").write_text(json.dumps(
        {suite: {case: outcome.value for case, outcome in sorted(outcomes.items())}
         for suite, outcomes in seen.outcomes.items()}, indent=1) + "\n")


def _cells(row: Figures) -> list[str]:
    return [str(row.cases), str(row.not_applicable), str(row.skipped), str(row.applicable),
            str(row.passed), f"{row.percent:.1f} %"]


@click.command()
@click.option("--flavour", type=click.Choice(layout.FLAVOURS), default="release",
              show_default=True, help="Which build to test.")
@click.option("--parallel", type=click.IntRange(1, 16), default=2, show_default=True,
              help="How many servers work at a time.")
@click.option("--quick", is_flag=True, help="The cases that are part of ./basalt test.")
@click.option("--update", is_flag=True,
              help="Write what was seen into the lists; reasons are left to be written by hand.")
@click.argument("words", nargs=-1, metavar="[SUITE|SUITE.CASE]...")
def upstream(flavour: str, parallel: int, quick: bool, update: bool,
             words: tuple[str, ...]) -> None:
    """Run the server's own test suites on our engine; builds first.

    Every case must come to what tests/upstream/results says, or the command fails: cases that
    should pass, and those with a reason why they do not. All suites take about an hour and a half
    on 2 cores.

    \b
    Examples:
      ./basalt test upstream
      ./basalt test upstream engines storage_engine
      ./basalt test upstream engines/funcs.ai_init_alter_table
    """
    from basaltcli import build
    release = build.build(flavour)
    as_listed, surprises = run(release, flavour, quick_cases() if quick else words, parallel,
                               update)
    for surprise in surprises:
        ui.info(f"unexpected: {surprise}")
    print(f"{as_listed} as listed, {len(surprises)} unexpected", flush=True)
    sys.exit(1 if surprises else 0)
