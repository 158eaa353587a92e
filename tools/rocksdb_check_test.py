#!/usr/bin/python3
"""Tests of ./basalt rocksdb-check, as far as they need no RocksDB."""

from __future__ import annotations

import unittest

from basaltcli import rocksdb_check
from basaltcli.errors import BasaltError
from basaltcli.rocksdb_check import Tally

_LIST = """
[[programs]]
why = "iterators"
names = ["db_iterator_test"]

[[programs]]
why = "memtables"
names = ["db_memtable_test"]

[[exempt]]
tests = ["DBTest.Sizes", "All/DBTest.Hints/*"]
without = ["memtable"]
reason = "it counts a skip list's bytes"

[[exempt]]
tests = ["DBTest.WriteTime"]
reason = "a patch leaves it out"
"""


class Lists(unittest.TestCase):
    def test_the_list_in_the_repository_can_be_read(self) -> None:
        checklist = rocksdb_check.read_list(rocksdb_check.LIST.read_text())
        self.assertGreater(len(checklist.programs), 10)
        self.assertEqual(len(set(checklist.programs)), len(checklist.programs))
        for exemption in checklist.exemptions:
            self.assertTrue(exemption.reason)

    def test_an_unknown_part_is_an_error(self) -> None:
        with self.assertRaisesRegex(BasaltError, "skiplist"):
            rocksdb_check.read_list(_LIST.replace('"memtable"', '"skiplist"'))

    def test_names_with_an_asterisk_cover_all_that_begin_so(self) -> None:
        checklist = rocksdb_check.read_list(_LIST)
        self.assertEqual(checklist.programs, ("db_iterator_test", "db_memtable_test"))
        for name in ("DBTest.Sizes", "All/DBTest.Hints/0", "All/DBTest.Hints/13"):
            exemption = checklist.exemption(name)
            self.assertTrue(exemption and exemption.parts() == "cache,compression", name)
        failing = checklist.exemption("DBTest.WriteTime")
        self.assertTrue(failing and failing.parts() is None)
        self.assertIsNone(checklist.exemption("DBTest.SizesOfAll"))


class Output(unittest.TestCase):
    def test_listed_tests_get_the_names_of_their_suites(self) -> None:
        listing = ("Note: Google Test filter = x\n"
                   "DBTest.\n  Get\n  DISABLED_Put\n"
                   "All/DBTest.  # TypeParam = int\n  Hints/0  # GetParam() = (1, false)\n")
        self.assertEqual(rocksdb_check.test_names(listing), ["DBTest.Get", "All/DBTest.Hints/0"])

    def test_each_test_that_ended_is_known_and_the_one_that_did_not(self) -> None:
        ended, running = rocksdb_check.outcomes([
            "[ RUN      ] DBTest.Get", "noise", "[       OK ] DBTest.Get (12 ms)",
            "[ RUN      ] All/DBTest.Hints/0",
            "[  FAILED  ] All/DBTest.Hints/0, where GetParam() = (1, false) (3 ms)",
            "[ RUN      ] DBTest.Io", "[  SKIPPED ] DBTest.Io (0 ms)",
            "[ RUN      ] DBTest.Crash", "Received signal 6 (Aborted)"])
        self.assertEqual(ended, {"DBTest.Get": "OK", "All/DBTest.Hints/0": "FAILED",
                                 "DBTest.Io": "SKIPPED"})
        self.assertEqual(running, "DBTest.Crash")

    def test_the_summary_at_the_end_of_a_program_is_no_result(self) -> None:
        ended, running = rocksdb_check.outcomes([
            "[ RUN      ] DBTest.Get", "[  FAILED  ] DBTest.Get (12 ms)",
            "[----------] 1 test from DBTest (12 ms total)", "[==========] 1 test ran.",
            "[  PASSED  ] 0 tests.", "[  FAILED  ] 1 test, listed below:",
            "[  FAILED  ] DBTest.Get"])
        self.assertEqual((ended, running), ({"DBTest.Get": "FAILED"}, None))

    def test_batches_have_all_names_once(self) -> None:
        self.assertEqual(list(rocksdb_check.batches(["a", "b", "c"], 2)), [["a", "b"], ["c"]])


class Judgement(unittest.TestCase):
    def judge(self, results: dict[str, str]) -> Tally:
        tally = Tally()
        rocksdb_check.judge(rocksdb_check.read_list(_LIST), "db_test", results, tally)
        return tally

    def test_what_is_not_listed_must_pass(self) -> None:
        tally = self.judge({"DBTest.Get": "OK", "DBTest.Put": "FAILED", "DBTest.Io": "SKIPPED"})
        self.assertEqual((tally.passed, tally.not_run), (1, 1))
        self.assertEqual(tally.surprises, ["db_test: DBTest.Put: FAILED"])

    def test_what_does_not_hold_with_a_part_must_pass_without_it(self) -> None:
        tally = self.judge({"DBTest.Sizes": "OK", "All/DBTest.Hints/0": "FAILED"})
        self.assertEqual(tally.passed, 1)
        self.assertEqual(tally.surprises, ["db_test: All/DBTest.Hints/0: FAILED"])

    def test_an_exempt_test_runs_on_all_parts_but_those_it_does_not_hold_with(self) -> None:
        for without, parts in (((), None), (("memtable",), "cache,compression"),
                               (("cache", "compression"), "memtable")):
            self.assertEqual(rocksdb_check.Exemption((), without, "").parts(), parts)

    def test_what_is_listed_to_fail_must_fail(self) -> None:
        self.assertEqual(self.judge({"DBTest.WriteTime": "FAILED"}).as_listed, 1)
        self.assertIn("DBTest.WriteTime passes",
                      self.judge({"DBTest.WriteTime": "OK"}).surprises[0])


if __name__ == "__main__":
    unittest.main()
