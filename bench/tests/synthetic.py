"""Records of trials that nobody measured, for tests of what is said of them."""

from __future__ import annotations

from collections.abc import Mapping

from lab.results import Results, TrialRecord
from lab.study import Size, Study


def record(cell: str = "cell", setup: str = "innodb", block: int = 1, *,
           axes: Mapping[str, float | str] | None = None, problems: tuple[str, ...] = (),
           seconds: tuple[float, ...] = (), **values: float) -> TrialRecord:
    """A stored trial with these values."""
    return TrialRecord("study", cell, setup, block, dict(axes or {}),
                       f"2026-11-21T10:{block:02}:00", values=dict(values),
                       seconds=list(seconds), problems=list(problems))


def rates(**by_setup: float | list[float]) -> Results:
    """One cell: `per_second` of setups, a number for one block or a list for several."""
    trials = []
    for setup, given in by_setup.items():
        found = given if isinstance(given, list) else [given]
        trials += [record(setup=setup, block=block, per_second=value)
                   for block, value in enumerate(found, 1)]
    return Results(trials)


class Anything(dict):
    """Values of a trial that has every metric anybody asks for; remembers which these were."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value
        self.asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> float:
        self.asked.add(name)
        return self.value

    def get(self, name, default=None):
        return self[name]


class AnyDetail(dict):
    """Details in which every statement was done, on data of scale 1."""

    def __missing__(self, name: str) -> object:
        return {"scale": 1, "counts": Anything(100)}.get(name, "done in 1.0 s")


def measured(study: Study, size: Size, left_out: str = "") -> Results:
    """A run of the study in which each setup has a throughput of its own."""
    trials = []
    for cell in study.cells(size):
        for number, setup in enumerate(cell.setups, 1):
            for block in range(1, study.blocks(size) + 1):
                trial = TrialRecord(study.name, cell.name, setup.name, block, dict(cell.axes),
                                    f"{block}")
                trial.values, trial.details = Anything(number * 10.0 + block), AnyDetail()
                if cell.axes.get("pushdown") == "off":
                    trial.values["entries_tried"] = 0
                if setup.engine.value != left_out:
                    trials.append(trial)
    return Results(trials)
