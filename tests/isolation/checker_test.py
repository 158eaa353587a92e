"""The checker of histories finds every kind of anomaly that is planted, and none in a good one."""

from __future__ import annotations

import random
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.isolation._checker import FORBIDDEN, check, forbidden
from tests.isolation._graph import Graph
from tests.isolation._history import Append, Fate, History, Read, Transaction, load, save

Final = dict[str, tuple[int, ...]]


class Maker:
    """Makes a history, a step of a transaction at each moment."""

    def __init__(self, level: str = "SER") -> None:
        self._level = level
        self._clock = 0.0
        self._transactions: dict[int, Transaction] = {}

    def read(self, number: int, *, locking: bool = False, ranged: bool = False,
             **found: tuple[int, ...]) -> Maker:
        transaction, now = self._step(number)
        transaction.operations.append(Read(dict(found), now, now + 0.5, locking, ranged))
        return self

    def add(self, number: int, key: str, value: int, *, undone: bool = False) -> Maker:
        transaction, now = self._step(number)
        transaction.operations.append(Append(key, value, now, now + 0.5, undone))
        return self

    def commit(self, *numbers: int, fate: Fate = Fate.COMMITTED) -> Maker:
        for number in numbers:
            transaction, now = self._step(number)
            transaction.held_until, transaction.ended, transaction.fate = now, now + 0.5, fate
        return self

    def abort(self, number: int) -> Maker:
        return self.commit(number, fate=Fate.ABORTED)

    def history(self, **final: tuple[int, ...]) -> History:
        return History(self._level, list(self._transactions.values()), dict(final))

    def kinds(self, **final: tuple[int, ...]) -> set[str]:
        """Kinds of all anomalies."""
        return {each.kind for each in check(self.history(**final))}

    def forbidden(self, **final: tuple[int, ...]) -> set[str]:
        """Kinds of those that the level forbids."""
        return {each.kind for each in forbidden(self._level, check(self.history(**final)))}

    def _step(self, number: int) -> tuple[Transaction, float]:
        self._clock += 1
        if number not in self._transactions:
            self._transactions[number] = Transaction(number, number, began=self._clock)
        return self._transactions[number], self._clock


class GoodHistories(unittest.TestCase):
    def test_transactions_one_after_the_other(self) -> None:
        maker = Maker()
        maker.read(1, L1=()).add(1, "L1", 11).read(1, L1=(11,)).commit(1)
        maker.read(2, L1=(11,), locking=True).add(2, "S1", 21).commit(2)
        maker.read(3, L1=(11,), S1=(21,)).commit(3)
        self.assertEqual(set(), maker.kinds(L1=(11,), S1=(21,)))

    def test_an_unknown_outcome_may_be_either(self) -> None:
        maker = Maker().add(1, "L1", 11).commit(1, fate=Fate.UNKNOWN)
        self.assertEqual(set(), maker.kinds(L1=(11,)))
        self.assertEqual(set(), maker.kinds(L1=()))

    def test_what_is_undone_to_a_savepoint_is_not_there(self) -> None:
        maker = Maker().add(1, "L1", 11, undone=True).add(1, "L1", 12).commit(1)
        self.assertEqual(set(), maker.kinds(L1=(12,)))

    def test_a_snapshot_may_be_old(self) -> None:
        maker = Maker("RR").read(1, L1=()).add(2, "L1", 21).commit(2).read(1, L1=()).commit(1)
        self.assertEqual(set(), maker.kinds(L1=(21,)))

    def test_a_history_is_the_same_from_its_file(self) -> None:
        history = Maker().read(1, L1=(), S1=(5,)).add(1, "L1", 11).commit(1).history(L1=(11,))
        with TemporaryDirectory() as folder:
            save(history, Path(folder) / "history")
            self.assertEqual(history, load(Path(folder) / "history"))


