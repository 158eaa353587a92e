"""Which of the server's suites are run, and the view of the server's prefix they are run in."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from basaltcli import layout, mtr
from basaltcli.server_release import ServerRelease
from basaltcli.upstream.rewrite import COMBINATION, Rewriter

FOLDER = layout.ROOT / "tests" / "upstream"
# Suites that are made for any engine find what they need to know about one in an overlay.
_OVERLAY = "basalt"
# What the suites source of others.
_SOURCED = ("suite/rpl/t", "suite/rpl/include", "suite/binlog/include", "main/backup_log.inc")
# The view of suites that are made for an engine of our name and its variables.
_OUR_NAMES = "rocksdb"
# Views, and the engines in whose place ours is put in what the suites of a view source.
_VIEWS = {"": ("InnoDB", "MyISAM"), "transactions": ("InnoDB",), _OUR_NAMES: ()}
# Left out of a suite for our name: what finds MyRocks' programs, and its combinations of two write
# policies.
_MYROCKS_OWN = ("suite.pm", "combinations")
# What the driver says of a case that does not belong to the choice.
NOT_CHOSEN = "not chosen"
# Sources of the driver itself, and of the checks between the cases.
_DRIVERS_OWN = {"check-testcase.test", "check-warnings.test", "mtr_check.sql",
                "mtr_warnings.sql"}


@dataclass(frozen=True)
class Suite:
    """One of the server's suites, as tests/upstream/suites.toml has it."""

    name: str
    place: str = ""
    overlay: bool = False
    replaces: tuple[str, ...] = ()
    view: str = ""
    chosen: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    quick: tuple[str, ...] = ()
    combinations: bool = False
    proof: bool = True

    @property
    def rewriter(self) -> Rewriter:
        """Puts our engine in the place of what the suite was made for."""
        return Rewriter(self.replaces, is_for_our_name=self.view == _OUR_NAMES)

    @property
    def path(self) -> str:
        """Its directory below mysql-test."""
        return self.place or f"suite/{self.name}"

    @property
    def driver_name(self) -> str:
        """What the driver calls it."""
        return f"{self.name}-{_OVERLAY}" if self.overlay else self.name

    @property
    def list_file(self) -> Path:
        """What its cases come to."""
        return FOLDER / "results" / (self.name.replace("/", "_") + ".toml")


def load() -> list[Suite]:
    """All suites, in the order of the file."""
    table = tomllib.loads((FOLDER / "suites.toml").read_text())
    return [Suite(**{name: tuple(value) if isinstance(value, list) else value
                     for name, value in entry.items()})
            for entry in table["suite"]]


def by_view(chosen: Sequence[Suite]) -> list[list[Suite]]:
    """Suites in groups that one run of the driver can take."""
    groups = [[suite for suite in chosen if suite.view == view] for view in _VIEWS]
    return [group for group in groups if group]


def make_view(release: ServerRelease, flavour: str, view: str) -> Path:
    """A view with all its suites rewritten; returns its mysql-test directory."""
    test_dir = mtr.make_view(release, flavour, "upstream")
    original = release.usr / "share" / "mysql" / "mysql-test"
    _expand(test_dir / "plugin")
    # The overlay of another engine of our name.
    (test_dir / "plugin" / "rocksdb").unlink(missing_ok=True)
    (test_dir / "include").unlink()
    includes = Rewriter(_VIEWS[view])
    includes.copy(original / "include", test_dir / "include")
    for name in _DRIVERS_OWN & {path.name for path in (original / "include").iterdir()}:
        shutil.copy(original / "include" / name, test_dir / "include" / name)
    for suite in (suite for suite in load() if suite.view == view):
        target = test_dir / suite.path
        for parent in reversed(target.relative_to(test_dir).parents):
            _expand(test_dir / parent)
        if target.is_symlink() or not target.exists():
            target.unlink(missing_ok=True)
            left_out = () if suite.chosen else suite.leave_out
            suite.rewriter.copy(original / suite.path, target, left_out, suite.only)
        if suite.view == _OUR_NAMES:
            for name in _MYROCKS_OWN:
                (target / name).unlink(missing_ok=True)
        _disable_others(suite, target)
        if suite.overlay:
            shutil.copytree(FOLDER / suite.name, overlay_folder(test_dir, suite),
                            dirs_exist_ok=True)
        elif not (target / "combinations").exists():
            # So that differences of ours have a name of their own.
            (target / "combinations").write_text(f"[{COMBINATION}]\n{COMBINATION}\n")
    for place in _SOURCED:
        _rewrite_sourced(original / place, test_dir / place, Rewriter(_VIEWS[view]))
    return test_dir


def _disable_others(suite: Suite, target: Path) -> None:
    """Tells the driver not to run what is not chosen. The files stay: others source them."""
    if not suite.chosen:
        return
    others = {path.stem for path in target.rglob("*.test")
              if not any(fnmatch(path.stem, name) for name in suite.chosen)
              or any(fnmatch(path.stem, name) for name in suite.leave_out)}
    with (target / "disabled.def").open("a") as out:
        out.writelines(f"{name} : {NOT_CHOSEN}\n" for name in sorted(others))


def overlay_folder(test_dir: Path, suite: Suite) -> Path:
    """Where the overlay of a suite is in the view."""
    return test_dir / "plugin" / _OVERLAY / suite.name


def result_folder(folder: Path) -> Path:
    """Where the driver looks for the results of the suite in `folder`."""
    return folder / "r" if (folder / "r").is_dir() else folder


def _rewrite_sourced(source: Path, target: Path, rewriter: Rewriter) -> None:
    """Files of other suites that the suites source; their directories stay links otherwise."""
    for parent in reversed(target.parents):
        _expand(parent)
    if target.exists() and not target.is_symlink():
        return  # of a suite of this view
    if source.is_file():
        target.unlink()
        target.write_bytes(rewriter.text(source.read_bytes()))
        return
    _expand(target)
    for path in source.iterdir():
        if path.suffix in (".test", ".inc"):
            (target / path.name).unlink()
            (target / path.name).write_bytes(rewriter.text(path.read_bytes()))


def _expand(directory: Path) -> None:
    """Makes a link to a directory a real directory whose entries are links."""
    if directory.is_symlink():
        target = directory.resolve()
        directory.unlink()
        mtr.link_entries(target, directory, leave_out=())
