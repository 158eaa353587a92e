"""Which of the server's suites are run, and the view of the server's prefix they are run in."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from basaltcli import layout, mtr
from basaltcli.server_release import ServerRelease
from basaltcli.upstream.rewrite import COMBINATION, Rewriter

FOLDER = layout.ROOT / "tests" / "upstream"
# Suites that are made for any engine find what they need to know about one in an overlay.
_OVERLAY = "basalt"
# What the suites source of others.
_SOURCED = ("suite/rpl/t", "suite/rpl/include", "suite/binlog/include", "main/backup_log.inc")
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
    leave_out: tuple[str, ...] = ()
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    quick: tuple[str, ...] = ()

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


def make_view(release: ServerRelease, flavour: str) -> Path:
    """The view with all suites rewritten; returns its mysql-test directory."""
    test_dir = mtr.make_view(release, flavour, "upstream")
    original = release.usr / "share" / "mysql" / "mysql-test"
    _expand(test_dir / "plugin")
    # The overlay of another engine of our name.
    (test_dir / "plugin" / "rocksdb").unlink(missing_ok=True)
    (test_dir / "include").unlink()
    includes = Rewriter(["InnoDB", "MyISAM"])
    includes.copy(original / "include", test_dir / "include")
    for name in _DRIVERS_OWN & {path.name for path in (original / "include").iterdir()}:
        shutil.copy(original / "include" / name, test_dir / "include" / name)
    for suite in load():
        target = test_dir / suite.path
        for parent in reversed(target.relative_to(test_dir).parents):
            _expand(test_dir / parent)
        if target.is_symlink():
            target.unlink()
            Rewriter(suite.replaces).copy(original / suite.path, target, suite.leave_out,
                                          suite.only)
        if suite.overlay:
            shutil.copytree(FOLDER / suite.name, overlay_folder(test_dir, suite),
                            dirs_exist_ok=True)
        elif not (target / "combinations").exists():
            # So that differences of ours have a name of their own.
            (target / "combinations").write_text(f"[{COMBINATION}]\n{COMBINATION}\n")
    for place in _SOURCED:
        _rewrite_sourced(original / place, test_dir / place)
    return test_dir


def overlay_folder(test_dir: Path, suite: Suite) -> Path:
    """Where the overlay of a suite is in the view."""
    return test_dir / "plugin" / _OVERLAY / suite.name


def result_folder(folder: Path) -> Path:
    """Where the driver looks for the results of the suite in `folder`."""
    return folder / "r" if (folder / "r").is_dir() else folder


def _rewrite_sourced(source: Path, target: Path) -> None:
    """Files of other suites that the suites source; their directories stay links otherwise."""
    for parent in reversed(target.parents):
        _expand(parent)
    rewriter = Rewriter(["InnoDB", "MyISAM"])
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