class ReadsThatMustNotBe(unittest.TestCase):
    def test_aborted(self) -> None:
        maker = Maker("RC").add(1, "L1", 11).read(2, L1=(11,)).abort(1).commit(2)
        self.assertEqual({"G1a"}, maker.forbidden(L1=()))

    def test_aborted_in_the_end(self) -> None:
        self.assertIn("G1a", Maker("RC").add(1, "L1", 11).abort(1).forbidden(L1=(11,)))

    def test_undone_to_a_savepoint(self) -> None:
        maker = Maker("RC").add(1, "S1", 11, undone=True).read(2, S1=(11,)).commit(1, 2)
        self.assertEqual({"G1a"}, maker.forbidden(S1=()))

    def test_never_written(self) -> None:
        self.assertEqual({"G1a"}, Maker("RC").read(1, L1=(99,)).commit(1).forbidden())

    def test_unknown_and_gone(self) -> None:
        maker = Maker("RC").add(1, "L1", 11).read(2, L1=(11,)).commit(2)
        self.assertEqual({"vanished"}, maker.commit(1, fate=Fate.UNKNOWN).forbidden(L1=()))

    def test_intermediate(self) -> None:
        maker = Maker("RC").add(1, "L1", 11).read(2, L1=(11,)).add(1, "L1", 12).commit(1, 2)
        self.assertIn("G1b", maker.forbidden(L1=(11, 12)))

    def test_a_part_of_a_set(self) -> None:
        maker = Maker("RC").add(1, "S1", 11).add(1, "S1", 12).read(2, S1=(12,)).commit(1, 2)
        self.assertIn("G1b", maker.forbidden(S1=(11, 12)))

    def test_without_the_own_change(self) -> None:
        maker = Maker("RC").add(1, "L1", 11).read(1, L1=()).commit(1)
        self.assertIn("internal", maker.forbidden(L1=(11,)))

    def test_another_behind_the_own_change(self) -> None:
        maker = Maker("RC").add(1, "L1", 11).add(2, "L1", 21).read(1, L1=(11, 21)).commit(2, 1)
        self.assertIn("internal", maker.forbidden(L1=(11, 21)))

    def test_stale(self) -> None:
        for level in FORBIDDEN:
            maker = Maker(level).add(1, "L1", 11).commit(1).read(2, L1=()).commit(2)
            self.assertIn("stale read", maker.forbidden(L1=(11,)), level)

    def test_stale_set(self) -> None:
        maker = Maker("RR").add(1, "S1", 11).commit(1).read(2, S1=()).commit(2)
        self.assertIn("stale read", maker.forbidden(S1=(11,)))

    def test_fuzzy(self) -> None:
        maker = Maker("RR").read(1, L1=()).add(2, "L1", 21).commit(2).read(1, L1=(21,)).commit(1)
        self.assertIn("fuzzy read", maker.forbidden(L1=(21,)))

    def test_phantom_of_a_locking_read(self) -> None:
        maker = Maker("RR").read(1, S1=(), locking=True).add(2, "S1", 21).commit(2)
        maker.read(1, S1=(21,), locking=True).commit(1)
        self.assertEqual({"fuzzy read", "locked change"}, maker.forbidden(S1=(21,)))

    def test_other_order(self) -> None:
        maker = Maker("RC").add(1, "L1", 11).add(2, "L1", 21).commit(1, 2)
        maker.read(3, L1=(21, 11)).commit(3)
        self.assertIn("order", maker.forbidden(L1=(11, 21)))


class WhatIsLost(unittest.TestCase):
    def test_acknowledged(self) -> None:
        self.assertEqual({"lost write"}, Maker("RC").add(1, "L1", 11).commit(1).forbidden(L1=()))

    def test_half(self) -> None:
        maker = Maker("RC").add(1, "L1", 11).add(1, "S1", 12).commit(1, fate=Fate.UNKNOWN)
        self.assertEqual({"half"}, maker.forbidden(L1=(11,), S1=()))

    def test_twice(self) -> None:
        self.assertIn("duplicate", Maker("RC").add(1, "L1", 11).commit(1).forbidden(L1=(11, 11)))


