"""Where our answers are not InnoDB's, and why that is right."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

_ALL = ("RU", "RC", "RR", "SI", "SER")
_WITH_GAPS = ("RR", "SI", "SER")


@dataclass(frozen=True)
class Known:
    """A documented difference: the cases that show it, each with the levels at which it does."""

    title: str
    reason: str
    cases: Sequence[tuple[str, Collection[str]]]

    def covers(self, case: str, level: str) -> bool:
        return any(name == case and level in levels for name, levels in self.cases)


KNOWN = (
    Known("Uncommitted changes are never read",
          "READ UNCOMMITTED reads what is committed, as READ COMMITTED does: changes are in their "
          "transaction's own memory until it commits.",
          (("G0", ("RU",)), ("G1a", ("RU",)), ("G1b", ("RU",)), ("G1c", ("RU",)), ("OTV", ("RU",)),
           ("PMP write", ("RU",)), ("gap: next number", ("RU",)),
           ("INSERT ... SELECT: changed source", ("RU",)), ("autocommit read", ("RU",)),
           ("read in a transaction", ("RU",)), ("behind changes: same column", ("RU",)),
           ("behind changes: other column", ("RU",)), ("behind changes: DELETE", ("RU",)))),
    Known("Ranges are locked exactly",
          "A locking read locks the range of keys that its condition asks for, to its bounds. "
          "InnoDB locks whole gaps between existing rows, and often the row behind the range as "
          "well. So an INSERT waits if it would add a row to what was read, and never otherwise; "
          "what InnoDB makes wait beyond that does not wait here.",
          (("gap: beyond the bound", _WITH_GAPS), ("gap: before the bound", _WITH_GAPS),
           ("gap: next row", _WITH_GAPS), ("gap: empty range", _WITH_GAPS),
           ("gap: both insert", _WITH_GAPS), ("gap: secondary, neighbour", _WITH_GAPS),
           ("gap: unique, found", _WITH_GAPS), ("missing: neighbour", _WITH_GAPS),
           ("missing: different", _WITH_GAPS))),
    Known("A missing key is locked like a row",
          "Who looks for a key with FOR UPDATE and does not find it holds it, and the next one "
          "waits. InnoDB lets both pass, and then neither can insert without a deadlock.",
          (("missing: both", _WITH_GAPS),)),
    Known("An upgrade goes first",
          "Who holds a row in share mode and wants to change it does not wait behind others that "
          "only want it. InnoDB puts it behind them, which is a deadlock at once.",
          (("upgrade", _ALL), ("P2 locking", ("SER",)), ("P2 own change", ("SER",)))),
    Known("Waiting inserts of one key are let go one by one",
          "When an INSERT is undone and several others wait with the same key, the first of them "
          "goes on. InnoDB gives all of them a shared lock first, and all but one end in a "
          "deadlock.",
          (("insert: three, rolled back", _ALL),)),
    Known("The key of an undone INSERT stays locked",
          "Locks stay until the transaction ends when a statement fails or is undone to a "
          "savepoint; here also those of new rows.",
          (("savepoint: insert", _ALL), ("failed statement", _ALL))),
    Known("What was inserted and taken back is gone",
          "A row that its transaction has inserted and deleted, or an index entry that it has "
          "moved on, leaves nothing that others wait for. In InnoDB it stays, marked as deleted.",
          (("delete: own new row", _ALL), ("delete: own moved entry", _ALL))),
    Known("A scan waits for new rows before it locks the range",
          "So whoever is inserting rows there goes on, and then the scan sees all of them. InnoDB "
          "has locked a part of the range by then: a row that is inserted there is a deadlock, or "
          "is passed over at READ COMMITTED.",
          (("insert: before a waiting scan", _ALL),)),
    Known("A locking read always locks the row",
          "InnoDB locks entries of the secondary index alone when the statement needs no more "
          "than that index, so that other columns of the row may be changed.",
          (("DELETE by subquery", _ALL),)),
)


def known(case: str, level: str) -> Known | None:
    """The documented difference that a case shows at a level, if there is one."""
    return next((each for each in KNOWN if each.covers(case, level)), None)
