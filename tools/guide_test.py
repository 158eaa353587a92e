#!/usr/bin/python3
"""Every statement of the user guide has a test that would fail if it were false.

tests/clauses/_guide.toml has for each table row, list item and paragraph of docs/user-guide.md the
tests: a file, or "file: text" with a text that the file has; or why there can be none.
"""

from __future__ import annotations

import re
import tomllib
import unittest
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_GUIDE = _ROOT / "docs" / "user-guide.md"
_MAP = _ROOT / "tests" / "clauses" / "_guide.toml"


def units(page: str) -> list[str]:
    """Table rows, list items and paragraphs of a page, each on one line; no titles, no code."""
    page = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    found: list[str] = []
    is_open = False  # the next line goes on with the last unit
    lines = page.splitlines()
    for number, line in enumerate(lines):
        is_head = number + 1 < len(lines) and lines[number + 1].startswith("|--")
        if not line.strip() or line.startswith(("#", "|--")) or is_head:
            is_open = False
        elif line.startswith(("|", "- ")) or not is_open:
            found.append(line.strip())
            is_open = True
        else:
            found[-1] += " " + line.strip()
    return found


class GuideTest(unittest.TestCase):
    """The map against the guide and the tests."""

    def setUp(self) -> None:
        self.units = units(_GUIDE.read_text())
        self.entries = tomllib.loads(_MAP.read_text())["sentence"]

    def test_every_unit_of_the_guide_has_an_entry(self) -> None:
        for unit in self.units:
            with self.subTest(unit[:70]):
                self.assertTrue(any(entry["says"] in unit for entry in self.entries))

    def test_every_entry_is_in_the_guide_once(self) -> None:
        for entry in self.entries:
            with self.subTest(entry["says"]):
                self.assertEqual(1, sum(entry["says"] in unit for unit in self.units))

    def test_every_entry_names_tests_that_exist(self) -> None:
        for entry in self.entries:
            with self.subTest(entry["says"]):
                self.assertTrue(entry.get("tests") or entry.get("untested"))
            for test in entry.get("tests", []):
                file, _, text = test.partition(": ")
                with self.subTest(test):
                    self.assertTrue((_ROOT / file).is_file(), f"there is no {file}")
                    self.assertIn(text, (_ROOT / file).read_text())

    def test_rows_items_and_paragraphs_are_units(self) -> None:
        page = "# T\n\nA text\non two lines.\n\n| h |\n|---|\n| r |\n| s |\n\n- i\n  more\n- j\n"
        self.assertEqual(["A text on two lines.", "| r |", "| s |", "- i more", "- j"], units(page))


if __name__ == "__main__":
    unittest.main()
