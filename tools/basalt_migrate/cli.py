"""The command line of basalt-migrate."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from typing import Any

import pymysql

from basalt_migrate import in_place, takeover
from basalt_migrate.connection import Address
from basalt_migrate.errors import MigrateError

_DESCRIPTION = """\
Takes tables over into the storage engine ROCKSDB (Basalt), and verifies every one.

  innodb    InnoDB tables of a running server, in place
  myrocks   a server with MariaDB's own MyRocks, whose data files Basalt does not
            read: from it to a second server with Basalt, which then replicates

An interrupted run is gone on with by the same command. --dry-run changes nothing.
Passwords belong into an option file with a section [client], never into the command."""


_EXAMPLE = """\
example:
  basalt-migrate myrocks --source-defaults-file old.cnf --target-defaults-file new.cnf \\
      --accounts --replication-defaults follower.cnf"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns the exit code: 0 done, 1 not all of it, 2 an error, 130 stopped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen = _parser().parse_args(arguments)
    try:
        return int(chosen.run(chosen))
    except MigrateError as error:
        print(f"error: {error.message}", file=sys.stderr)
        if error.remedy:
            print(f"what to do: {error.remedy}", file=sys.stderr)
        return 2
    except pymysql.err.Error as error:
        print(f"error: {error}\nwhat to do: see the server's error log; the same command goes on",
              file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="basalt-migrate", description=_DESCRIPTION,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    innodb = commands.add_parser("innodb", help="InnoDB tables of a running server, in place",
                                 description=in_place.__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    _add_server(innodb, "", "the server")
    _add_common(innodb)
    innodb.add_argument("--no-verify", action="store_true",
                        help="do not compare; readers need not wait then, only writers")
    innodb.add_argument("--keep-originals", action="store_true",
                        help="keep each table's rows as they were, as InnoDB tables in the schema "
                             "basalt_migrate")
    innodb.add_argument("--log-to-binlog", action="store_true",
                        help="write ALTER TABLE to the binary log, so that replicas do it, too")
    innodb.set_defaults(run=_innodb)

    myrocks = commands.add_parser("myrocks", help="from a MyRocks server to this engine's",
                                  description=takeover.__doc__, epilog=_EXAMPLE,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    _add_server(myrocks, "source-", "the MyRocks server")
    _add_server(myrocks, "target-", "the server with this engine")
    _add_common(myrocks)
    myrocks.add_argument("--workers", type=int, default=2, metavar="N",
                         help="tables that are copied at a time (default: %(default)s)")
    myrocks.add_argument("--accounts", action="store_true",
                         help="copy accounts and their privileges, too")
    myrocks.add_argument("--replication-defaults", default="", metavar="FILE",
                         help="start replication with host, port, user and password from this "
                              "option file; without it the commands are printed")
    myrocks.set_defaults(run=_myrocks)
    return parser


def _add_server(parser: argparse.ArgumentParser, prefix: str, what: str) -> None:
    group = parser.add_argument_group(f"how {what} is reached")
    group.add_argument(f"--{prefix}defaults-file", default="", metavar="FILE",
                       help="option file with a section [client]")
    group.add_argument(f"--{prefix}socket", default="", metavar="PATH")
    group.add_argument(f"--{prefix}host", default="")
    group.add_argument(f"--{prefix}port", type=int, default=0)
    group.add_argument(f"--{prefix}user", default="", help="default: who runs this")


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="say what would be done")
    parser.add_argument("--only", action="append", default=[], metavar="SCHEMA[.TABLE]",
                        help="only these (repeatable)")
    parser.add_argument("--exclude", action="append", default=[], metavar="SCHEMA[.TABLE]",
                        help="all but these (repeatable)")
    parser.add_argument("--lock-wait", type=int, default=60, metavar="SECONDS",
                        help="how long to wait for others' statements (default: %(default)s)")
    parser.add_argument("--free-space", type=int, metavar="BYTES",
                        help="free space of the server's disk, where it cannot be found out")


def _address(chosen: argparse.Namespace, prefix: str, name: str) -> Address:
    def of(key: str) -> Any:
        return getattr(chosen, prefix + key)

    return Address(name, of("defaults_file"), of("socket"), of("host"), of("port"), of("user"))


def _innodb(chosen: argparse.Namespace) -> int:
    options = in_place.Options(
        only=chosen.only, exclude=chosen.exclude, dry_run=chosen.dry_run,
        verify=not chosen.no_verify, keep_originals=chosen.keep_originals,
        with_binary_log=chosen.log_to_binlog, lock_wait=chosen.lock_wait,
        free_space=chosen.free_space)
    return in_place.InPlace(_address(chosen, "", "database"), options).run()


def _myrocks(chosen: argparse.Namespace) -> int:
    options = takeover.Options(
        only=chosen.only, exclude=chosen.exclude, dry_run=chosen.dry_run,
        workers=max(1, chosen.workers), accounts=chosen.accounts,
        replication=chosen.replication_defaults, lock_wait=chosen.lock_wait,
        free_space=chosen.free_space)
    return takeover.Takeover(_address(chosen, "source_", "source"),
                             _address(chosen, "target_", "target"), options).run()
