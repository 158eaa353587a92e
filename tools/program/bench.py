"""./basalt bench: the commands of the laboratory."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from basaltcli import build, debian, layout, locking, rocksdb, server_release, ui
from basaltcli.errors import BasaltError
from basaltcli.server_release import ServerRelease

if TYPE_CHECKING:
    from lab.command import Request

# sysbench drives, fio measures the disk, the rest computes and draws.
PACKAGES = ("e2fsprogs", "fio", "mount", "python3-jinja2", "python3-matplotlib", "python3-numpy",
            "python3-pil", "sysbench")
# The tests of the report look at it in a browser.
TEST_PACKAGES = ("chromium", "chromium-driver", "python3-pytest", "python3-scipy",
                 "python3-selenium")
_DIRECTORY = layout.BUILD / "bench"
_SMOKE_DIRECTORY = layout.BUILD / "bench-smoke"
_RUNS = _DIRECTORY / "runs"
_ENGINES = ("innodb", "myrocks", "basalt")


@click.group()
def bench() -> None:
    """The laboratory: published experiments, repeated here with three engines side by side.

    InnoDB, Debian's MyRocks and this engine, each in a server of its own, on a disk and in memory
    that are limited alike. docs/laboratory.md says how it measures.

    \b
    Start here:
      ./basalt bench list
      ./basalt bench run --quick all
    """


@bench.command("list")
def list_studies() -> None:
    """The studies, whether they can run here, and the runs there are."""
    _prepare()
    from lab.host import capabilities
    from lab.runner import plan
    from lab.setup import Engine
    from lab.store import runs
    from lab.study import Size
    from studies.catalogue import STUDIES
    table = Table(box=None, pad_edge=False)
    for name in ("study", "quick", "full", "long", "question"):
        table.add_column(name, no_wrap=name != "question")
    for study in STUDIES:
        times = [ui.duration(sum(trial.seconds for trial in plan([study], size, list(Engine))))
                 for size in (Size.QUICK, Size.FULL, Size.LONG)]
        table.add_row(study.name, *times, study.question)
    ui.console.print(table)
    _DIRECTORY.mkdir(parents=True, exist_ok=True)
    for name, ability in capabilities(_DIRECTORY).items():
        if not ability.is_there:
            ui.info(f"not here: {name}: {ability.reason}; {ability.remedy}")
    for run in runs(_RUNS):
        ui.info(f"run {run.name}: {run.size}, {', '.join(run.studies)}")


@bench.command("run")
@click.argument("names", nargs=-1, required=True, metavar="STUDY...|all")
@click.option("--smoke", "size", flag_value="smoke", help="Seconds each: does it work?")
@click.option("--quick", "size", flag_value="quick", default=True,
              help="A look at everything: one block (default).")
@click.option("--full", "size", flag_value="full",
              help="Windows of half a minute, two blocks, what every claim needs.")
@click.option("--long", "size", flag_value="long",
              help="Three blocks, larger data, more cells, longer windows: hours.")
@click.option("--engines", default=",".join(_ENGINES), show_default=True, metavar="LIST",
              help="Only these engines.")
@click.option("--cells", default="", metavar="REGEX",
              help="Only cells in whose names this finds something.")
@click.option("--blocks", type=click.IntRange(1), help="Measure everything so many times.")
@click.option("--new", is_flag=True, help="Begin a new run even if one can be gone on with.")
@click.option("--dry-run", is_flag=True, help="Only say what would be measured, and how long.")
def run_studies(names: tuple[str, ...], size: str, engines: str, cells: str, blocks: int | None,
                new: bool, dry_run: bool) -> None:
    """Measure, and write the report.

    The same command goes on with a run that was interrupted, and measures again what failed; what
    was measured is kept. Needs root for the disk and the limits, 30 GB of disk space for the
    templates, and a machine that does nothing else.

    \b
    Examples:
      ./basalt bench run --quick all
      ./basalt bench run --full memory_sweep insert_benchmark
      ./basalt bench run --long --dry-run all
      ./basalt bench run --engines innodb,basalt constrained_sysbench
      ./basalt bench run --cells 'write-only' --blocks 3 goals
    """
    _prepare()
    from lab import command
    from studies.catalogue import chosen_studies
    request = command.Request(chosen_studies(names), size, _chosen(engines), blocks, cells)
    if dry_run:
        for line in command.foretell(request):
            ui.info(line)
        return
    request.plan()  # a wrong name is told before anything is built
    release = _release()
    directory = _DIRECTORY if size != "smoke" else _SMOKE_DIRECTORY
    sys.exit(0 if _measure(request, new, directory, release) else 1)


@bench.command()
@click.option("--engines", default=",".join(_ENGINES), show_default=True, metavar="LIST",
              help="InnoDB, and those that are compared with it.")
@click.option("--rounds", type=click.IntRange(1), default=20, show_default=True,
              help="In a round each engine has one burst.")
@click.option("--seconds", type=click.IntRange(1), default=3, show_default=True,
              help="Length of a burst.")
@click.option("--cells", default="", metavar="REGEX",
              help="Only cells in whose names this finds something.")
@click.option("--smoke", is_flag=True, help="Tiny data, 2 rounds of 1 s, few cells: does it work?")
@click.option("--dry-run", is_flag=True, help="Only say what would be measured, and how long.")
def bursts(engines: str, rounds: int, seconds: int, cells: str, smoke: bool,
           dry_run: bool) -> None:
    """Compare engines that are up at once, in bursts that alternate: what is cached.

    Prints the ratios of rates and of processor time to InnoDB's, with their intervals, and stores
    all bursts below build/bench/runs. Needs root, memory for a server of each engine, and a machine
    that does nothing else.

    \b
    Examples:
      ./basalt bench bursts
      ./basalt bench bursts --engines innodb,basalt --rounds 40 --cells 'point select'
    """
    _prepare()
    from lab import bursts_command
    from lab.study import Size
    from studies.goals.side_by_side import contests
    size = Size.SMOKE if smoke else Size.FULL
    if smoke:
        rounds, seconds = 2, 1
    request = bursts_command.Request(contests(size), _chosen(engines), rounds, seconds, cells, size)
    if dry_run:
        for line in bursts_command.foretell(request):
            ui.info(line)
        return
    request.chosen()  # a wrong name is told before anything is built
    release = _release()
    directory = _SMOKE_DIRECTORY if smoke else _DIRECTORY
    with locking.exclusive(directory / "lock", "the laboratory"):
        sys.exit(0 if bursts_command.run(request, directory, release) else 1)


@bench.command()
@click.argument("name", required=False, metavar="[RUN]")
@click.option("--output", type=click.Path(path_type=Path), help="Where to write the page.")
def report(name: str | None, output: Path | None) -> None:
    """Write the report of a run again; without a name, of the newest.

    RUN may be a file that was written beside a report, such as those in docs/results.
    """
    _prepare()
    from lab import command
    from studies.catalogue import chosen_studies
    run = command.stored_run(_RUNS, name)
    ui.info(f"report: {command.write(run, chosen_studies(run.studies), output)}")


@bench.command()
@click.argument("before")
@click.argument("after")
def compare(before: str, after: str) -> None:
    """Compare two runs of the same studies on the same machine, setup by setup."""
    _prepare()
    from lab import command
    from lab.compare import compare as compare_runs
    ui.console.print(compare_runs(command.stored_run(_RUNS, before),
                                  command.stored_run(_RUNS, after)))


@bench.command()
def profile() -> None:
    """Count what RocksDB executes under the loads of the goals, for its compiler.

    Rewrites tools/rocksdb/profile.tar.xz, an hour with 2 processors. docs/building.md says when.
    """
    _prepare()
    from lab import command
    from lab.disk import remove
    from lab.server import PLUGIN_DIR_VARIABLE
    from studies import goals
    directory = layout.BUILD / "profile"
    provisions = build.provision(library=lambda: rocksdb.ensure_counting(directory))
    engine = directory / "engine"
    build.build_in(engine, "release", provisions,
                   cmake_options=[f"-DCMAKE_{kind}_LINKER_FLAGS=-fprofile-generate"
                                  for kind in ("MODULE", "EXE")])
    os.environ[PLUGIN_DIR_VARIABLE] = str(engine / layout.PLUGIN_FOLDER)
    request = command.Request([goals.STUDY], "quick", ("basalt",), blocks=1)
    if not _measure(request, True, directory, provisions.release):
        raise BasaltError("not all loads ran", "see the problems above")
    rocksdb.make_profile(directory)
    remove(directory / "disk.img")
    shutil.rmtree(directory)
    ui.info(f"written: {rocksdb.PROFILE}")


@bench.command("clean")
@click.option("--runs", "with_runs", is_flag=True, help="Also the runs and their reports.")
def clean_up(with_runs: bool) -> None:
    """Remove the disk image and the templates; what a killed run left is undone first."""
    from lab.disk import remove
    if not _DIRECTORY.exists():
        return
    with locking.exclusive(_DIRECTORY / "lock", "the laboratory"):
        remove(_DIRECTORY / "disk.img")
        places: Sequence[Path] = [_DIRECTORY / "templates", *([_RUNS] if with_runs else [])]
        for place in places:
            if place.exists():
                shutil.rmtree(place)
                ui.info(f"removed {place}")


def _chosen(engines: str) -> list[str]:
    """The engines of a list, each of which is one."""
    chosen = [name.strip() for name in engines.split(",")]
    unknown = set(chosen) - set(_ENGINES)
    if unknown:
        raise BasaltError(f"there is no engine {', '.join(sorted(unknown))}",
                          f"the engines are {', '.join(_ENGINES)}")
    return chosen


def _release() -> ServerRelease:
    """The server; with the engine of this checkout, unless BASALT_PLUGIN_DIR names another."""
    release = server_release.current() if os.environ.get("BASALT_PLUGIN_DIR") else None
    return release or build.build("release")


def _measure(request: Request, is_new: bool, directory: Path, release: ServerRelease) -> bool:
    from lab import command
    with locking.exclusive(directory / "lock", "the laboratory"):
        return command.run(request, is_new, directory, release)


def _prepare() -> None:
    debian.ensure(PACKAGES)
