"""The bench that servers are measured on: a disk, memory limits, templates.

One server at a time, or with beside() one of each engine:

    with open_bench(BUILD / "bench", release, disk_size=12 << 30) as bench:
        reason = bench.reason_against(Limits(memory=512 << 20))     # None: it can be done here
        bench.restore(bench.templates.get(setup, workload))
        with bench.serving(setup, limits, durability) as server:
            ...
"""

from __future__ import annotations

import contextlib
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

import pymysql

from basaltcli import ui
from basaltcli.errors import BasaltError
from basaltcli.server_release import ServerRelease

from lab.control_groups import Group, drop_page_cache, end_left_over, open_group
from lab.disk import Disk
from lab.fidelity import MEASURING, Fidelity
from lab.host import Capability, capabilities
from lab.meter import Meter
from lab.server import MeasuredServer
from lab.setup import Durability, Engine, Limits, Setup, server_options
from lab.template import Template, Templates, restore
from lab.throttle import IoLimits, open_throttle


def _group_name(directory: Path) -> str:
    """One name for each bench directory, so that two runs do not end each other's servers."""
    return f"basalt-bench-{zlib.crc32(bytes(directory.resolve())):08x}"


def _side(engine: Engine) -> str:
    """What the names end with of all that is an engine's alone."""
    return f"-{engine.value}"


class Bench:
    """Where trials run. Without the rights for a loop device it is a plain directory.

    Not for two threads: there is one data directory, one group, one disk. `directory` is on that
    disk. `side` is what the names of data directory and group end with.
    """

    def __init__(self, directory: Path, release: ServerRelease, disk: Disk | None,
                 abilities: dict[str, Capability], fidelity: Fidelity, side: str = "") -> None:
        self.release = release
        self.disk = disk
        self.fidelity = fidelity
        self.templates = Templates(directory / "templates", release, fidelity)
        self.directory = disk.mount_point if disk else directory
        self._home = directory
        self._datadir = self.directory / f"data{side}"
        self._abilities = abilities
        self._group_name = _group_name(directory) + side
        self._group: Group | None = None

    def beside(self, engine: Engine) -> Bench:
        """A bench for this engine's server while other engines' run, on the same disk.

        Call remove_data() of it when its last server has ended.
        """
        return Bench(self._home, self.release, self.disk, self._abilities, self.fidelity,
                     _side(engine))

    def remove_data(self) -> None:
        """What the last server left takes no room on the disk any more."""
        shutil.rmtree(self._datadir, ignore_errors=True)

    def reason_against(self, limits: Limits) -> str | None:
        """Why servers cannot be put under these limits here, and the remedy; None if they can."""
        wanted = [name for name, is_wanted in (("memory_limit", limits.memory is not None),
                                               ("iops_limit", limits.disk != IoLimits()))
                  if is_wanted]
        for name in wanted:
            ability = self._abilities[name]
            if not ability.is_there:
                return f"{ability.reason}; {ability.remedy}"
        return None

    def restore(self, template: Template) -> float:
        """Makes the data directory a fresh copy of a template; returns the seconds of the copy."""
        seconds = restore(template, self._datadir, keeps_holes=self.fidelity.keeps_holes)
        if self._abilities["page_cache"].is_there:
            drop_page_cache()
        return seconds

    @contextlib.contextmanager
    def serving(self, setup: Setup, limits: Limits,
                durability: Durability) -> Iterator[MeasuredServer]:
        """A server on the data directory, under limits.

        It is stopped when the block ends, and killed when the block fails.
        """
        group = self._group = self._new_group(limits)
        server = MeasuredServer(
            self.release, setup, self._datadir,
            [*server_options(setup, limits, durability), *self.fidelity.options],
            prefix=group.command_prefix() if group else (),
            meter=Meter(device=self.disk.name if self.disk else None, group=group,
                        directories=[self._datadir]))
        try:
            self.limit_disk(limits.disk)
            with server.running():
                yield server
        except (BasaltError, pymysql.MySQLError, OSError) as error:
            if group and group.memory().oom_kills:
                raise BasaltError(
                    "the kernel ended the server: it needed more than the memory it was given"
                    ) from error
            raise
        finally:
            self.limit_disk(IoLimits())
            self._group = None
            if group:
                group.kill()
                group.remove()

    def limit_disk(self, limits: IoLimits) -> None:
        """Changes the disk's limits under a running server."""
        if self.disk is not None and self._abilities["iops_limit"].is_there:
            # The limits are the disk's, or where those miss write-back the server's group's.
            self.disk.limit(limits, open_throttle(self._group))

    def _new_group(self, limits: Limits) -> Group | None:
        if not self._abilities["memory_limit"].is_there:
            return None
        group = open_group(self._group_name)
        group.create(memory_limit=limits.memory)
        return group


@contextlib.contextmanager
def open_bench(directory: Path, release: ServerRelease, disk_size: int,
               fidelity: Fidelity = MEASURING) -> Iterator[Bench]:
    """The bench in a directory; what it changed on the machine is put back at the end."""
    directory.mkdir(parents=True, exist_ok=True)
    abilities = capabilities(directory)
    with contextlib.ExitStack() as stack:
        disk = None
        if abilities["disk"].is_there:
            with ui.progress("Preparing the disk") as bar:
                disk = stack.enter_context(Disk(
                    directory / "disk.img", directory / "disk", disk_size, progress=bar.update,
                    end_left_over=lambda: _end_left_over(directory)))
        bench = Bench(directory, release, disk, abilities, fidelity)
        for engine in Engine:
            # A killed run may have left them.
            bench.beside(engine).remove_data()
        yield bench


def _end_left_over(directory: Path) -> None:
    for side in ("", *map(_side, Engine)):
        end_left_over(_group_name(directory) + side)
