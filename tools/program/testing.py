"""./basalt test: the steps, their order, the table at the end."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table

from basaltcli import build, debian, layout, locking, machine, mtr, process, thread_safety, ui
from basaltcli.errors import BasaltError
from basaltcli.server_release import ServerRelease
from basaltcli.upstream import command as upstream
from program import bench

_LAST_LINES = 80
_SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed$")
# Checks of the sources, with tests of their own, in the steps `layers` and `thread-safety`.
_RULES = ("tools/check_layers", "tools/check_locks")
_THREAD_SAFETY = "tools/thread_safety"


@dataclass
class Outcome:
    """What one step came to. `failures` name the failed cases, for the list at the end.

    `last_lines`: the end of what a failed script or case printed, by its name. Scripts draw their
    cases by chance, so that the seed in there is all there is of a failure; the log may be cut
    above it.
    """

    passed: int = 0
    failures: list[str] = field(default_factory=list)
    note: str = ""
    last_lines: dict[str, Sequence[str]] = field(default_factory=dict)

    def add(self, name: str, is_good: bool) -> None:
        if is_good:
            self.passed += 1
        else:
            self.failures.append(name)


@dataclass
class Context:
    """What steps need to know."""

    flavour: str
    mtr_arguments: Sequence[str]
    release: ServerRelease | None = None


@dataclass(frozen=True)
class Step:
    """A part of the tests that can be asked for by its name."""

    name: str
    title: str
    run: Callable[[Context], Outcome]
    needs_build: bool = True
    is_quick: bool = False


def run(quick: bool, only: Sequence[str], flavour: str, mtr_arguments: Sequence[str]) -> bool:
    """Runs the chosen steps; True when all passed. The last line counts what ran."""
    unknown = set(only) - {step.name for step in STEPS}
    if unknown:
        raise BasaltError(f"there is no test step {', '.join(sorted(unknown))}",
                          f"the steps are {', '.join(step.name for step in STEPS)}")
    chosen = [step for step in STEPS
              if (step.name in only if only else step.is_quick or not quick)]
    context = Context(flavour, mtr_arguments)
    results: list[tuple[str, Outcome, float]] = []
    is_built = True
    for step in chosen:
        if step.needs_build and context.release is None and is_built:
            outcome, seconds = _timed(f"Building, flavour {flavour}", _build, context)
            results.append(("build", outcome, seconds))
            is_built = not outcome.failures
        if step.needs_build and not is_built:
            results.append((step.name, Outcome(note="not run: the build failed"), 0))
            continue
        results.append((step.name, *_timed(step.title, step.run, context)))
    return _report(results)


def _timed(title: str, function: Callable[[Context], Outcome],
           context: Context) -> tuple[Outcome, float]:
    ui.console.rule(f"[bold]{title}", align="left")
    started = time.monotonic()
    try:
        outcome = function(context)
    except BasaltError as error:
        ui.error(error.message, error.remedy)
        outcome = Outcome(failures=[error.message.splitlines()[0]])
    return outcome, time.monotonic() - started


def _report(results: Sequence[tuple[str, Outcome, float]]) -> bool:
    ui.console.rule("[bold]Result", align="left")
    table = Table(box=None, pad_edge=False)
    for name in ("step", "passed", "failed", "time"):
        table.add_column(name, justify="left" if name == "step" else "right")
    table.add_column("")
    for name, outcome, seconds in results:
        table.add_row(name, str(outcome.passed), str(len(outcome.failures)),
                      ui.duration(seconds), outcome.note)
    ui.console.print(table)
    for name, outcome, _ in results:
        for script, lines in outcome.last_lines.items():
            ui.console.rule(f"From what {script} printed", align="left")
            for line in lines:
                ui.info(line)
        for failure in outcome.failures:
            ui.info(f"failed: {name}: {failure}")
    failed = sum(len(outcome.failures) for _, outcome, _ in results)
    passed = sum(outcome.passed for _, outcome, _ in results)
    sys.stdout.flush()
    sys.stderr.flush()
    print(f"{passed} passed, {failed} failed", flush=True)
    return failed == 0


def _build(context: Context) -> Outcome:
    context.release = build.build(context.flavour, with_tests=True)
    return Outcome(note=f"MariaDB {context.release.version}")


def _layers(_: Context) -> Outcome:
    outcome = Outcome()
    for check in _RULES:
        outcome.add(f"{check}.py", _program([f"{check}.py"]))
        _unittest(f"{check}_test.py", outcome)
    return outcome


def _format(_: Context) -> Outcome:
    outcome = Outcome()
    debian.ensure(["clang-format-14"])
    for check in ("tools/tidy.py", "tools/lengths.py", "tools/doc_names.py",
                  "tools/cxx_format.py"):
        outcome.add(check, _program([sys.executable, check]))
    for path in sorted((layout.ROOT / "tools").glob("*_test.py")):
        name = str(path.relative_to(layout.ROOT))
        if name.removesuffix("_test.py") not in (*_RULES, _THREAD_SAFETY):
            _unittest(name, outcome)
    return outcome


def _thread_safety(context: Context) -> Outcome:
    """What mutexes guard is touched only while they are held: clang looks at each source file."""
    outcome = Outcome()
    debian.ensure(thread_safety.PACKAGES)
    _unittest(f"{_THREAD_SAFETY}_test.py", outcome)
    directory = layout.build_dir(context.flavour)
    units = thread_safety.units(directory / "compile_commands.json", layout.ROOT / "src")
    with ui.progress("Reading every source file") as bar:
        failures = dict(thread_safety.failures(units, directory / "thread-safety", bar))
    for unit in units:
        if unit.file in failures:
            ui.info(failures[unit.file])
        outcome.add(str(unit.file.relative_to(layout.ROOT)), unit.file not in failures)
    return outcome


def _unit(context: Context) -> Outcome:
    """ctest runs one program per folder; their XML reports count the single tests."""
    directory = layout.build_dir(context.flavour)
    reports = directory / "unit-reports"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    env = {"GTEST_OUTPUT": f"xml:{reports}/", "CTEST_OUTPUT_ON_FAILURE": "1"}
    if context.flavour == "tsan":
        suppressions = layout.ROOT / "cmake" / "tsan.suppressions"
        env["TSAN_OPTIONS"] = f"halt_on_error=1:suppressions={suppressions}"
    # ThreadSanitizer makes some programs twenty times as slow.
    command = ["ctest", "--test-dir", str(directory),
               "--timeout", "3600" if context.flavour == "tsan" else "600",
               "-j", str(machine.jobs()), "--output-junit", str(reports / "ctest.junit")]
    _program(command, env)
    outcome = Outcome()
    for report in sorted(reports.glob("*.xml")):
        for case in ElementTree.parse(report).iter("testcase"):
            if case.get("status") == "run" and case.find("skipped") is None:
                name = f"{case.get('classname')}.{case.get('name')}"
                failure = case.find("failure")
                outcome.add(name, failure is None)
                if failure is not None:
                    outcome.last_lines[name] = (failure.text or "").splitlines()[:_LAST_LINES]
    # A program that crashed has left no report of its own.
    for case in ElementTree.parse(reports / "ctest.junit").iter("testcase"):
        if case.get("status") != "run" and not (reports / f"{case.get('name')}_test.xml").exists():
            outcome.failures.append(f"{case.get('name')}_test crashed or did not start")
    return outcome


def _sql(context: Context) -> Outcome:
    assert context.release is not None
    if not layout.plugin_file(context.flavour).exists():
        return Outcome(note=f"nothing to run: no {layout.PLUGIN_NAME}")
    with locking.exclusive(layout.build_dir(context.flavour) / "mtr.lock", "the SQL tests"):
        result = mtr.run(context.release, context.flavour, context.mtr_arguments)
    outcome = Outcome(result.passed, result.failed, last_lines={**result.said})
    if result.exit_code != 0 and not result.failed:
        outcome.failures.append(f"mariadb-test-run.pl ended with exit code {result.exit_code}")
    if result.skipped:
        outcome.note = f"{result.skipped} skipped"
    return outcome


def _upstream(context: Context) -> Outcome:
    """A few cases of the server's own suites; ./basalt test upstream runs them all."""
    assert context.release is not None
    words = upstream.quick_cases()
    as_listed, surprises = upstream.run(context.release, context.flavour, words)
    return Outcome(as_listed, surprises)


