"""Changes that no transaction of the TPC-C-like workload makes, one for each thing checked."""

from __future__ import annotations

from collections.abc import Iterator

from lab.workload import Damage
from workloads.tpcc import checks

# In each statement, # is the number of a set; all are about district 3 of warehouse 1.
_DISTRICT = "d_w_id = 1 AND d_id = 3"
_FIRST_ORDER = "o_w_id = 1 AND o_d_id = 3 AND o_id = 1"
_FIRST_LINE = "ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = 1 AND ol_number = 1"
_LAST = f"(SELECT d_next_o_id - 1 FROM district# WHERE {_DISTRICT})"

_DAMAGES = (
    ("(rows)", "DELETE FROM stock# WHERE s_w_id = 1 AND s_i_id = 3"),
    ("(check 1)", f"UPDATE district# SET d_ytd = d_ytd + 1 WHERE {_DISTRICT}"),
    ("(check 2)", f"UPDATE district# SET d_next_o_id = d_next_o_id + 1 WHERE {_DISTRICT}"),
    ("(check 3)", f"DELETE FROM new_orders# WHERE no_w_id = 1 AND no_d_id = 3 "
                  f"AND no_o_id = {_LAST} - 1"),
    ("(check 4)", f"DELETE FROM order_line# WHERE {_FIRST_LINE}"),
    ("(check 5)", f"UPDATE orders# SET o_carrier_id = NULL WHERE {_FIRST_ORDER}"),
    ("(check 7)", f"UPDATE order_line# SET ol_delivery_d = NULL WHERE {_FIRST_LINE}"),
    ("(check 8)", "UPDATE warehouse# SET w_ytd = w_ytd + 1 WHERE w_id = 1"),
    ("(check 9)", "UPDATE history# SET h_d_id = 4 WHERE h_w_id = 1 AND h_d_id = 3 LIMIT 1"),
    ("(check 10)", "UPDATE customer# SET c_balance = c_balance + 1, "
                   "c_ytd_payment = c_ytd_payment - 1 WHERE @sampled"),
    ("(check 12)", "UPDATE customer# SET c_ytd_payment = c_ytd_payment + 1 WHERE @sampled"),
)


def of(scale: checks.Scale) -> Iterator[Damage]:
    """The damages, in the last set."""
    customers = ", ".join(map(str, checks.sample(scale)))
    sampled = f"c_w_id = 1 AND c_d_id = 3 AND c_id IN ({customers})"
    for found_as, statement in _DAMAGES:
        yield Damage([statement.replace("@sampled", sampled).replace("#", str(scale.tables))],
                     found_as)
