"""Not a published experiment: what this engine chooses for itself, beside settings made by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from lab.cell import Cell
from lab.charts import Bars, Chart
from lab.judging import in_band
from lab.results import Results
from lab.setup import BASALT, MIB, Setup
from lab.study import Claim, Finding, Size, Study, Verdict
from lab.trial import Trial
from studies.goals import STUDY as GOALS

# What a user may expect: no more is to be won by trying.
_AT_LEAST = 0.85
# Cells whose names have this; a queue is cached, too.
_LEFT_OUT = ("cached", "steady", "queue")


def _setting(option: str, value: str) -> Setup:
    return BASALT.variant(f"basalt-{option}-{value}", f"{option} = {value}",
                          options=(f"--rocksdb-{option}={value}",))


_PAGED = _setting("direct-io", "OFF")


def _settings(memory: int) -> Sequence[Setup]:
    """Each option that decides speed, set to what somebody would try under a limit of bytes."""
    return (BASALT, _PAGED, _setting("max-background-jobs", "2"),
            _setting("block-cache-size", f"{memory * 3 // 8 // MIB}M"),
            _setting("write-buffer-size", f"{memory // 16 // MIB}M"),
            _setting("write-buffer-size", f"{memory // 128 // MIB}M"))


class ByHand(Study):
    """The cells of the study `goals`, with one option at a time set by hand."""

    name = "by_hand"
    title = "Chosen by the engine or by hand"
    is_published = False
    question = "Is anything to be won by setting options?"
    published = ("Nothing: it is this project's own goal that no setting is more than 15 % better "
                 "than none.")
    scaling = ("The cells of the study goals in which not all data are cached: there sizes decide "
               "nothing.")

    def cells(self, size: Size) -> Sequence[Cell]:
        if size is Size.SMOKE:
            return [dataclasses.replace(GOALS.cells(size)[0], setups=(BASALT, _PAGED))]
        return [dataclasses.replace(cell, setups=_settings(cell.limits.memory or 0))
                for cell in GOALS.cells(size)
                if not any(word in cell.name for word in _LEFT_OUT)]

    def measure(self, trial: Trial, cell: Cell) -> None:
        GOALS.measure(trial, cell)

    def claims(self) -> Sequence[Claim]:
        return [Claim(f"H{number}", f"{cell.name}: without settings, relative to the best of them",
                      f"at least x {_AT_LEAST}", _judge(cell))
                for number, cell in enumerate(self.cells(Size.FULL), 1)]

    def charts(self) -> Sequence[Chart]:
        return (Bars("Throughput", y_label="transactions or rows per second", is_log_y=True),)


def _judge(cell: Cell) -> Callable[[Results], Finding]:
    def judge(results: Results) -> Finding:
        rates = {setup.name: rate for setup in cell.setups[1:]
                 if (rate := results.median("per_second", cell.name, setup.name)) is not None}
        if not rates:
            return Finding(Verdict.NOT_COMPARABLE, "", reason="no setting was measured")
        best = max(rates, key=lambda name: rates[name])
        return in_band(results.ratio("per_second", cell.name, BASALT.name, best), _AT_LEAST, None,
                       f"beside {best}")
    return judge


STUDY = ByHand()
