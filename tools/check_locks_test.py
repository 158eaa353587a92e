#!/usr/bin/python3
"""Plants violations of every kind in a small source tree; check_locks.py must find them."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

from check_locks import PAGE, RANKS, violations

_ROWS = ("| `Engine::mutex_` | tables | one is opened |\n",
         "| `Shard::latch` | queues of keys | a key is locked |\n")
_HEAD = "# Mutexes\n\n| mutex | guards | held while |\n|---|---|---|\n"


class PlantedViolations(unittest.TestCase):
    """Each test changes a tree that obeys the rules."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.plant(RANKS, 'BASALT_MUTEX(kEngine, "Engine::mutex_", "tables")\n'
                          'BASALT_MUTEX(kShard, "Shard::latch",\n'
                          '             "queues of keys")')
        self.plant(PAGE, _HEAD + "".join(_ROWS))
        self.plant("src/base/mutex.h", "class Mutex { std::mutex mutex_; };")
        self.plant("src/engine/engine.h", "class Engine {\n  Mutex mutex_{MutexRank::kEngine};\n"
                                          "  int tables_ BASALT_GUARDED_BY(mutex_) = 0;\n};")
        self.plant("src/lock/shard.h", "struct Shard { mutable Mutex latch{MutexRank::kShard}; };")

    def plant(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")

    def expect(self, *sentences: str) -> None:
        self.assertEqual(list(violations(self.root)), list(sentences))

    def test_a_tree_that_obeys_is_left_alone(self) -> None:
        self.expect()

    def test_a_mutex_without_a_row_is_found(self) -> None:
        self.plant(PAGE, _HEAD + _ROWS[0])
        self.expect("docs/locking.md: Shard::latch is missing")

    def test_a_row_without_a_mutex_is_found(self) -> None:
        self.plant(PAGE, _HEAD + "".join(_ROWS) + "| `Worker::mutex_` | tasks | always |")
        self.expect("docs/locking.md: there is no mutex Worker::mutex_")

    def test_rows_in_another_order_are_found(self) -> None:
        self.plant(PAGE, _HEAD + _ROWS[1] + _ROWS[0])
        self.expect("docs/locking.md: Shard::latch is where Engine::mutex_ belongs by its rank")

    def test_a_row_that_tells_otherwise_what_is_guarded_is_found(self) -> None:
        self.plant(PAGE, _HEAD + _ROWS[0].replace("tables", "chairs") + _ROWS[1])
        self.expect("docs/locking.md: Engine::mutex_ guards 'chairs', in "
                    "src/base/mutex_ranks.def 'tables'")

    def test_a_page_without_the_table_is_found(self) -> None:
        self.plant(PAGE, "# Mutexes")
        self.expect("docs/locking.md: there is no table of mutexes")

    def test_a_rank_that_no_mutex_has_is_found(self) -> None:
        self.plant("src/lock/shard.h", "struct Shard {};  // Mutex latch{MutexRank::kShard};")
        self.expect("src/base/mutex_ranks.def: no mutex has the rank kShard of Shard::latch")

    def test_a_rank_that_the_table_does_not_have_is_found(self) -> None:
        self.plant("src/wal/health.h", "class Health { Mutex mutex_{MutexRank::kHealth}; };")
        self.expect("src/wal/health.h: mutex_ has the rank kHealth, which "
                    "src/base/mutex_ranks.def does not have")

    def test_two_mutexes_of_one_rank_are_found(self) -> None:
        self.plant("src/engine/other.h", "class Engine { Mutex mutex_{MutexRank::kEngine}; };")
        self.expect("src/engine/other.h: mutex_ has the rank kEngine, as a mutex of "
                    "src/engine/engine.h has")

    def test_the_rank_of_another_mutex_is_found(self) -> None:
        self.plant("src/lock/shard.h", "struct Queue { Mutex latch{MutexRank::kShard}; };")
        self.expect("src/lock/shard.h: latch has the rank kShard, which is that of Shard::latch")

    def test_a_mutex_without_a_rank_is_found(self) -> None:
        for kind in ("std::mutex", "std::shared_mutex", "std::condition_variable",
                     "pthread_mutex_t"):
            with self.subTest(kind):
                self.plant("src/wal/health.h", f"class Health {{\n  {kind} one_;\n}};")
                self.expect(f"src/wal/health.h:2: {kind} has no rank; basalt::Mutex has")

    def test_those_of_tests_need_none(self) -> None:
        self.plant("src/wal/health_test.cc", '#include "wal/faulty_files.h"\nstd::mutex a;')
        self.plant("src/wal/test_files.h", "std::mutex b;")
        self.plant("src/wal/faulty_files.h", "std::mutex c;  // only tests include it")
        self.expect()

    def test_a_header_that_not_only_tests_include_is_no_test(self) -> None:
        self.plant("src/wal/health_test.cc", '#include "wal/files.h"')
        self.plant("src/wal/health.cc", '#include "wal/files.h"')
        self.plant("src/wal/files.h", "std::mutex c;")
        self.expect("src/wal/files.h:1: std::mutex has no rank; basalt::Mutex has")

    def test_a_comment_in_place_of_the_annotation_is_found(self) -> None:
        self.plant("src/wal/health.h", "int turns_;  // guarded by mutex_")
        self.expect("src/wal/health.h:1: what guards it is said by BASALT_GUARDED_BY")


class TheTree(unittest.TestCase):
    """What is checked in."""

    def test_it_obeys(self) -> None:
        self.assertEqual(list(violations(Path(__file__).resolve().parent.parent)), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
