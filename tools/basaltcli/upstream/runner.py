"""One run of the server's suites: the driver's output turned into an outcome per case."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from basaltcli import layout, mtr, process
from basaltcli.errors import BasaltError
from basaltcli.server_release import ServerRelease
from basaltcli.upstream import differences, suites
from basaltcli.upstream.results import Expectation, Outcome
from basaltcli.upstream.rewrite import COMBINATION
from basaltcli.upstream.suites import NOT_CHOSEN, Suite

# Cases of thousands of synced DDL statements take minutes on a busy disk.
_CASE_MINUTES = 12
_RESULT = re.compile(r"^(?P<suite>[\w/-]+)\.(?P<case>[\w.-]+)(?:\s+'(?P<combinations>[^']*)')?"
                     r"(?:\s+w\d+)?\s+\[ (?P<result>[\w-]+) \]\s*(?P<comment>.*)")
_SEPARATOR = re.compile(r"^(-{20,}|The servers were restarted)")
_CRASH = re.compile(r"failed during test run|The server \[[^\]]*\] crashed|got signal \d|"
                    r"mysqld got exception")
_TIMEOUT = re.compile(r"Test case timeout|Timeout after \d+ (?:seconds|minutes)")


@dataclass
class Run:
    """What was seen of each suite: outcomes and the driver's comments, by case."""

    outcomes: dict[str, dict[str, Outcome]] = field(default_factory=dict)
    comments: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, other: Run) -> None:
        """Takes over what a run of other suites has seen."""
        self.outcomes.update(other.outcomes)
        self.comments.update(other.comments)


class Transcript:
    """Understands the driver's output line by line; keeps the details of failures."""

    def __init__(self, chosen: Sequence[Suite], details: Path | None = None,
                 each: Callable[[], None] = lambda: None) -> None:
        self._names = {suite.driver_name: suite.name for suite in chosen}
        self._details = details
        self._each = each
        self._failed: tuple[str, str] | None = None
        self._lines: list[str] = []
        self.run = Run({suite.name: {} for suite in chosen},
                       {suite.name: {} for suite in chosen})

    def consume(self, line: str) -> None:
        """Takes the next line."""
        match = _RESULT.match(line)
        if match is not None and match["suite"] in self._names:
            self.end()
            self._begin(match)
        elif _SEPARATOR.match(line):
            self.end()
        elif self._failed is not None:
            self._lines.append(line)

    def _begin(self, match: re.Match[str]) -> None:
        suite = self._names[match["suite"]]
        case = case_name(match["case"], match["combinations"] or "")
        result = match["result"]
        if match["comment"].strip() == NOT_CHOSEN:
            return
        if result == "pass":
            self.run.outcomes[suite][case] = Outcome.PASSED
        elif result in ("skipped", "disabled"):
            self.run.outcomes[suite][case] = Outcome.SKIPPED
            self.run.comments[suite][case] = match["comment"].strip()
        elif result in ("fail", "retry-fail"):
            self._failed = (suite, case)
            self._lines = [match[0]]
        else:
            return
        self._each()

    def end(self) -> None:
        """Judges the failure whose details have come to their end."""
        if self._failed is None:
            return
        suite, case = self._failed
        self._failed = None
        text = "\n".join(self._lines) + "\n"
        outcome = Outcome.FAILED
        if _TIMEOUT.search(text):
            outcome = Outcome.TIMED_OUT
        elif _CRASH.search(text):
            outcome = Outcome.CRASHED
        self.run.outcomes[suite][case] = outcome
        if self._details is None:
            return
        path = self._details / suite / f"{case}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def case_name(case: str, combinations: str) -> str:
    """A case's name in the lists: with its combinations, but for the one that all have."""
    others = [name for name in combinations.split(",") if name not in ("", COMBINATION)]
    return ",".join([case, *others])


def directory(flavour: str) -> Path:
    """Where a run leaves everything."""
    return layout.build_dir(flavour) / "upstream"


