#!/usr/bin/python3
"""Plants one finding of each kind; tidy.py must report exactly that."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import tidy


class Findings(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def found(self, name: str, text: str) -> list[str]:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return list(tidy.findings(self.root))

    def test_clean_files(self) -> None:
        self.assertEqual(self.found("a.cc", "int a;\n"), [])
        self.assertEqual(self.found("a.md", "# Title\n\n[b](b.md) `[c](c.md)`\n```\n# no\n```\n"
                                            "[web](https://x/)\n"),
                         ["a.md:3: link to b.md, which does not exist"])
        self.assertEqual(self.found("b.md", "# B\n\n## Two words\n\n[up](a.md#title)\n"
                                            "[here](#two-words)\n"), [])

    def test_lines(self) -> None:
        self.assertEqual(self.found("a.cc", "\tint a; \n" + "x" * 101 + "\n\n"),
                         ["a.cc:1: tab", "a.cc:1: space at the end of the line",
                          "a.cc:2: 101 characters, at most 100",
                          "a.cc: empty line at the end"])

    def test_merge_conflicts(self) -> None:
        text = "<" * 7 + " HEAD\nint a;\n" + "=" * 7 + "\nint b;\n" + ">" * 7 + " other\n"
        self.assertEqual(self.found("a.cc", text),
                         [f"a.cc:{line}: mark of a merge conflict" for line in (1, 3, 5)])

    def test_no_newline_at_the_end(self) -> None:
        self.assertEqual(self.found("a.py", "pass"), ["a.py: no newline at the end"])

    def test_titles(self) -> None:
        self.assertEqual(self.found("a.md", "# One\n\n# Two\n"),
                         ["a.md: 2 titles (lines beginning with '# '), a page has one"])

    def test_missing_heading(self) -> None:
        self.assertEqual(self.found("a.md", "# One\n\n[x](#two)\n"),
                         ["a.md:3: link to #two: the page has no such heading"])

    def test_results_are_not_checked(self) -> None:
        self.assertEqual(self.found("r/a.result", "a\tb \n"), [])


if __name__ == "__main__":
    unittest.main()
