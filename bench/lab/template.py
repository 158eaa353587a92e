"""Templates: data directories that are filled once per setup and copied before every trial.

    TEMPLATES/tpcc-basalt-0123456789ab/
      data/             a cleanly stopped server's data directory
      template.json     sizes, and how long loading took

A template's name holds a hash of all that its bytes depend on: the workload's parameters and
sources, the setup's table options, the server's options while loading, its release, the engine's
plugin.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import shutil
import time
from pathlib import Path
from typing import Any

from basaltcli import machine, process, ui
from basaltcli.errors import BasaltError
from basaltcli.layout import PLUGIN_NAME
from basaltcli.server_release import ServerRelease

from lab.directory_size import measure
from lab.drain import drain
from lab.fidelity import MEASURING, Fidelity
from lab.server import MeasuredServer, plugin_dir
from lab.setup import Engine, Setup, loading_options
from lab.workload import Workload


@dataclasses.dataclass(frozen=True)
class Template:
    """A filled data directory. Sizes are allocated bytes; `logs` are redo and write-ahead logs."""

    directory: Path
    load_seconds: float
    data_bytes: int
    log_bytes: int

    @property
    def data(self) -> Path:
        return self.directory / "data"


class Templates:
    """The templates of one checkout; made when first asked for."""

    def __init__(self, directory: Path, release: ServerRelease,
                 fidelity: Fidelity = MEASURING) -> None:
        self.directory = directory
        self.release = release
        self._fidelity = fidelity

    def get(self, setup: Setup, workload: Workload) -> Template:
        """The template, filled and checked now if it is not there."""
        directory = self.directory / self._name(setup, workload)
        if not (directory / "template.json").exists():
            self._make(directory, setup, workload)
        return Template(directory, **json.loads((directory / "template.json").read_text()))

    def has(self, setup: Setup, workload: Workload) -> bool:
        return (self.directory / self._name(setup, workload) / "template.json").exists()

    def _name(self, setup: Setup, workload: Workload) -> str:
        plugin = plugin_dir(self.release, setup.engine) / PLUGIN_NAME
        parts: dict[str, Any] = {
            "workload": workload.identity(), "sources": _sources_hash(workload),
            "setup": [setup.engine.value, setup.table_options, self._options(setup)],
            "release": self.release.version,
            "plugin": "" if setup.engine is Engine.INNODB
                      else hashlib.sha256(plugin.read_bytes()).hexdigest()}
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        return f"{workload.name}-{setup.engine.value}-{digest[:12]}"

    def _options(self, setup: Setup) -> list[str]:
        return [*loading_options(setup), *self._fidelity.options]

    def _make(self, directory: Path, setup: Setup, workload: Workload) -> None:
        machine.check_disk(directory, self._fidelity.free_bytes, "a template")
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        server = MeasuredServer(self.release, setup, directory / "data",
                                self._options(setup))
        with ui.progress(f"Loading {workload.name} into {setup.title}"), server.running():
            started = time.monotonic()
            workload.prepare(server)
            seconds = time.monotonic() - started
            _tidy(server)
            problems = workload.check(server)
            if problems:
                raise BasaltError(f"the data of {workload.name} are wrong in {setup.title} right "
                                  "after loading: " + "; ".join(problems[:3]))
            drain(server, lambda: measure([server.datadir]).allocated, patience=600,
                  quiet_seconds=self._fidelity.quiet_seconds)
        size = measure([server.datadir])
        sizes = {"load_seconds": seconds, "data_bytes": size.data.allocated,
                 "log_bytes": size.logs.allocated}
        unfinished = directory / "template.unfinished"
        unfinished.write_text(json.dumps(sizes))
        unfinished.replace(directory / "template.json")


def _tidy(server: MeasuredServer) -> None:
    """Statistics for the optimizer; an LSM tree is compacted, or its first readers would wait for
    what loading has left in its upper levels."""
    tables = ", ".join(f"`{name}`" for name in server.tables())
    if tables and server.setup.engine is not Engine.INNODB:
        server.query(f"OPTIMIZE TABLE {tables}")
    if tables:
        server.query(f"ANALYZE TABLE {tables}")


def restore(template: Template, datadir: Path, *, keeps_holes: bool = False) -> float:
    """Copies a template; what was in `datadir` is removed. Returns the seconds of the copy.

    Nothing is shared, and holes are filled unless `keeps_holes`: an engine that writes in place
    would pay for both later.
    """
    shutil.rmtree(datadir, ignore_errors=True)
    if datadir.exists():
        # The copy would land inside of it.
        raise BasaltError(f"{datadir} cannot be removed", "end what uses it")
    started = time.monotonic()
    sparse = "always" if keeps_holes else "never"
    process.run(["cp", "--archive", "--reflink=never", f"--sparse={sparse}", template.data,
                 datadir],
                log=process.log_file("bench-restore"),
                failure=f"the template {template.directory.name} cannot be copied",
                remedy="make room on the disk, or run: ./basalt bench clean")
    return time.monotonic() - started


def _sources_hash(workload: Workload) -> str:
    """Of the workload's own files, and of the Lua and the Python that all share."""
    folder = Path(inspect.getfile(type(workload))).parent
    digest = hashlib.sha256()
    shared = [*(folder.parent / "lua").glob("*.lua"), *folder.parent.glob("*.py")]
    for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.lua"), *shared]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
