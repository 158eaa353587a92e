#!/usr/bin/python3
"""Plants differences of every kind from the table of settings, in a guide and in a server."""

from __future__ import annotations

import re
import sys
import unittest

from basaltcli import settings_table
from basaltcli.settings_table import Setting, TableError, Use

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
_KNOWN_FROM_MYROCKS = '''
BASALT_ROCKSDB_SETTING(ahead, Number, Global, applied_by(apply_rocksdb_option),
                       0, between(0, kNoLimit),
                       "Bytes", Database, "read_ahead")
BASALT_SETTING(hash, Path, Global, kShown, nullptr, none, "Revision")
BASALT_UNUSED_SETTING(ratio, Real, Global, kAtStart, 0.5, between(0, 1), "it has one form")
BASALT_UNUSED_SETTING(seconds, Int, Session, kDynamic, -1, between(-3600, kIntMax),
                      "rows do not expire")
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
                                          None, "Where files are", Use.OBEYED))
        self.assertEqual(cache, Setting("rocksdb_cache", "GLOBAL", True, False, "0",
                                        ("0", str(2**64 - 1), "1024"), "Memory, in bytes",
                                        Use.CHOSEN))
        self.assertEqual(wait, Setting("rocksdb_wait", "SESSION", True, False, "50",
                                       ("1", "2048", "0"), "Seconds", Use.OBEYED))
        self.assertEqual(detect, Setting("rocksdb_detect", "GLOBAL", False, False, "ON", None,
                                         "Find (all) of them, if any", Use.OBEYED))
        self.assertEqual(flush, Setting("rocksdb_flush", "GLOBAL", True, True, "OFF", None,
                                        "Flushes", Use.OBEYED))

    def test_settings_known_from_myrocks_are_read(self) -> None:
        ahead, shown, ratio, seconds = settings_table.read(_KNOWN_FROM_MYROCKS, is_in_guide=False)
        self.assertEqual((ahead.use, ahead.option, ahead.is_dynamic),
                         (Use.ROCKSDB, "read_ahead", True))
        self.assertEqual((shown.default, shown.is_dynamic), (None, False))
        self.assertEqual(ratio.columns(), ("ROCKSDB_RATIO", "GLOBAL", "YES", "0.500000", "0", "1",
                                           None, "No effect: it has one form"))
        self.assertEqual((seconds.default, seconds.limits), ("-1", ("-3600", "2147483647", "0")))

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


class ThePage(unittest.TestCase):
    """Of settings known from MyRocks."""

    PAGE = "\n\n".join(f"<!-- made from settings.def: {mark} -->\n\n| variable |\n|---|\n| old |"
                       for mark in ("obeyed", "RocksDB", "unused")) + "\n"

    def test_each_setting_is_in_the_table_of_what_becomes_of_it(self) -> None:
        settings = settings_table.read(_KNOWN_FROM_MYROCKS, is_in_guide=False)
        page = settings_table.updated_page(self.PAGE, settings + settings_table.read(_TABLE))
        obeyed, rocksdb, unused = page.split("\n\n<!--")
        self.assertIn("| `rocksdb_hash` |  | Revision |\n", obeyed + "\n")
        self.assertNotIn("rocksdb_wait", obeyed)
        self.assertIn("| `rocksdb_ahead` | `0`, dynamic | Bytes |\n", rocksdb + "\n")
        self.assertIn("| `rocksdb_seconds` | `-1`, dynamic, per session | rows do not expire |\n",
                      unused)
        self.assertNotIn("old", page)
        self.assertEqual(page, settings_table.updated_page(page, settings))

    def test_a_page_without_a_mark_is_no_silent_gap(self) -> None:
        with self.assertRaisesRegex(TableError, "unused"):
            settings_table.updated_page(self.PAGE.replace(": unused", ""), [])


class Effects(unittest.TestCase):
    """Whatever is obeyed is set in a test."""

    def test_every_setting_with_an_effect_is_set_in_an_sql_test(self) -> None:
        cases = settings_table.layout.ROOT / "tests" / "mtr" / "basalt" / "t"
        said = "\n".join(path.read_text() for suffix in ("test", "opt")
                         for path in cases.glob(f"*.{suffix}"))
        words = set(re.findall(r"rocksdb[-_][\w-]+", said.replace("rocksdb-", "rocksdb_")))
        words = {word.replace("-", "_") for word in words}
        for setting in settings_table.load():
            if setting.use is not Use.NONE and not setting.is_in_guide:
                with self.subTest(setting.name):
                    self.assertIn(setting.name, words)


class TheDocuments(unittest.TestCase):
    """What is checked in."""

    def test_the_guide_agrees(self) -> None:
        guide = settings_table.GUIDE.read_text()
        self.assertEqual(list(settings_table.guide_problems(guide, settings_table.load())), [])

    def test_the_page_is_that_of_the_table(self) -> None:
        page = settings_table.PAGE.read_text()
        self.assertEqual(settings_table.updated_page(page, settings_table.load()), page,
                         "run ./basalt python tools/settings_page.py")


if __name__ == "__main__":
    sys.exit(unittest.main())
