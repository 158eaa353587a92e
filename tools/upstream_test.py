#!/usr/bin/python3
"""Tests of the runner of the server's own suites that need no server."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

from basaltcli.errors import BasaltError
from basaltcli.upstream import command, differences, results, runner, suites
from basaltcli.upstream.observer import made_tables
from basaltcli.upstream.results import Expectation, Outcome
from basaltcli.upstream.rewrite import Rewriter
from basaltcli.upstream.suites import Suite


class TemporaryFolder(unittest.TestCase):
    """A test with a directory of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class Rewriting(TemporaryFolder):
    rewriter = Rewriter(["InnoDB"])

    def test_the_engine_is_replaced_wherever_it_is_named(self) -> None:
        for text in (b"CREATE TABLE t (a INT) ENGINE=InnoDB;", b"let $engine= 'innodb';",
                     b"--default-storage-engine=InnoDB", b"not supported by INNODB."):
            with self.subTest(text=text):
                self.assertRegex(self.rewriter.text(text), b"(?s)^(?!.*(?i:innodb)).*ROCKSDB")

    def test_longer_names_keep_their_part(self) -> None:
        for text in (b"--source include/have_innodb.inc", b"--source suite/innodb/include/x.inc",
                     b"--source innodb.inc", b"SET GLOBAL innodb_fast_shutdown=0", b"--innodb",
                     b"--skip-innodb", b"SELECT * FROM mysql.innodb_table_stats"):
            with self.subTest(text=text):
                self.assertEqual(self.rewriter.text(text), text)

    def test_only_the_given_engines_are_replaced(self) -> None:
        text = b"ENGINE=MyISAM ENGINE=Aria"
        self.assertEqual(self.rewriter.text(text), text)
        self.assertEqual(Rewriter(["InnoDB", "MyISAM"]).text(text), b"ENGINE=ROCKSDB ENGINE=Aria")

    def test_the_table_of_positions_is_named_after_our_engine(self) -> None:
        self.assertEqual(self.rewriter.text(b"DROP TABLE mysql.gtid_slave_pos_InnoDB;"),
                         b"DROP TABLE mysql.gtid_slave_pos_ROCKSDB;")
        self.assertEqual(self.rewriter.text(b"gtid_slave_pos_innodb\tInnoDB"),
                         b"gtid_slave_pos_rocksdb\tROCKSDB")

    def test_text_in_any_character_set_passes(self) -> None:
        self.assertEqual(self.rewriter.text(b"\xe4\xff engine=innodb"), b"\xe4\xff engine=ROCKSDB")

    def test_the_lock_wait_timeout_becomes_ours_in_both_spellings(self) -> None:
        self.assertEqual(self.rewriter.text(b"SET innodb_lock_wait_timeout=1"),
                         b"SET rocksdb_lock_wait_timeout=1")
        self.assertEqual(self.rewriter.text(b"--loose-innodb-snapshot-isolation=OFF"),
                         b"--loose-rocksdb-snapshot-isolation=OFF")
        self.assertEqual(self.rewriter.text(b"innodb_deadlock_detected"),
                         b"innodb_deadlock_detected")
        self.assertEqual(self.rewriter.text(b"INNODB_SYS_FOREIGN_COLS, innodb_sys_foreign"),
                         b"rocksdb_SYS_FOREIGN_COLS, rocksdb_sys_foreign")
        self.assertEqual(self.rewriter.text(b"INNODB_SYS_TABLES"), b"INNODB_SYS_TABLES")
        self.assertIn("rocksdb-deadlock-detect=0",
                      self.rewriter.combinations("[OFF]\n--innodb-deadlock-detect=0\n"))
        self.assertEqual(self.rewriter.text(b"--loose-innodb-lock-wait-timeout=1"),
                         b"--loose-rocksdb-lock-wait-timeout=1")

    def test_options_of_a_suite_for_our_name_are_loose(self) -> None:
        rewriter = Rewriter([], is_for_our_name=True)
        for text, expected in (
                (b"--rocksdb_write_policy=x", b"--loose-rocksdb_write_policy=x"),
                (b"--skip-rocksdb-debug", b"--loose-skip-rocksdb-debug"),
                (b"--loose-enable-rocksdb_ddl", b"--loose-enable-rocksdb_ddl"),
                (b"SET rocksdb_max_row_locks=1", b"SET rocksdb_max_row_locks=1"),
                (b"ENGINE=InnoDB ENGINE=MyISAM", b"ENGINE=InnoDB ENGINE=MyISAM")):
            with self.subTest(text=text):
                self.assertEqual(rewriter.text(text), expected)
        self.assertEqual(self.rewriter.text(b"--rocksdb_x"), b"--rocksdb_x")

    def test_combinations_of_other_engines_go(self) -> None:
        text = ("[innodb]\ninnodb\ndefault-storage-engine=innodb\n\n"
                "[myisam]\nskip-innodb\ndefault-storage-engine=myisam\n[range]\n")
        self.assertEqual(self.rewriter.combinations(text),
                         "[rocksdb]\ninnodb\ndefault-storage-engine=ROCKSDB\n\n[range]\n")

    def test_a_copied_suite_has_the_results_of_our_combination(self) -> None:
        source = self.folder / "source"
        for name, text in (("t/alter.test", "engine=innodb"), ("r/alter,innodb.rdiff", "x"),
                           ("t/big_myisam.test", "x"), ("r/big_myisam.result", "x"),
                           ("r/big_myisam,innodb.rdiff", "x"), ("inc/a.inc", "eval engine=InnoDB"),
                           ("t/two.test", "innodb myisam"), ("r/two,innodb.result", "myisam")):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(text)
        target = self.folder / "target"
        Rewriter(["InnoDB", "MyISAM"]).copy(source, target, ["*_myisam"],
                                            {"two": ["InnoDB"]})
        self.assertEqual({str(path.relative_to(target)): path.read_text()
                          for path in target.rglob("*") if path.is_file()},
                         {"t/alter.test": "engine=ROCKSDB", "r/alter,rocksdb.rdiff": "x",
                          "inc/a.inc": "eval engine=ROCKSDB", "t/two.test": "ROCKSDB myisam",
                          "r/two,rocksdb.result": "myisam"})


