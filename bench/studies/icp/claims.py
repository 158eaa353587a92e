"""What the article says, and how a run's trials are judged by it."""

from __future__ import annotations

from collections.abc import Sequence

from lab.judging import cell, ratio_claim
from lab.results import Results, TrialRecord
from lab.study import Claim, Finding, Verdict
from workloads.q19 import expected

WARM_ON, WARM_OFF = "in memory, pushdown", "in memory, no pushdown"
COLD_ON, COLD_OFF = "from disk, pushdown", "from disk, no pushdown"
NO_HINT = "in memory, no hint"
WRONG_INDEX = "i_l_suppkey_partkey"

# The counters' agreement that the acceptance bands ask for, in per cent.
_AGREEMENT = 3.0


def claims() -> Sequence[Claim]:
    """In the order of the article."""
    return (
        _off_over_on("2.11", "In memory the query takes up to twice as long without pushdown",
                     "x 2", "query_s", WARM_OFF, WARM_ON, at_least=1.2),
        _off_over_on("2.12", "From the disk it takes many times as long", "78 min, 2 min: x 39",
                     "query_s", COLD_OFF, COLD_ON, at_least=5),
        Claim("2.13a", "The server's counters are what the data and the condition imply",
              "entries read 579,426 and 4,514; tried 571,312, passed 4,541", _judge_counters),
        _off_over_on("2.13b", "Pages that were not in the cache", "540,805, 28,468: x 19",
                     "pages_missed", COLD_OFF, COLD_ON, at_least=5),
        _off_over_on("2.13c", "Bytes read", "9.49 GB, 1.67 GB: x 5.7 (the text's 8 is wrong)",
                     "read_kb_per_unit", COLD_OFF, COLD_ON, at_least=3),
        Claim("2.14", "Without FORCE INDEX the optimizer takes the shorter, wrong index",
              "so it did", _judge_optimizer),
        Claim("2.15", "With pushdown most of the cache stays free", "28 % used", _judge_cache))


def _off_over_on(name: str, statement: str, published: str, metric: str, off: str, on: str, *,
                 at_least: float) -> Claim:
    """A claim on InnoDB without pushdown, in terms of the same with it."""
    return ratio_claim(name, statement, published, cell(off), metric=metric, setup="innodb",
                       base="innodb", base_cell=cell(on), at_least=at_least)


def _judge_counters(results: Results) -> Finding:
    trials = [trial for trial in results.trials if "counters_off_percent" in trial.values]
    rivals = [trial for trial in trials if trial.setup != "basalt"]
    if not rivals:
        return Finding(Verdict.NOT_COMPARABLE, "", reason="nothing was counted")
    counted = _counted([trial for trial in rivals if trial.setup == rivals[0].setup])
    if not counted:
        return Finding(Verdict.NOT_COMPARABLE, "", reason="only one of pushdown and no pushdown "
                       "was measured")
    worst = max(trial.values["counters_off_percent"] for trial in rivals)
    return Finding(
        Verdict.REPRODUCED if worst <= _AGREEMENT else Verdict.NOT_REPRODUCED, counted,
        _counted([trial for trial in trials if trial.setup == "basalt"]),
        f"at most {worst:.1f} % from what the generated rows imply, over all engines and cells; "
        + _chance(rivals[0]))


def _counted(trials: Sequence[TrialRecord]) -> str:
    """The counters of one setup with pushdown and without."""
    on = next((trial.values for trial in trials if trial.values.get("entries_tried")), None)
    off = next((trial.values for trial in trials if not trial.values.get("entries_tried")), None)
    if on is None or off is None:
        return ""
    return (f"entries read {off['entries_read']:,.0f} and {on['entries_read']:,.0f}; "
            f"tried {on['entries_tried']:,.0f}, passed {on['entries_passed']:,.0f}")


def _chance(trial: TrialRecord) -> str:
    """How far the generated rows are from the column rules' average."""
    formula, made = expected(trial.details["scale"]), trial.details["counts"]
    return (f"the rows have {made['entries']:,.0f} entries and {made['matches']:,.0f} matches, on "
            f"average it would be {formula.entries:,.0f} and {formula.matches:,.0f}")


def _judge_optimizer(results: Results) -> Finding:
    chosen = {trial.setup: trial.details["index"] for trial in results.trials
              if trial.cell == NO_HINT}
    if "innodb" not in chosen:
        return Finding(Verdict.NOT_COMPARABLE, "", reason="the cell was not measured")
    is_wrong = chosen["innodb"] == WRONG_INDEX
    rivals = ", ".join(f"{setup}: {index or 'no index'}" for setup, index in sorted(chosen.items())
                       if setup != "basalt")
    return Finding(Verdict.REPRODUCED if is_wrong else Verdict.NOT_REPRODUCED, rivals,
                   chosen.get("basalt", ""), f"the wrong one is {WRONG_INDEX}")


def _judge_cache(results: Results) -> Finding:
    with_icp, without = (results.median("cache_used_percent", name, "innodb")
                         for name in (COLD_ON, COLD_OFF))
    if with_icp is None or without is None:
        return Finding(Verdict.NOT_COMPARABLE, "", reason="the cells were not measured")
    own = results.median("cache_used_percent", COLD_ON, "basalt")
    # A pool that the rows do not fill without pushdown proves nothing.
    is_so = with_icp <= 60 and without >= 1.5 * with_icp
    return Finding(Verdict.REPRODUCED if is_so else Verdict.NOT_REPRODUCED,
                   f"{with_icp:.0f} % used with pushdown, {without:.0f} % without",
                   f"{own:.0f} % with pushdown" if own is not None else "",
                   "expected at most 60 %, and half as much again without")