def _scripts(folder: str, pattern: str) -> Callable[[Context], Outcome]:
    """A step that runs Python scripts; names beginning with _ are helpers.

    A script's exit code says whether it passed. One whose last line is "N passed, N failed" is
    counted by that.
    """
    def step(context: Context) -> Outcome:
        outcome = Outcome()
        for path in sorted((layout.ROOT / folder).glob(pattern)):
            if not path.name.startswith("_"):
                _script(path, context, outcome)
        if not outcome.passed and not outcome.failures:
            outcome.note = "nothing to run"
        return outcome
    return step


def _script(path: Path, context: Context, outcome: Outcome) -> None:
    name = str(path.relative_to(layout.ROOT))
    env = {"BASALT_FLAVOUR": context.flavour, "PYTHONPATH": os.environ["PYTHONPATH"],
           "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
    lines: deque[str] = deque(maxlen=_LAST_LINES)

    def consume(line: str) -> None:
        ui.info("  " + line)
        if line.strip():
            lines.append(line.rstrip())

    status = process.stream([sys.executable, str(path)], consume, cwd=layout.ROOT, env=env)
    failures_before = len(outcome.failures)
    summary = _SUMMARY.match(lines[-1].strip()) if lines else None
    if summary:
        outcome.passed += int(summary[1])
        outcome.failures += [f"{name}, case {number + 1}" for number in range(int(summary[2]))]
        if status != 0 and int(summary[2]) == 0:
            outcome.failures.append(f"{name}: exit code {status}")
    else:
        outcome.add(f"{name}: exit code {status}", status == 0)
    if len(outcome.failures) > failures_before:
        outcome.last_lines[name] = lines


def _bench(context: Context) -> Outcome:
    """The laboratory's own tests, and every study in its smallest form."""
    if context.flavour not in ("release", "dev"):
        return Outcome(note="not run: the laboratory measures no sanitized server")
    debian.ensure([*bench.PACKAGES, *bench.TEST_PACKAGES])
    env = {"BASALT_PLUGIN_DIR": str(layout.plugin_dir(context.flavour))}
    outcome = Outcome()
    report = layout.build_dir(context.flavour) / "bench-tests.xml"
    report.unlink(missing_ok=True)
    # These tests make images of disks; pytest alone would keep those of its last three runs.
    with tempfile.TemporaryDirectory(prefix="basalt-bench-") as files:
        _program(["/usr/bin/python3", "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider",
                  f"--basetemp={files}/t", f"--junit-xml={report}", "bench/tests"], env)
    if not report.exists():
        outcome.failures.append("bench/tests did not run")
    else:
        for case in ElementTree.parse(report).iter("testcase"):
            if case.find("skipped") is None:
                outcome.add(f"{case.get('classname')}.{case.get('name')}",
                            case.find("failure") is None and case.find("error") is None)
    outcome.add("every study, smallest form",
                _program(["./basalt", "bench", "run", "--smoke", "--new", "all", "goals",
                          "by_hand", "foreign_keys", "definitions"], env))
    outcome.add("side by side, smallest form",
                _program(["./basalt", "bench", "bursts", "--smoke"], env))
    return outcome


def _demo(context: Context) -> Outcome:
    outcome = Outcome()
    outcome.add("demo", _program(["./basalt", "demo", "--small", "--stop",
                                  "--flavour", context.flavour]))
    return outcome


def _program(command: Sequence[str], extra: dict[str, str] | None = None) -> bool:
    """Runs a program in the checkout, its output on the screen; True when it succeeds."""
    sys.stdout.flush()
    done = subprocess.run(list(command), cwd=layout.ROOT, check=False,
                          env={**os.environ, **(extra or {})})
    return done.returncode == 0


def _unittest(name: str, outcome: Outcome) -> None:
    """Runs a Python unittest script and counts its cases."""
    done = subprocess.run([sys.executable, name], cwd=layout.ROOT, check=False, text=True,
                          capture_output=True)
    total = re.search(r"^Ran (\d+) tests?", done.stderr, re.MULTILINE)
    failed = re.findall(r"^(?:FAIL|ERROR): (\S+)", done.stderr, re.MULTILINE)
    if done.returncode != 0:
        ui.info(done.stderr + done.stdout)
        failed = failed or ["does not run"]
    outcome.passed += max(0, int(total[1]) - len(failed)) if total else 0
    outcome.failures += [f"{name}: {case}" for case in failed]
    ui.info(f"{name}: {total[1] if total else 0} tests, {len(failed)} failed")


STEPS = (
    Step("layers", "Layers: who may see whom, and take which mutex", _layers,
         needs_build=False, is_quick=True),
    Step("format", "Format, links, and the tools' own tests", _format, needs_build=False,
         is_quick=True),
    Step("thread-safety", "Thread safety: what mutexes guard", _thread_safety),
    Step("unit", "Unit tests", _unit, is_quick=True),
    Step("sql", "SQL tests", _sql, is_quick=True),
    Step("clauses", "Clauses of definitions; the user guide", _scripts("tests/clauses", "*.py")),
    Step("upstream", "Cases of the server's own suites", _upstream),
    Step("model", "Model tests", _scripts("tests/model", "run*.py")),
    Step("differential", "Differential tests", _scripts("tests/differential", "*.py")),
    Step("isolation", "Isolation tests", _scripts("tests/isolation", "*.py")),
    Step("crash", "Crash tests", _scripts("tests/crash", "*.py")),
    Step("replication", "Replication tests", _scripts("tests/replication", "*.py")),
    Step("migration", "Taking over InnoDB tables and MyRocks servers",
         _scripts("tests/migrate", "*.py")),
    Step("tools", "Tools that show, dump, back up, compare and alter the data",
         _scripts("tests/tools", "*.py")),
    Step("faults", "Failing and full disks", _scripts("tests/faults", "*.py")),
    Step("endurance", "Endurance, the short form", _scripts("tests/endurance", "*.py")),
    Step("bench", "The laboratory: its tests, and each study small", _bench),
    Step("demo", "The demo, small", _demo),
)