class Proof(TemporaryFolder):
    def test_a_changed_id_on_any_server_is_a_proof(self) -> None:
        self.assertTrue(made_tables([256, 300], [256, 303]))
        self.assertTrue(made_tables([300], [270]))

    def test_no_change_and_no_answer_are_none(self) -> None:
        self.assertFalse(made_tables([256], [256]))
        self.assertFalse(made_tables([256], [0]))
        self.assertFalse(made_tables([None], [300]))
        self.assertFalse(made_tables([300], [None]))
        self.assertFalse(made_tables([], []))

    def test_a_pass_without_a_proof_does_not_count(self) -> None:
        run = runner.Run({"period": {"a": Outcome.PASSED, "b": Outcome.PASSED,
                                     "c": Outcome.FAILED, "d": Outcome.PASSED}})
        lines = [{"case": "period.a", "combinations": "rocksdb", "made_tables": True},
                 {"case": "period.b", "combinations": "rocksdb", "made_tables": False},
                 {"case": "other.d", "combinations": "", "made_tables": True}]
        lines = [{**line, "rejected": ""} for line in lines]
        path = self.folder / "observations"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        observed = runner.read_observations(path, [Suite("period")])
        runner.demand_proof(run, observed, ["period"])
        self.assertEqual(run.outcomes["period"],
                         {"a": Outcome.PASSED, "b": Outcome.NOT_OURS,
                          "c": Outcome.FAILED, "d": Outcome.NOT_OURS})

    def test_without_observations_nothing_is_proven(self) -> None:
        run = runner.Run({"period": {"a": Outcome.PASSED}})
        none = runner.read_observations(self.folder / "none", [Suite("period")])
        runner.demand_proof(run, none, ["period"])
        self.assertEqual(run.outcomes["period"], {"a": Outcome.NOT_OURS})

    def test_a_suite_that_asks_for_variables_needs_none(self) -> None:
        run = runner.Run({"rocksdb_sys_vars": {"a": Outcome.PASSED}})
        runner.demand_proof(run, [], [])
        self.assertEqual(run.outcomes["rocksdb_sys_vars"], {"a": Outcome.PASSED})


