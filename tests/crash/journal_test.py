"""The judge of the crash tests sees what it is there to see: losses, halves, lost updates."""

from __future__ import annotations

import unittest
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.journal import Attempt, Fate, Journal, Row, judge


def row(version: int, client: int, number: int, k: int = 0) -> Row:
    """A row with id 1."""
    return (1, version, client, number, k, "c", "pad")


def attempt(number: int, fate: Fate, version: int, changes: int = 1) -> Attempt:
    """A transaction of client 1 that changes the row with id 1."""
    return Attempt(1, number, {"t": Counter({1: changes})}, {"t": [row(version, 1, number)]},
                   fate=fate)


class Judge(unittest.TestCase):
    def judge(self, attempts: list[Attempt], history: set[int], stored: Row) -> list[str]:
        with TemporaryDirectory() as folder:
            journal = Journal(1, Path(folder) / "journal")
            journal.attempts = attempts
            found = {(1, number): 1 for number in history}
            return judge([journal], found, {"t": [stored]}).problems

    def test_all_is_well(self) -> None:
        attempts = [attempt(1, Fate.ACKNOWLEDGED, 2, changes=2), attempt(2, Fate.IN_DOUBT, 3)]
        self.assertEqual([], self.judge(attempts, {1, 2}, row(3, 1, 2)))
        self.assertEqual([], self.judge(attempts, {1}, row(2, 1, 1)))

    def test_lost_commit(self) -> None:
        problems = self.judge([attempt(1, Fate.ACKNOWLEDGED, 1)], set(), row(0, 0, 0))
        self.assertIn("lost", problems[0])

    def test_rolled_back_is_there(self) -> None:
        problems = self.judge([attempt(1, Fate.NOT_COMMITTED, 1)], {1}, row(1, 1, 1))
        self.assertIn("it is there", problems[0])

    def test_half(self) -> None:
        problems = self.judge([attempt(1, Fate.IN_DOUBT, 1)], {1}, row(0, 0, 0))
        self.assertIn("the last commit left", problems[0])
        problems = self.judge([attempt(1, Fate.IN_DOUBT, 1)], set(), row(1, 1, 1))
        self.assertIn("not committed", problems[0])

    def test_lost_update(self) -> None:
        attempts = [attempt(1, Fate.ACKNOWLEDGED, 1), attempt(2, Fate.ACKNOWLEDGED, 1)]
        problems = self.judge(attempts, {1, 2}, row(1, 1, 2))
        self.assertIn("a lost update", problems[0])

    def test_missing_version(self) -> None:
        problems = self.judge([attempt(1, Fate.ACKNOWLEDGED, 2)], {1}, row(2, 1, 1))
        self.assertIn("versions [1] of 2", problems[0])


if __name__ == "__main__":
    unittest.main()
