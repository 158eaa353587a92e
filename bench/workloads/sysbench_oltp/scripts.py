"""sysbench's OLTP scripts, and what each leaves of the rows."""

from __future__ import annotations

import dataclasses
import enum


class RowsAfter(enum.Enum):
    """Which ids are there after a script has run."""

    SAME = "the same"
    MORE = "the same and more"
    FEWER = "some of them"


@dataclasses.dataclass(frozen=True)
class Script:
    """What the laboratory must know of a script. `unit` is what one event does."""

    unit: str = "transaction"
    rows_after: RowsAfter = RowsAfter.SAME
    changes_k: bool = False
    needs_one_table: bool = False

    def leaves_no_more_than(self, other: Script) -> bool:
        """Whether a check that expects the changes of `other` is right after this script too."""
        return (self.rows_after in (RowsAfter.SAME, other.rows_after)
                and (other.changes_k or not self.changes_k))


SCRIPTS = {
    "oltp_read_only": Script(),
    "oltp_write_only": Script(changes_k=True),
    "oltp_read_write": Script(changes_k=True),
    "oltp_point_select": Script("query"),
    "oltp_update_index": Script("update", changes_k=True),
    "oltp_update_non_index": Script("update"),
    "oltp_insert": Script("row", RowsAfter.MORE),
    "oltp_delete": Script("delete", RowsAfter.FEWER),
    "select_random_points": Script("query", needs_one_table=True),
    "select_random_ranges": Script("query", needs_one_table=True),
}
