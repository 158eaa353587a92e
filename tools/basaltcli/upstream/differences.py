"""Differences to expected results that are judged right: tests/upstream/differences.

A case whose result differs, and rightly so, has a difference file that the driver applies to the
expected result. So the rest of the case is still checked, and a change of the difference is seen.
The list says why the difference is right.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from basaltcli.upstream.rewrite import COMBINATION
from basaltcli.upstream.suites import FOLDER, Suite

_PLACE = FOLDER / "differences"


def file_of(suite: Suite, case: str) -> Path:
    """Where the difference of a case is, or would be."""
    return _PLACE / suite.name / f"{case}.rdiff"


def recorded(suite: Suite) -> set[str]:
    """The cases of a suite that have one."""
    return {path.stem for path in (_PLACE / suite.name).glob("*.rdiff")}


def install(suite: Suite, result_folder: Path) -> None:
    """Puts all of a suite's differences where the driver looks for them."""
    for case in recorded(suite):
        name = f"{_name_of_result(suite, case)}.rdiff"
        result_folder.mkdir(parents=True, exist_ok=True)
        (result_folder / name).write_bytes(file_of(suite, case).read_bytes())


def base_result(suite: Suite, result_folder: Path, case: str) -> Path | None:
    """The expected result that the driver would apply a difference of this case to.

    Of results for some of the case's combinations, the one for the most of them.
    """
    name, *combinations = _name_of_result(suite, case).split(",")
    found: list[tuple[int, str, Path]] = []
    for path in result_folder.glob(f"{name}*.result"):
        head, *own = path.stem.split(",")
        if head == name and set(own) <= set(combinations):
            found.append((-len(own), ",".join(sorted(own)), path))
    return min(found)[2] if found else None


def record(suite: Suite, case: str, expected: Path, seen: bytes) -> None:
    """Writes a case's difference: what turns the expected result into the seen one."""
    done = subprocess.run(["diff", "--text", "--unified", "--label", f"{case}.result", "--label",
                           f"{case}.reject", str(expected), "-"],
                          input=seen, capture_output=True, check=False)
    path = file_of(suite, case)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(done.stdout)


def _name_of_result(suite: Suite, case: str) -> str:
    """What the driver calls the result of a case: with the combination that all cases have."""
    if suite.overlay or suite.combinations:
        return case
    name, *combinations = case.split(",")
    return ",".join([name, COMBINATION, *combinations])
