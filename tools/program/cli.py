"""The command line: ./basalt COMMAND."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import click

from basaltcli import layout, ui
from basaltcli.demo.command import demo
from basaltcli.errors import BasaltError
from basaltcli.server_commands import server
from basaltcli.upstream.command import upstream
from program.bench import bench

FLAVOUR = click.option("--flavour", type=click.Choice(layout.FLAVOURS), default="release",
                       show_default=True, help="Which build.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def basalt() -> None:
    """Basalt: an LSM storage engine for MariaDB, built on RocksDB.

    One command does each job and installs what it needs; all may be interrupted and run again.

    \b
    Start here:
      ./basalt demo            see it work on real data (builds everything first)
      ./basalt server start    a private server with the engine, then:
      ./basalt server client   an SQL prompt on it
      ./basalt test            every test
      ./basalt bench           measure it beside InnoDB and MyRocks on this machine

    \b
    A MariaDB that is installed on this machine is never touched: the server lives in the cache
    (BASALT_CACHE, default ~/.cache/basalt), its data in build/. docs/building.md has the details.
    """


@basalt.command()
@FLAVOUR
@click.option("--tests", is_flag=True, help="Also the unit tests and link checks.")
@click.option("--refresh", is_flag=True, help="Look for a newer MariaDB release than the one used.")
def build(flavour: str, tests: bool, refresh: bool) -> None:
    """Build the plugin, and before it whatever is missing.

    The first build on a machine fetches MariaDB and RocksDB and compiles RocksDB, about 16 minutes
    on 2 cores; later builds and other checkouts use the cache.

    \b
    release  what users get          asan  dev under AddressSanitizer
    dev      asserts and failpoints  tsan  dev under ThreadSanitizer

    \b
    Example:
      ./basalt build --flavour dev
    """
    from basaltcli import build as builder
    release = builder.build(flavour, refresh, tests)
    plugin = layout.plugin_file(flavour)
    if plugin.exists():
        ui.info(f"plugin: {plugin.relative_to(layout.ROOT)} (for MariaDB {release.version})")
    else:
        ui.info(f"built build/{flavour}; there is no {layout.PLUGIN_NAME} in it yet")


basalt.add_command(server)


class _TestCommand(click.Command):
    """`./basalt test`, in which the word `upstream` leads to a command of its own."""

    def make_context(self, info_name: str | None, args: list[str],
                     parent: click.Context | None = None, **extra: Any) -> click.Context:
        if args and args[0] == "upstream":
            return upstream.make_context(f"{info_name} upstream", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@basalt.command(cls=_TestCommand)
@click.option("--quick", is_flag=True, help="Only the steps layers, format, unit and sql.")
@click.option("--only", "only", multiple=True, metavar="STEP",
              help="Only this step (repeatable): layers, format, unit, sql, upstream, model, ...")
@click.option("--flavour", type=click.Choice(layout.FLAVOURS), default="dev", show_default=True,
              help="Which build to test.")
@click.argument("cases", nargs=-1, metavar="[-- MTR-ARGUMENT...]")
def test(quick: bool, only: tuple[str, ...], flavour: str, cases: tuple[str, ...]) -> None:
    """Run the tests; builds first.

    `./basalt test upstream` runs the server's own suites on our engine: see its --help.

    What follows -- goes to the server's own mariadb-test-run.pl, in step sql: names of cases, or
    options such as --record or --suite=main.

    \b
    Examples:
      ./basalt test
      ./basalt test --quick
      ./basalt test --only layers --only unit
      ./basalt test --only sql -- basalt.insert --record
    """
    from program import testing
    sys.exit(0 if testing.run(quick, only, flavour, cases) else 1)


@basalt.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("arguments", nargs=-1, metavar="PROGRAM [ARGUMENT...]")
def python(arguments: tuple[str, ...]) -> None:
    """Run Python with the project's packages: a test script by itself, say.

    What follows is given to Debian's Python. The scripts of tests/ test the build that is there;
    their --flavour or --plugin-dir says which.

    \b
    Examples:
      ./basalt python tests/crash/failpoints.py --every-visit
      ./basalt python tests/isolation/serial.py --help
      ./basalt python -m pytest bench/tests/test_disk.py
    """
    os.execv(sys.executable, [sys.executable, *arguments])


@basalt.command()
@FLAVOUR
@click.option("--refresh", is_flag=True, help="Look for a newer MariaDB release than the one used.")
@click.option("--test", "with_test", is_flag=True,
              help="Also try it in a fresh Debian 12 root, about 4 minutes; as root.")
def package(flavour: str, refresh: bool, with_test: bool) -> None:
    """Build a Debian package for the release of the server that the engine is built for.

    The README tells how to install it on a server.

    \b
    Examples:
      ./basalt package
      ./basalt package --test
    """
    from basaltcli import package as packaging
    file = packaging.make(flavour, refresh)
    ui.info(f"package: {file.relative_to(layout.ROOT)}")
    if with_test:
        script = layout.ROOT / "tests" / "package" / "debian_root.py"
        os.execv(sys.executable, [sys.executable, str(script), str(file)])


@basalt.command()
@click.option("--seconds", default=600, show_default=True, help="How long each fuzzer runs.")
@click.argument("names", nargs=-1, metavar="[FUZZER...]")
def fuzz(names: tuple[str, ...], seconds: int) -> None:
    """Feed damaged bytes to everything that decodes stored ones, under libFuzzer.

    Needs clang, which is installed. What is found is kept in build/fuzz.

    \b
    Examples:
      ./basalt fuzz
      ./basalt fuzz --seconds 60 row_decode_fuzz
    """
    from basaltcli import fuzz as fuzzing
    fuzzing.run(names, seconds)


@basalt.command(name="rocksdb-check")
@click.option("--minutes", default=30.0, show_default=True,
              help="How long all of it runs; db_stress what is left, five minutes at least.")
@click.argument("programs", nargs=-1, metavar="[PROGRAM|stress...]")
def rocksdb_check(minutes: float, programs: tuple[str, ...]) -> None:
    """Run RocksDB's own tests with our patches, memtable, cache and compression.

    The list of them, and of those that do not hold, is tools/rocksdb/check/tests.toml. For a new
    version of RocksDB, or a change of what RocksDB is given by us. The first time it compiles for
    25 minutes on 2 cores; all is kept in build/rocksdb-check.

    \b
    Examples:
      ./basalt rocksdb-check
      ./basalt rocksdb-check db_iterator_test merger_test
      ./basalt rocksdb-check --minutes 60 stress
    """
    from basaltcli import rocksdb_check as checklist
    sys.exit(0 if checklist.run(minutes, programs) else 1)


@basalt.command()
@FLAVOUR
@click.option("--hours", default=3.0, show_default=True, help="Load, over all calls.")
@click.option("--directory", type=click.Path(path_type=Path), default=layout.BUILD / "endurance",
              help="Where the run keeps its data and state (default: build/endurance).")
@click.option("--seed", default=1, show_default=True, help="What is drawn depends on it.")
@click.option("--cores", default=0.8, show_default=True,
              help="Processor time that clients and servers may take together.")
@click.option("--checkpoint", default=5.0, show_default=True,
              help="Minutes of load between checkpoints.")
@click.option("--go-on", is_flag=True, help="With the same data, even after a finding.")
def endurance(flavour: str, hours: float, directory: Path, seed: int, cores: float,
              checkpoint: float, go_on: bool) -> None:
    """Run a server and its replica for hours, with kills and definitions, and check everything.

    An interrupted run goes on when the same command is given again. It stops at what it finds.

    \b
    Example:
      ./basalt endurance --hours 3
    """
    from basaltcli import build as builder
    builder.build(flavour, False, False)
    script = layout.ROOT / "tests" / "endurance" / "endurance.py"
    command = [sys.executable, str(script), "--flavour", flavour, "--hours", str(hours),
               "--directory", str(directory), "--seed", str(seed), "--cores", str(cores),
               "--checkpoint", str(checkpoint), *(["--go-on"] if go_on else [])]
    os.execv(command[0], command)


@basalt.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False,
                                  "help_option_names": []})
@click.argument("arguments", nargs=-1, metavar="innodb|myrocks [OPTION...]")
def migrate(arguments: tuple[str, ...]) -> None:
    """Take InnoDB tables, or a MyRocks server, over into the engine.

    It is the program basalt-migrate of the package: docs/migration.md.

    \b
    Examples:
      ./basalt migrate innodb --socket build/server/data/basalt.sock --dry-run
      ./basalt migrate myrocks --help
    """
    os.execv(sys.executable, [sys.executable, "-m", "basalt_migrate", *arguments])


basalt.add_command(demo)
basalt.add_command(bench)


@basalt.command()
@click.option("--cache", is_flag=True, help="Also remove the cache: MariaDB, RocksDB's build.")
def clean(cache: bool) -> None:
    """Remove build/, including the data of the private server; with --cache also the cache.

    A running private server is stopped first.

    \b
    Example:
      ./basalt clean
    """
    from basaltcli.server_commands import stop_private_server
    stop_private_server()
    places = [layout.BUILD, *(layout.cache_entries() if cache else [])]
    for place in places:
        if place.is_dir():
            shutil.rmtree(place)
        elif place.exists():
            place.unlink()
        else:
            continue
        ui.info(f"removed {place}")


def main() -> None:
    """Runs the command; expected errors end with their remedy instead of a traceback."""
    # Being ended counts as being interrupted: programs that we have started must end too.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        basalt(prog_name="./basalt", standalone_mode=False)
    except BasaltError as error:
        ui.error(error.message, error.remedy)
        sys.exit(2)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # or Python complains when it closes the real one
        sys.exit(1)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
            raise
        ui.error(str(error), "make room, or change the owner of the file or directory")
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        ui.error("interrupted", "run the same command again; finished steps are kept")
        sys.exit(130)