class Locks(unittest.TestCase):
    def test_a_locked_list_is_changed(self) -> None:
        maker = Maker("RC").add(3, "L1", 31).commit(3).read(1, L1=(31,), locking=True)
        maker.add(2, "L1", 21).commit(2).commit(1)
        self.assertEqual({"locked change"}, maker.forbidden(L1=(31, 21)))

    def test_a_locked_range_gets_a_row(self) -> None:
        for level, expected in (("RC", set()), ("RR", {"locked change"})):
            maker = Maker(level).read(1, S1=(), locking=True).add(2, "S1", 21).commit(2).commit(1)
            self.assertEqual(expected, maker.forbidden(S1=(21,)), level)

    def test_an_aborted_transaction_holds_its_locks_too(self) -> None:
        maker = Maker("RR").read(1, L1=(), locking=True).add(2, "L1", 21).commit(2).abort(1)
        self.assertIn("locked change", maker.forbidden(L1=(21,)))


class Cycles(unittest.TestCase):
    def test_dirty_write(self) -> None:
        maker = Maker("RC").add(1, "L1", 11).add(2, "L1", 21).add(2, "L2", 22).add(1, "L2", 12)
        self.assertIn("G0", maker.commit(1, 2).forbidden(L1=(11, 21), L2=(22, 12)))

    def test_circular_information_flow(self) -> None:
        maker = Maker("RC").add(1, "L1", 11).add(2, "L2", 21).read(1, L2=(21,)).read(2, L1=(11,))
        self.assertIn("G1c", maker.commit(1, 2).forbidden(L1=(11,), L2=(21,)))

    def test_read_skew(self) -> None:
        for level, kind in (("SI", "G-single"), ("SER", "G-single"), ("RR", "snapshot skew")):
            maker = Maker(level).read(1, L1=()).add(2, "L1", 21).add(2, "L2", 22).commit(2)
            maker.read(1, L2=(22,)).commit(1)
            self.assertIn(kind, maker.forbidden(L1=(21,), L2=(22,)), level)

    def test_read_skew_between_statements_is_allowed_at_read_committed(self) -> None:
        maker = Maker("RC").read(1, L1=()).add(2, "L1", 21).add(2, "L2", 22).commit(2)
        maker.read(1, L2=(22,)).commit(1)
        self.assertEqual(set(), maker.forbidden(L1=(21,), L2=(22,)))
        self.assertIn("G-single", maker.kinds(L1=(21,), L2=(22,)))

    def test_read_skew_in_one_statement(self) -> None:
        maker = Maker("RC").add(2, "L1", 21).add(2, "L2", 22).read(1, L1=(), L2=(22,))
        self.assertIn("snapshot skew", maker.commit(2, 1).forbidden(L1=(21,), L2=(22,)))

    def test_read_skew_of_sets(self) -> None:
        maker = Maker("RR").read(1, S1=()).add(2, "S1", 21).add(2, "S2", 22).commit(2)
        maker.read(1, S2=(22,)).commit(1)
        self.assertIn("snapshot skew", maker.forbidden(S1=(21,), S2=(22,)))

    def test_lost_update(self) -> None:
        for level, expected in (("RR", set()), ("SI", {"lost update", "G-single"})):
            maker = Maker(level).read(1, L1=()).read(2, L1=()).add(1, "L1", 11).commit(1)
            maker.add(2, "L1", 21).commit(2)
            self.assertEqual(expected, maker.forbidden(L1=(11, 21)), level)
            self.assertIn("lost update", maker.kinds(L1=(11, 21)))

    def test_write_skew(self) -> None:
        maker = Maker().read(1, L1=(), L2=()).read(2, L1=(), L2=())
        maker.add(1, "L1", 11).add(2, "L2", 21).commit(1, 2)
        self.assertEqual({"G2-item"}, maker.forbidden(L1=(11,), L2=(21,)))

    def test_write_skew_of_ranges(self) -> None:
        maker = Maker().read(1, S1=()).read(2, S2=()).add(1, "S2", 11).add(2, "S1", 21)
        self.assertEqual({"G2"}, maker.commit(1, 2).forbidden(S1=(21,), S2=(11,)))

    def test_write_skew_of_a_range_of_lists(self) -> None:
        maker = Maker().read(1, L1=(), L2=(), ranged=True).read(2, L1=(), L2=(), ranged=True)
        maker.add(1, "L1", 11).add(2, "L2", 21).commit(1, 2)
        self.assertEqual({"G2"}, maker.forbidden(L1=(11,), L2=(21,)))

    def test_a_reader_that_makes_a_cycle(self) -> None:
        maker = Maker().read(1, L2=()).add(2, "L2", 21).commit(2).read(3, L1=(), L2=(21,)).commit(3)
        maker.add(1, "L1", 11).commit(1)
        self.assertEqual({"G2-item"}, maker.forbidden(L1=(11,), L2=(21,)))

    def test_a_cycle_of_four(self) -> None:
        maker = Maker()
        for number in range(1, 5):
            maker.read(number, **{f"L{number % 4 + 1}": ()})
        for number in range(1, 5):
            maker.add(number, f"L{number}", number * 10)
        maker.commit(1, 2, 3, 4)
        self.assertEqual({"G2-item"}, maker.forbidden(L1=(10,), L2=(20,), L3=(30,), L4=(40,)))

    def test_real_time(self) -> None:
        # T2 is before T1 by what was read, and began after T1 was acknowledged.
        maker = Maker().add(1, "L1", 11).commit(1).add(2, "L2", 21).commit(2)
        maker.read(3, L1=(), L2=(21,)).commit(3)
        self.assertLessEqual({"G-single", "stale read"}, maker.forbidden(L1=(11,), L2=(21,)))


