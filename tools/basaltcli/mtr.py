"""Running the server's own test driver, mariadb-test-run.pl, with our plugin and our suites.

The driver finds everything relative to the directory that it is started in. So a *view* of the
server's prefix is made in build/<flavour>/mtr/usr: links to the prefix, except that

  lib/mysql/plugin                       is our plugin directory,
  share/mysql/mysql-test/suite/<name>    also has the suites of tests/mtr.

With that the driver sees our plugin as one of the server's own: it sets $HA_ROCKSDB_SO, knows our
suites by name (basalt.insert), and --record writes results into tests/mtr.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from basaltcli import layout, process, server_process, ui
from basaltcli.errors import BasaltError
from basaltcli.server_release import ServerRelease

# A worker that has been sent away and then reports warnings of its servers' shutdown is sent away
# again, through a socket that it may have closed by then: without a handler the driver would end
# there, and the other worker's cases with it. Programs that it starts have the default again.
_LIVE_THROUGH_BROKEN_PIPE = "-Msigtrap 'handler', sub {}, 'PIPE'"

SUITES = layout.ROOT / "tests" / "mtr"
_RESULT = re.compile(r"^(?P<case>[\w-]+\.\S+)(?:\s+'[^']*')?(?:\s+w\d+)?"
                     r"\s+\[ (?P<result>[\w-]+) \]")


# The lines behind a failed case that say why: the statement, its error, the results before it.
_LINES_OF_FAILURE = 40


@dataclass
class MtrResult:
    """What a run of the driver came to.

    `said`: what the driver printed of each failed case, by its name and combination.
    """

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: int = 0
    exit_code: int = 0
    said: dict[str, list[str]] = field(default_factory=dict)
    _failing: str = ""

    def read(self, line: str) -> None:
        """Takes in the next line of the driver's output."""
        match = _RESULT.match(line)
        if match is None:
            lines = self.said.get(self._failing)
            if lines is not None and line.strip() and len(lines) < _LINES_OF_FAILURE:
                lines.append(line.rstrip())
            return
        self._failing = ""
        if match["result"] == "pass":
            self.passed += 1
        elif match["result"] in ("fail", "retry-fail"):
            self.failed.append(match["case"])
            self._failing = line[:match.start("result")].rstrip(" [")
            self.said[self._failing] = []
        elif match["result"] in ("skipped", "disabled"):
            self.skipped += 1


def own_suites() -> list[str]:
    """Names of the suites in tests/mtr: folders that hold cases, directly or in t/."""
    if not SUITES.is_dir():
        return []
    return sorted(path.name for path in SUITES.iterdir()
                  if any(path.glob("*.test")) or any(path.glob("t/*.test")))


def make_view(release: ServerRelease, flavour: str, place: str = "mtr") -> Path:
    """Makes the view in build/<flavour>/<place>; returns its mysql-test directory, in which the
    driver is started.
    """
    view = layout.build_dir(flavour) / place / "usr"
    shutil.rmtree(view, ignore_errors=True)
    test_dir = view / "share" / "mysql" / "mysql-test"
    original = release.usr / "share" / "mysql" / "mysql-test"
    link_entries(release.usr, view, leave_out=("lib", "share"))
    link_entries(release.usr / "lib", view / "lib", leave_out=("mysql",))
    (view / "lib" / "mysql").mkdir()
    (view / "lib" / "mysql" / "plugin").symlink_to(layout.plugin_dir(flavour))
    link_entries(release.usr / "share", view / "share", leave_out=("mysql",))
    link_entries(original.parent, test_dir.parent, leave_out=("mysql-test",))
    link_entries(original, test_dir, leave_out=("suite",))
    link_entries(original / "suite", test_dir / "suite", leave_out=())
    for name in own_suites():
        link = test_dir / "suite" / name
        link.unlink(missing_ok=True)
        link.symlink_to(SUITES / name)
    return test_dir


def run(release: ServerRelease, flavour: str, arguments: Sequence[str] = ()) -> MtrResult:
    """Runs our suites, or what `arguments` (the driver's own) say; shows its output."""
    test_dir = make_view(release, flavour)
    vardir = layout.build_dir(flavour) / "mtr" / "var"
    command = driver_command(flavour, vardir)
    # A case named with its suite (main.select) or a --suite is taken as it is.
    chooses = any(word.startswith("--suite") or (not word.startswith("-") and "." in word)
                  for word in arguments)
    if not chooses:
        suites = own_suites()
        if not suites:
            return MtrResult()
        command.append("--suite=" + ",".join(suites))
    # The driver heeds the last of contradicting options.
    command += arguments
    return _run_driver(command, test_dir)


def driver_command(flavour: str, vardir: Path) -> list[str]:
    """The driver and the options that every run needs."""
    command = [*server_process.command_prefix(flavour),
               "perl", _LIVE_THROUGH_BROKEN_PIPE, "mariadb-test-run.pl",
               f"--vardir={vardir}", "--force", "--retry=0", "--max-test-fail=0",
               *_driver_options(flavour)]
    if os.geteuid() == 0:
        command.append("--user=root")
    return command


def _driver_options(flavour: str) -> list[str]:
    """Our plugin in every server of the run, and what a sanitizer build needs."""
    options = []
    if layout.plugin_file(flavour).exists():
        options.append(f"--mysqld=--plugin-load-add={layout.PLUGIN_NAME}")
    options += [f"--mysqld-env={name}={value}"
                for name, value in server_process.environment(flavour).items()]
    options += [f"--mysqld={option}" for option in server_process.server_options(flavour)]
    if _is_slow(flavour):
        options += ["--testcase-timeout=60", "--suite-timeout=720", "--nocheck-testcases"]
    return options


def stream_driver(command: Sequence[str], consume: Callable[[str], None], test_dir: Path,
                  env: Mapping[str, str] | None = None, log: Path | None = None) -> int:
    """Runs the driver, each line of its output given to `consume`; returns its exit code.

    Raises BasaltError if it cannot be started or is ended by a signal, with cases left; then with
    the end of `log`, if `consume` writes one.
    """
    try:
        status = process.stream(command, consume, cwd=test_dir, env=env)
    except OSError as error:
        raise BasaltError(f"mariadb-test-run.pl cannot be started: {error}") from error
    if status < 0:
        end = f"; from {log}:\n{process.tail(log)}" if log else ""
        raise BasaltError(f"mariadb-test-run.pl was ended by signal {-status}{end}")
    return status


def _is_slow(flavour: str) -> bool:
    return flavour in ("asan", "tsan")


def _run_driver(command: Sequence[str], test_dir: Path) -> MtrResult:
    result = MtrResult()

    def consume(line: str) -> None:
        ui.info("  " + line)
        result.read(line)

    result.exit_code = stream_driver(command, consume, test_dir)
    return result


def link_entries(source: Path, target: Path, leave_out: Sequence[str]) -> None:
    """A real directory `target` whose entries are links to those of `source`."""
    target.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.name not in leave_out:
            (target / entry.name).symlink_to(entry)
