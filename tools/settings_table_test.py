#!/usr/bin/python3
"""Plants differences of every kind from the table of settings, in a guide and in a server."""

from __future__ import annotations

import sys
import unittest

from basaltcli import settings_table
from basaltcli.settings_table import Setting, TableError

_TABLE = '''// BASALT_SETTING(name, kind, scope, change, default, limits,
BASALT_SETTING(datadir, Path, Global, kAtStart, "./#rocksdb", none, "Where files are")

BASALT_CHOSEN_SETTING(cache, Number, Global, applied_by(apply_cache), 0,
                      between(0, kNoLimit, 1024),
                      "Memory, "
                      "in bytes", cache_bytes, cache_rule(machine, used))
BASALT_SETTING(wait, Number, Session, kDynamic, 2 * 25, between(1, 2 * 1024), "Seconds")
BASALT_SETTING(detect, Switch, Global, kAtStart, true, none, "Find (all) of them, if any")
BASALT_SETTING(flush, Switch, Global, command(check_flush), false, none, "Flushes")
'''
_GUIDE = """# Guide

| variable | default | meaning |
|---|---|---|
| `rocksdb_datadir` | `./#rocksdb` | where |
| `rocksdb_cache` | 0, dynamic | how much |
| `rocksdb_wait` | 50, dynamic, per session | how long |
| `rocksdb_detect` | ON | whether |
| `rocksdb_flush` | dynamic | when |

| `Rocksdb_state` | of the engine |
"""


class ReadTheTable(unittest.TestCase):
    """What entries say."""

    def test_every_column_is_read(self) -> None:
        datadir, cache, wait, detect, flush = settings_table.read(_TABLE)
        self.assertEqual(datadir, Setting("rocksdb_datadir", "GLOBAL", False, False, "./#rocksdb",
                                          None, "Where files are", False))
        self.assertEqual(cache, Setting("rocksdb_cache", "GLOBAL", True, False, "0",
                                        (0, 2**64 - 1, 1024), "Memory, in bytes", True))
        self.assertEqual(wait, Setting("rocksdb_wait", "SESSION", True, False, "50", (1, 2048, 0),
                                       "Seconds", False))
        self.assertEqual(detect, Setting("rocksdb_detect", "GLOBAL", False, False, "ON", None,
                                         "Find (all) of them, if any", False))
        self.assertEqual(flush, Setting("rocksdb_flush", "GLOBAL", True, True, "OFF", None,
                                        "Flushes", False))

    def test_an_entry_of_another_form_is_no_silent_gap(self) -> None:
        for changed in ("Sometimes, kDynamic", "Session, kDynamic, 50, below(3)"):
            with self.subTest(changed), self.assertRaisesRegex(TableError, "wait, Number"):
                settings_table.read(_TABLE.replace("Session, kDynamic", changed))
        with self.assertRaisesRegex(TableError, "there is no entry"):
            settings_table.read("")


class PlantedDifferences(unittest.TestCase):
    """Each test changes a guide that agrees."""

    def expect(self, old: str, new: str, *sentences: str) -> None:
        self.assertIn(old, _GUIDE)
        problems = settings_table.guide_problems(_GUIDE.replace(old, new),
                                                 settings_table.read(_TABLE))
        self.assertEqual(list(problems), list(sentences))

    def test_a_guide_that_agrees_is_left_alone(self) -> None:
        self.expect("", "")

    def test_a_variable_without_a_row_is_found(self) -> None:
        self.expect("| `rocksdb_detect` | ON | whether |\n", "",
                    "the guide has no variable rocksdb_detect")

    def test_a_row_without_a_variable_is_found(self) -> None:
        self.expect("rocksdb_wait", "rocksdb_timeout",
                    "there is no variable rocksdb_timeout",
                    "the guide has no variable rocksdb_wait")

    def test_another_default_is_found(self) -> None:
        self.expect("| 50,", "| 60,", "rocksdb_wait is 50 by default, not 60")
        self.expect("| ON |", "| OFF |", "rocksdb_detect is ON by default, not OFF")
        self.expect("`./#rocksdb`", "`./rocksdb`",
                    "rocksdb_datadir is ./#rocksdb by default, not `./rocksdb`")

    def test_no_default_is_found_unless_setting_it_is_a_command(self) -> None:
        self.expect("0, dynamic |", "dynamic |", "rocksdb_cache is 0 by default, not dynamic")
        self.expect("_flush` | dynamic", "_flush` | OFF, dynamic")
        self.expect("_flush` | dynamic", "_flush` | ON, dynamic",
                    "rocksdb_flush is OFF by default, not ON")

    def test_a_variable_that_is_said_to_be_dynamic_or_not_is_found(self) -> None:
        self.expect("ON |", "ON, dynamic |", "rocksdb_detect is not dynamic")
        self.expect("0, dynamic |", "0 |", "rocksdb_cache is dynamic")

    def test_another_scope_is_found(self) -> None:
        self.expect(", per session", "", "rocksdb_wait has the scope SESSION")
        self.expect("0, dynamic |", "0, dynamic, per session |",
                    "rocksdb_cache has the scope GLOBAL")


class DifferencesOfAServer(unittest.TestCase):
    """What a server says of its variables, against the table."""

    def setUp(self) -> None:
        self.settings = settings_table.read(_TABLE)
        self.rows = [list(setting.columns()) for setting in self.settings]

    def expect(self, *sentences: str) -> None:
        self.assertEqual(list(settings_table.server_problems(self.rows, self.settings)),
                         list(sentences))

    def test_columns_are_the_words_of_the_server(self) -> None:
        self.assertEqual(self.settings[1].columns(),
                         ("ROCKSDB_CACHE", "GLOBAL", "NO", "0", "0", "18446744073709551615", "1024",
                          "Memory, in bytes"))
        self.assertEqual(self.settings[3].columns(),
                         ("ROCKSDB_DETECT", "GLOBAL", "YES", "ON", None, None, None,
                          "Find (all) of them, if any"))

    def test_a_server_that_agrees_is_left_alone(self) -> None:
        self.expect()

    def test_another_value_in_any_column_is_found(self) -> None:
        for place, column in enumerate(settings_table.COLUMNS[1:], 1):
            with self.subTest(column):
                was, self.rows[2][place] = self.rows[2][place], "7"
                self.expect(f"ROCKSDB_WAIT: {column} is 7, in the table {was}")
                self.rows[2][place] = was

    def test_a_variable_that_only_one_of_them_has_is_found(self) -> None:
        self.rows[4][0] = "ROCKSDB_DRAIN"
        self.expect("the table has no ROCKSDB_DRAIN", "the server has no ROCKSDB_FLUSH")


class TheGuide(unittest.TestCase):
    """What is checked in."""

    def test_it_agrees(self) -> None:
        settings = settings_table.read(settings_table.TABLE.read_text())
        guide = settings_table.GUIDE.read_text()
        self.assertEqual(list(settings_table.guide_problems(guide, settings)), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