class NamedAnomalies(unittest.TestCase):
    """A smallest history of each anomaly that the checker Elle has a name for.

    "process": a client's own transactions are out of order; "realtime": those of several clients,
    of which one was acknowledged before the other began.
    """

    def assert_kind(self, kind: str, maker: Maker, **final: tuple[int, ...]) -> None:
        self.assertIn(kind, maker.forbidden(**final))

    def test_g0_process_and_realtime(self) -> None:
        for level in FORBIDDEN:
            maker = Maker(level).add(1, "L1", 11).commit(1).add(2, "L1", 21).commit(2)
            self.assert_kind("G0", maker, L1=(21, 11))

    def test_g1c_process_and_realtime(self) -> None:
        for level in FORBIDDEN:
            maker = Maker(level).read(1, L1=(21,)).commit(1).add(2, "L1", 21).commit(2)
            self.assert_kind("G1c", maker, L1=(21,))

    def test_g1a_and_dirty_update(self) -> None:
        maker = Maker("RC").add(1, "L1", 11).add(2, "L1", 21).abort(1).commit(2)
        self.assert_kind("G1a", maker, L1=(11, 21))

    def test_dirty_read_of_what_is_committed_later(self) -> None:
        maker = Maker("RC").add(1, "L1", 11).read(2, L1=(11,)).commit(2, 1)
        self.assertEqual({"dirty read"}, maker.forbidden(L1=(11,)))

    def test_g_single_process_and_realtime(self) -> None:
        maker = Maker("SI").add(1, "L1", 11).commit(1).read(2, L1=()).add(2, "L2", 21).commit(2)
        self.assert_kind("stale read", maker, L1=(11,), L2=(21,))
        self.assert_kind("G-single", maker, L1=(11,), L2=(21,))

    def test_g_single_through_real_time_and_a_commit_of_unknown_outcome(self) -> None:
        maker = Maker("RC").add(1, "L1", 11).add(1, "L2", 12).commit(1, fate=Fate.UNKNOWN)
        maker.read(2, L2=(12,)).commit(2).add(3, "L3", 31).commit(3)
        maker.read(4, L1=(), L3=(31,)).commit(4)
        self.assert_kind("snapshot skew", maker, L1=(11,), L2=(12,), L3=(31,))

    def test_g_nonadjacent(self) -> None:
        for level, expected in (("RR", set()), ("SI", {"G-nonadjacent"}),
                                ("SER", {"G-nonadjacent"})):
            maker = Maker(level).read(1, L1=()).read(2, L9=()).read(3, L2=()).read(4, L9=())
            maker.add(2, "L1", 21).add(2, "L3", 22).commit(2).add(3, "L3", 31)
            maker.add(4, "L2", 41).add(4, "L4", 42).commit(4).add(1, "L4", 11).commit(1, 3)
            final = {"L1": (21,), "L2": (41,), "L3": (22, 31), "L4": (42, 11)}
            self.assertEqual(expected, maker.forbidden(**final), level)

    def test_g_nonadjacent_realtime(self) -> None:
        maker = Maker("SI").read(1, L1=()).read(4, L9=()).add(2, "L1", 21).commit(2)
        maker.read(3, L2=()).add(3, "L5", 31)
        maker.add(4, "L2", 41).add(4, "L4", 42).commit(4).add(1, "L4", 11)
        self.assertEqual({"G-nonadjacent"}, maker.commit(1, 3).forbidden(
            L1=(21,), L2=(41,), L4=(42, 11), L5=(31,)))

    def test_long_fork(self) -> None:
        for level in FORBIDDEN:
            maker = Maker(level).add(1, "L1", 11).add(2, "L2", 21)
            for number in (3, 4):
                maker.commit(number - 2)
                maker.read(number, **({"L1": (11,), "L2": ()} if number == 3
                                      else {"L1": (), "L2": (21,)}))
            self.assert_kind("snapshot skew", maker.commit(3, 4), L1=(11,), L2=(21,))

    def test_long_fork_of_commits_that_were_not_acknowledged(self) -> None:
        for level in FORBIDDEN:
            maker = Maker(level).read(9, L9=()).add(1, "L1", 11).add(2, "L2", 21)
            for number in (1, 2):
                maker.commit(number)
            acknowledged = maker.history().transactions
            for transaction in acknowledged[1:]:
                transaction.ended += 100.0
            maker.read(3, L1=(11,), L2=()).read(4, L1=(), L2=(21,)).abort(3).abort(4)
            self.assertEqual({"snapshot skew"}, maker.forbidden(L1=(11,), L2=(21,)), level)

    def test_long_fork_of_sets(self) -> None:
        maker = Maker("RC").add(1, "S1", 11).add(2, "S1", 21).read(5, S1=()).commit(1, 2)
        for transaction in maker.history().transactions:
            transaction.ended += 100.0
        maker.read(3, S1=(11,)).read(4, S1=(21,)).commit(3, 4)
        self.assertEqual({"snapshot skew"}, maker.forbidden(S1=(11, 21)))

    def test_two_snapshots_of_one_transaction_may_follow_each_other(self) -> None:
        maker = Maker("RC").read(1, L1=(), L2=()).add(2, "L1", 21).commit(2)
        maker.read(1, L1=(21,), L2=()).add(3, "L2", 31).commit(3).read(1, L1=(21,), L2=(31,))
        self.assertEqual(set(), maker.commit(1).forbidden(L1=(21,), L2=(31,)))

    def test_g2_item_realtime(self) -> None:
        maker = Maker().read(1, L1=()).add(2, "L1", 21).commit(2)
        maker.read(3, L2=()).commit(3).add(1, "L2", 11).commit(1)
        self.assert_kind("G2-item", maker, L1=(21,), L2=(11,))

    def test_g2_process(self) -> None:
        maker = Maker().read(1, S1=()).add(2, "S1", 21).commit(2)
        maker.read(3, S2=()).commit(3).add(1, "S2", 11).commit(1)
        self.assert_kind("G2", maker, S1=(21,), S2=(11,))

    def test_gsia_reads_what_commits_after_its_begin(self) -> None:
        maker = Maker("SI").read(2, L2=()).add(1, "L1", 11).add(1, "L2", 12).commit(1)
        maker.read(2, L1=(11,)).add(2, "L3", 21).commit(2)
        self.assert_kind("G-single", maker, L1=(11,), L2=(12,), L3=(21,))

    def test_gsib_misses_what_was_committed_before_its_begin(self) -> None:
        maker = Maker("SI").add(1, "L1", 11).commit(1).read(2, L1=()).commit(2)
        self.assert_kind("stale read", maker, L1=(11,))

    def test_incompatible_order(self) -> None:
        maker = Maker("RC").add(1, "L1", 11).add(2, "L1", 21).commit(1, 2)
        maker.read(3, L1=(11, 21)).read(4, L1=(21, 11)).commit(3, 4)
        self.assert_kind("order", maker, L1=(11, 21))

    def test_a_later_comment_without_the_earlier_one(self) -> None:
        for level in FORBIDDEN:
            maker = Maker(level).read(9, L9=())
            maker.add(1, "S1", 11).commit(1).add(2, "S1", 21).commit(2)
            maker.read(9, S1=(21,)).commit(9)
            self.assertIn("snapshot skew" if level != "SER" else "G-single",
                          maker.kinds(S1=(11, 21)), level)