class Transcripts(TemporaryFolder):
    def read(self, *lines: str) -> runner.Run:
        transcript = runner.Transcript(
            [Suite("engines/funcs"), Suite("storage_engine/trx", overlay=True)], self.folder)
        for line in lines:
            transcript.consume(line)
        transcript.end()
        return transcript.run

    def test_results_of_one_and_of_several_workers(self) -> None:
        run = self.read("engines/funcs.in_char 'rocksdb'       [ pass ]     10",
                        "engines/funcs.in_set 'rocksdb,range' w2 [ pass ]     10",
                        "storage_engine/trx-basalt.xa       w1 [ skipped ]  needs a debug build",
                        "storage_engine/trx-basalt.old      w1 [ disabled ]  it is old")
        self.assertEqual(run.outcomes["engines/funcs"],
                         {"in_char": Outcome.PASSED, "in_set,range": Outcome.PASSED})
        self.assertEqual(run.outcomes["storage_engine/trx"],
                         {"xa": Outcome.SKIPPED, "old": Outcome.SKIPPED})
        self.assertEqual(run.comments["storage_engine/trx"]["xa"], "needs a debug build")

    def test_details_say_how_a_case_failed(self) -> None:
        run = self.read("engines/funcs.a 'rocksdb' [ fail ]", "-1", "+2",
                        "engines/funcs.b 'rocksdb' [ fail ]", "Server [mysqld.1] failed during "
                        "test run",
                        "engines/funcs.c 'rocksdb' [ fail ]  timeout after 240 seconds",
                        "Test case timeout after 240 seconds",
                        "-" * 74, "Server [mysqld.1] failed during test run")
        self.assertEqual(run.outcomes["engines/funcs"],
                         {"a": Outcome.FAILED, "b": Outcome.CRASHED, "c": Outcome.TIMED_OUT})
        self.assertIn("-1\n+2\n", (self.folder / "engines/funcs/a.txt").read_text())

    def test_other_suites_are_not_ours_to_judge(self) -> None:
        self.assertEqual(self.read("main.select [ fail ]").outcomes,
                         {"engines/funcs": {}, "storage_engine/trx": {}})


