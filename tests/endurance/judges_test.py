"""The judges of the endurance run see what they are there to see, each by a planted violation."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from tests.endurance import _judges
from tests.endurance._figures import Figures, markdown
from tests.endurance._judges import MIB, Directory, IndexSpace, MemoryLimits, Sample
from tests.endurance._xa import XaJournal

LIMITS = MemoryLimits(ceiling=900 * MIB, growth=50 * MIB, warm_up=600)


def life(resident: list[int], files: list[int] | None = None, server: str = "source",
         incarnation: int = 1) -> list[Sample]:
    """One sample every 300 s."""
    return [Sample(server, incarnation, 300.0 * number, size * MIB,
                   (files or [100] * len(resident))[number], 30)
            for number, size in enumerate(resident)]


class Log(unittest.TestCase):
    def test_expected_lines(self) -> None:
        self.assertEqual([], _judges.log_problems(
            "2026-11-25  3:00:00 0 [Note] InnoDB: Starting crash recovery from LSN=1\n"
            "2026-11-25  3:00:00 5 [Warning] Aborted connection 5 to db\n"
            "2026-11-25  3:00:00 5 [ERROR] Slave I/O: error reconnecting to master 'a@b:1'\n"))

    def test_error(self) -> None:
        self.assertEqual(1, len(_judges.log_problems(
            "2026-11-25  3:00:00 0 [ERROR] RocksDB: an index has no table\n")))

    def test_damage_in_a_warning(self) -> None:
        for line in ("[Warning] RocksDB: Corruption: checksum mismatch", "Assertion `a' failed",
                     "[ERROR] mysqld got signal 11 ;", "ERROR: AddressSanitizer: heap-use-after"):
            self.assertEqual(1, len(_judges.log_problems(line + "\n")), line)


class Memory(unittest.TestCase):
    def test_flat(self) -> None:
        self.assertEqual([], _judges.memory_problems(
            life([100, 300, 400, 410, 400, 430, 405, 410, 415]), LIMITS))

    def test_warm_up_may_grow(self) -> None:
        self.assertEqual([], _judges.memory_problems(life([100, 400, 800, 805, 800]), LIMITS))

    def test_peak_is_no_leak(self) -> None:
        self.assertEqual([], _judges.memory_problems(
            life([100, 200, 300, 300, 300, 300, 300, 700, 310]), LIMITS))

    def test_leak(self) -> None:
        problems = _judges.memory_problems(
            life([100, 200, 300, 320, 340, 360, 380, 400, 420, 440]), LIMITS)
        self.assertIn("bytes grow", problems[0])

    def test_each_start_counts_alone(self) -> None:
        self.assertEqual([], _judges.memory_problems(
            [*life([100, 300, 300, 300]), *life([100, 500, 500, 500], incarnation=2)], LIMITS))

    def test_ceiling(self) -> None:
        self.assertIn("more than 900", _judges.memory_problems(life([100, 901]), LIMITS)[0])

    def test_files(self) -> None:
        problems = _judges.memory_problems(
            life([300] * 8, [100, 100, 100, 100, 200, 300, 400, 500]), LIMITS)
        self.assertIn("open files grow", problems[0])


class Space(unittest.TestCase):
    def found(self, state: str, table: str = "db/t", *, is_undecided: bool = False) -> list[str]:
        row = IndexSpace(7, "default", state, table, "PRIMARY", 1000, is_undecided)
        return _judges.space_problems([row], {"db/t", "db/p#P#p0"})

    def test_well(self) -> None:
        self.assertEqual([], self.found("in use"))
        self.assertEqual([], self.found("in use", "db/p#P#p0"))
        self.assertEqual([], self.found("dropped", "", is_undecided=True))

    def test_leaks(self) -> None:
        self.assertIn("belongs to nobody", self.found("unknown", "")[0])
        self.assertIn("not given back", self.found("dropped", "")[0])
        self.assertIn("being built", self.found("building")[0])
        self.assertIn("does not exist", self.found("in use", "db/gone")[0])
        self.assertIn("has left", self.found("in use", "db/#sql-alter-1-2")[0])

    def test_directory(self) -> None:
        well = Directory(tables=120 * MIB, logs=50 * MIB, other=MIB, live=100 * MIB)
        self.assertEqual([], _judges.directory_problems(well, 100 * MIB))
        for wrong in (Directory(400 * MIB, 0, 0, 100 * MIB), Directory(0, 101 * MIB, 0, 0),
                      Directory(0, 0, 100 * MIB, 0)):
            self.assertEqual(1, len(_judges.directory_problems(wrong, 100 * MIB)), wrong)

    def test_compacted(self) -> None:
        self.assertEqual([], _judges.compacted_problems([(100 * MIB, 1000)]))
        self.assertEqual([], _judges.compacted_problems([(100 * MIB, 1000), (210 * MIB, 2000)]))
        self.assertEqual(1, len(_judges.compacted_problems([(100 * MIB, 1000),
                                                            (300 * MIB, 1000)])))


class Invariants(unittest.TestCase):
    def test_sums(self) -> None:
        self.assertEqual([], _judges.sum_problems("t", {"a": (2, 10), "b": (2, 10)}))
        self.assertEqual(1, len(_judges.sum_problems("t", {"a": (2, 10), "b": (2, 9)})))
        self.assertEqual(2, len(_judges.sum_problems("t", {"a": (2, 9), "b": (2, 9)}, (2, 10))))

    def test_xa_well(self) -> None:
        known = {"a": _judges.PREPARED, "b": _judges.COMMITTED, "c": _judges.ROLLED_BACK,
                 "d": _judges.COMMITTING, "e": _judges.BEGUN, "f": _judges.ONE_PHASE,
                 "g": _judges.ONE_PHASE}
        self.assertEqual([], _judges.xa_problems(known, {"a", "d"}, {"b", "f"}))
        self.assertEqual([], _judges.xa_problems(known, {"a", "e"}, {"b", "d"}))

    def test_xa_violations(self) -> None:
        for state, prepared, logged, problem in (
                (_judges.PREPARED, False, False, "prepared and lost"),
                (_judges.PREPARED, True, True, "its row is visible"),
                (_judges.COMMITTED, False, False, "its row is not there"),
                (_judges.COMMITTED, True, False, "prepared again"),
                (_judges.COMMITTING, False, False, "its row is not there"),
                (_judges.ROLLED_BACK, False, True, "its row is there"),
                (_judges.ROLLING_BACK, False, True, "its row is there"),
                (_judges.BEGUN, False, True, "its row is there")):
            found = _judges.xa_problems({"x": state}, {"x"} if prepared else set(),
                                        {"x"} if logged else set())
            self.assertEqual(1, len(found), state)
            self.assertIn(problem, found[0])
        self.assertIn("no client knows", _judges.xa_problems({}, {"x"}, set())[0])


class Files(unittest.TestCase):
    def test_figures_are_read_again(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.json"
            self.assertIsNone(Figures.load(path))
            figures = Figures(7, {"scale": 1.0}, load_seconds=3.5)
            figures.counts["transactions bank"] += 2
            figures.save(path)
            self.assertEqual(figures, Figures.load(path))
            self.assertIn("| transactions bank | 2 |", markdown(figures))

    def test_xa_journal_is_read_again(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "xa"
            journal = XaJournal(1, path)
            for number, state in ((1, _judges.PREPARED), (2, _judges.COMMITTED)):
                journal.note(number, state)
            with path.open("a") as file:
                file.write("3")  # half a line
            again = XaJournal(1, path)
            self.assertEqual({1: _judges.PREPARED, 2: _judges.COMMITTED}, again.states)
            self.assertEqual([2], again.forget())
            self.assertEqual((2, _judges.PREPARED), (XaJournal(1, path).last,
                                                     XaJournal(1, path).states[1]))


if __name__ == "__main__":
    unittest.main()