class Planted(unittest.TestCase):
    """Anomalies that are planted into long, good histories."""

    def test_an_unplanted_history_is_good(self) -> None:
        for seed in range(5):
            maker, final = self.serial(seed)
            self.assertEqual(set(), maker.kinds(**final), seed)

    def test_each_is_found(self) -> None:
        plants = {
            "G1a": lambda m: m.add(901, "L1", -1).read(902, L1=(-1,)).abort(901).commit(902),
            "G0": lambda m: m.add(901, "L901", -1).add(902, "L901", -2).add(902, "L902", -3)
            .add(901, "L902", -4).commit(901, 902),
            "G-single": lambda m: m.read(901, L901=()).add(902, "L901", -1).add(902, "L902", -3)
            .commit(902).read(901, L902=(-3,)).commit(901),
            "G2": lambda m: m.read(901, S901=()).read(902, S902=()).add(901, "S902", -1)
            .add(902, "S901", -2).commit(901, 902),
            "lost write": lambda m: m.add(901, "L903", -1).commit(901),
        }
        ends: dict[str, Final] = {"G0": {"L901": (-1, -2), "L902": (-3, -4)},
                                  "G-single": {"L901": (-1,), "L902": (-3,)},
                                  "G2": {"S901": (-2,), "S902": (-1,)}}
        for kind, plant in plants.items():
            for seed in range(3):
                maker, final = self.serial(seed)
                plant(maker)
                self.assertIn(kind, maker.forbidden(**{**final, **ends.get(kind, {})}))

    def serial(self, seed: int) -> tuple[Maker, Final]:
        """Transactions one after the other."""
        chance = random.Random(seed)
        maker, state, value = Maker(), {key: () for key in ("L1", "L2", "L3", "S1", "S2")}, 0
        for number in range(1, 200):
            for _ in range(chance.randint(1, 4)):
                key = chance.choice(list(state))
                if chance.random() < 0.5:
                    maker.read(number, **{key: state[key]})
                else:
                    value += 1
                    state[key] = (*state[key], value)
                    maker.add(number, key, value)
            maker.commit(number)
        return maker, state