def execute(release: ServerRelease, flavour: str, chosen: Sequence[Suite],
            arguments: Sequence[str], left_out: Collection[str], each: Callable[[], None],
            with_differences: bool = True) -> Run:
    """Runs the driver with `arguments`, which name what is to run of the chosen suites, all of one
    view.

    `left_out` are cases that must not run, with the driver's names of their suites.
    """
    place = directory(flavour)
    test_dir = suites.make_view(release, flavour, chosen[0].view)
    if with_differences:
        for suite in chosen:
            differences.install(suite, _result_folder(test_dir, suite))
    details = place / "failures"
    for suite in chosen:
        shutil.rmtree(details / suite.name, ignore_errors=True)
    observations = place / "observations.jsonl"
    for left_over in place.glob("observations.jsonl*"):
        left_over.unlink()
    (place / "not-run.def").write_text("".join(f"{case} : not run\n" for case in left_out))
    transcript = Transcript(chosen, details, each)
    with (place / "driver.log").open("w") as log:

        def consume(line: str) -> None:
            log.write(line + "\n")
            log.flush()
            transcript.consume(line)

        command = [*mtr.driver_command(flavour, place / "var"),
                   "--mysqld=--default-storage-engine=rocksdb", "--nocheck-testcases",
                   f"--testcase-timeout={_CASE_MINUTES}", "--suite-timeout=600",
                   f"--skip-test-list={place / 'not-run.def'}", "--max-save-core=0",
                   "--max-save-datadir=0",
                   *arguments]
        env = {"MYSQL_TEST": str(Path(__file__).with_name("observer.py")),
               "BASALT_MARIADB_TEST": str(release.usr / "bin" / "mariadb-test"),
               "BASALT_MARIADB": str(release.usr / "bin" / "mariadb"),
               "BASALT_OBSERVATIONS": str(observations)}
        mtr.stream_driver(command, consume, test_dir, env, place / "driver.log")
    transcript.end()
    observed = read_observations(observations, chosen)
    demand_proof(transcript.run, observed, [suite.name for suite in chosen if suite.proof])
    for observation in observed:
        if observation.rejected is not None:
            target = details / observation.suite / f"{observation.case}.reject"
            target.parent.mkdir(parents=True, exist_ok=True)
            observation.rejected.rename(target)
    if not any(transcript.run.outcomes.values()):
        raise BasaltError(f"no case has run; from {place / 'driver.log'}:\n"
                          + process.tail(place / "driver.log"))
    return transcript.run


def _result_folder(test_dir: Path, suite: Suite) -> Path:
    """Where the driver looks for results of ours."""
    if suite.overlay:
        return suites.overlay_folder(test_dir, suite)
    return suites.result_folder(test_dir / suite.path)


def record_differences(flavour: str, run: Run, chosen: Sequence[Suite],
                       expectations: Mapping[str, Mapping[str, Expectation]]) -> None:
    """Makes the recorded differences those of a run without any.

    What does not differ any more, and what is not to be compared, has none.
    """
    test_dir = directory(flavour) / "usr" / "share" / "mysql" / "mysql-test"
    for suite in chosen:
        for case, outcome in run.outcomes[suite.name].items():
            differences.file_of(suite, case).unlink(missing_ok=True)
            expected = expectations[suite.name].get(case)
            if expected is not None and expected.status == "not_applicable":
                continue
            seen = directory(flavour) / "failures" / suite.name / f"{case}.reject"
            base = differences.base_result(suite, suites.result_folder(test_dir / suite.path), case)
            if outcome is Outcome.FAILED and seen.exists() and base is not None:
                differences.record(suite, case, base, seen.read_bytes())


@dataclass(frozen=True)
class Observation:
    """What the observer has seen of one case."""

    suite: str
    case: str
    made_tables: bool
    rejected: Path | None = None  # the result, if it was not the expected one


def read_observations(path: Path, chosen: Sequence[Suite]) -> list[Observation]:
    """The observer's lines about the chosen suites."""
    names = {suite.driver_name: suite.name for suite in chosen}
    observed = []
    for line in path.read_text().splitlines() if path.exists() else []:
        entry = json.loads(line)
        driver_name, _, case = entry["case"].partition(".")
        if driver_name in names:
            rejected = Path(entry["rejected"]) if entry["rejected"] else None
            observed.append(Observation(names[driver_name],
                                        case_name(case, entry["combinations"]),
                                        entry["made_tables"], rejected))
    return observed


def demand_proof(run: Run, observed: Sequence[Observation], of_suites: Collection[str]) -> None:
    """A case of these suites that passed without a table in our engine has said nothing of it."""
    proven = {(seen.suite, seen.case) for seen in observed if seen.made_tables}
    for suite in of_suites:
        outcomes = run.outcomes[suite]
        for case, outcome in outcomes.items():
            if outcome is Outcome.PASSED and (suite, case) not in proven:
                outcomes[case] = Outcome.NOT_OURS
