"""The command line of ./basalt demo."""

from __future__ import annotations

import sys

import click

from basaltcli import layout


@click.command()
@click.option("--small", is_flag=True,
              help="A few thousand packages, under a minute; data in build/demo-small.")
@click.option("--stop", "is_stopped", is_flag=True,
              help="Stop the server at the end instead of leaving it to look around in.")
@click.option("--flavour", type=click.Choice(layout.FLAVOURS), default="release",
              show_default=True, help="Which build of the engine.")
def demo(small: bool, is_stopped: bool, flavour: str) -> None:
    """Watch the engine at work on real data, beside InnoDB, and through a crash.

    Builds the engine if need be and starts a private server. Loads the index of all Debian packages
    that apt knows into InnoDB and into ROCKSDB tables, runs the same queries and changes on both
    and compares every byte. Kills the server while clients commit, restarts it and looks for each
    commit. Ends with a table of times and sizes. Takes a few minutes, and starts afresh every time.

    Exit code 0: both engines agree and nothing was lost. 1: they do not. 2: it could not run.

    \b
    Examples:
      ./basalt demo
      ./basalt demo --small --stop
    """
    from basaltcli.demo import run
    sys.exit(0 if run.run(run.Settings(flavour, small, is_stopped)) else 1)