def anything(_: int) -> bool:
    return True


class Graphs(unittest.TestCase):
    def test_components(self) -> None:
        graph: Graph[int] = Graph()
        for start, end in ((1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 4), (6, 1)):
            graph.add(start, end, "x", "")
        found = sorted(sorted(component) for component in graph.components(("x",)))
        self.assertEqual([[1, 2, 3], [4, 5]], found)
        self.assertEqual([], graph.components(("y",)))

    def test_shortest_path(self) -> None:
        graph: Graph[int] = Graph()
        for start, end in ((1, 2), (2, 3), (3, 4), (1, 4)):
            graph.add(start, end, "x", "")
        self.assertEqual([1, 4], graph.path(1, 4, ("x",), anything))
        self.assertIsNone(graph.path(4, 1, ("x",), anything))

    def test_components_agree_with_reachability(self) -> None:
        for seed in range(50):
            chance = random.Random(seed)
            graph: Graph[int] = Graph()
            for _ in range(chance.randint(5, 40)):
                graph.add(chance.randint(1, 15), chance.randint(1, 15), "x", "")
            expected = set()
            for one in range(1, 16):
                same = frozenset(
                    two for two in range(1, 16) if graph.path(one, two, ("x",), anything)
                    and graph.path(two, one, ("x",), anything))
                if len(same) > 1:
                    expected.add(same)
            self.assertEqual(expected, set(map(frozenset, graph.components(("x",)))), seed)


if __name__ == "__main__":
    unittest.main()