class Lists(TemporaryFolder):
    listed = {"good": Expectation("pass"), "other": Expectation("differs", "has another plan"),
              "racy": Expectation("timing", "looks a moment too early"),
              "debug": Expectation("skipped", "needs a debug build"),
              "later": Expectation("not_applicable", "foreign keys come later")}

    def surprises(self, **outcomes: Outcome) -> list[str]:
        return [str(surprise) for surprise in results.compare(self.listed, outcomes)]

    def test_what_is_as_listed_is_no_surprise(self) -> None:
        self.assertEqual([], self.surprises(good=Outcome.PASSED, other=Outcome.FAILED,
                                            debug=Outcome.SKIPPED, later=Outcome.FAILED))
        self.assertEqual([], self.surprises(later=Outcome.NOT_OURS))
        self.assertEqual([], self.surprises(racy=Outcome.PASSED))
        self.assertEqual([], self.surprises(racy=Outcome.FAILED))

    def test_both_directions_are_surprises(self) -> None:
        self.assertEqual(["good failed, listed as pass"], self.surprises(good=Outcome.FAILED))
        self.assertEqual(["other passed, listed as differs (has another plan)"],
                         self.surprises(other=Outcome.PASSED))
        self.assertEqual(1, len(self.surprises(later=Outcome.PASSED)))
        self.assertEqual(1, len(self.surprises(debug=Outcome.PASSED)))
        self.assertEqual(1, len(self.surprises(racy=Outcome.SKIPPED)))
        self.assertEqual(1, len(self.surprises(good=Outcome.NOT_OURS)))
        self.assertEqual(["new passed, and is not in the list"],
                         self.surprises(new=Outcome.PASSED))

    def test_a_crash_or_a_hang_is_never_expected(self) -> None:
        for case in self.listed:
            for outcome in (Outcome.CRASHED, Outcome.TIMED_OUT):
                self.assertEqual(1, len(self.surprises(**{case: outcome})), case)

    def test_after_a_complete_run_every_listed_case_has_run(self) -> None:
        found = results.compare(self.listed, {"good": Outcome.PASSED}, is_complete=True)
        self.assertEqual(["debug", "later", "other", "racy"], [surprise.case for surprise in found])

    def test_a_list_is_read_back_as_it_was_written(self) -> None:
        long = dict(self.listed, odd=Expectation("differs", 'a\\b "q" ' + "long words " * 30 + "."),
                    short=Expectation("differs", 'a\\b "q"'))
        path = self.folder / "list.toml"
        path.write_text(results.dump(long, "A list"))
        self.assertEqual(results.load(path), long)
        self.assertLess(max(map(len, path.read_text().splitlines())), 101)

    def test_a_reason_is_demanded(self) -> None:
        path = self.folder / "list.toml"
        path.write_text('[[differs]]\ncases = ["a"]\n')
        with self.assertRaisesRegex(BasaltError, "a has no reason"):
            results.load(path)
        listed = results.updated({}, {"a": Outcome.FAILED, "b": Outcome.PASSED}, {})
        self.assertEqual(["a"], results.unexplained(listed))

    def test_an_update_keeps_reasons_of_what_is_as_listed(self) -> None:
        outcomes = {"other": Outcome.FAILED, "later": Outcome.PASSED, "new": Outcome.SKIPPED}
        listed = results.updated(self.listed, outcomes, {"new": "needs a slave"})
        self.assertEqual(listed["other"], self.listed["other"])
        self.assertEqual(listed["later"], Expectation("pass"))
        self.assertEqual(listed["new"], Expectation("skipped", "needs a slave"))

    def test_only_applicable_cases_are_in_the_percentage(self) -> None:
        row = results.figures(self.listed, {
            "good": Outcome.PASSED, "other": Outcome.FAILED, "debug": Outcome.SKIPPED,
            "later": Outcome.FAILED, "none": Outcome.NOT_OURS})
        self.assertEqual((5, 2, 1, 2, 1, 50.0), (row.cases, row.not_applicable, row.skipped,
                                                 row.applicable, row.passed, row.percent))


class CheckedIn(unittest.TestCase):
    def test_every_suite_has_a_list_with_reasons(self) -> None:
        for suite in suites.load():
            with self.subTest(suite=suite.name):
                listed = results.load(suite.list_file)
                self.assertTrue(listed)
                self.assertEqual([], results.unexplained(listed))

    def test_only_cases_that_differ_have_differences(self) -> None:
        for suite in suites.load():
            listed = results.load(suite.list_file)
            for case in differences.recorded(suite):
                with self.subTest(case=f"{suite.name}.{case}"):
                    self.assertIn(listed[case].status, results.WITH_DIFFERENCE)

    def test_every_case_that_does_as_innodb_has_its_difference(self) -> None:
        for suite in suites.load():
            for case, expected in results.load(suite.list_file).items():
                if expected.status == "as_innodb":
                    with self.subTest(case=f"{suite.name}.{case}"):
                        self.assertIn(case, differences.recorded(suite))

    def test_the_quick_cases_pass(self) -> None:
        for suite in suites.load():
            listed = results.load(suite.list_file)
            for case in suite.quick:
                with self.subTest(case=f"{suite.name}.{case}"):
                    self.assertEqual("pass", listed[case].status)
        self.assertTrue(command.quick_cases())


if __name__ == "__main__":
    unittest.main()
