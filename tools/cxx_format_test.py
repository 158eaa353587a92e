#!/usr/bin/python3
"""Plants files of good and bad layout; cxx_format.py must name the bad ones and mend them."""

from __future__ import annotations

import shutil
import tempfile
import unittest
from pathlib import Path

from cxx_format import findings, fix

_STYLE = Path(__file__).resolve().parent.parent / ".clang-format"
_GOOD = "namespace a {\n\nint f(int b) { return b; }\n\n}  // namespace a\n"


class CxxFormat(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        shutil.copy(_STYLE, self.root)

    def plant(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def test_a_good_file_is_no_finding(self) -> None:
        self.plant("src/a.cc", _GOOD)
        self.plant("src/a.h", "#pragma once\n")
        self.assertEqual(list(findings(self.root)), [])

    def test_the_first_line_that_differs_is_named(self) -> None:
        self.plant("src/a.cc", _GOOD.replace("(int b)", "( int b )"))
        self.plant("src/b.h", "#pragma once\n\n\n\nint g();\n")
        self.plant("src/c.cc", _GOOD + "\n")
        self.assertEqual([finding.partition(" ")[0] for finding in findings(self.root)],
                         ["src/a.cc:3:", "src/b.h:3:", "src/c.cc:6:"])

    def test_only_cxx_is_looked_at(self) -> None:
        self.plant("src/a.py", "def  f( a ):\n    return a\n")
        self.assertEqual(list(findings(self.root)), [])

    def test_fix_mends_what_is_found(self) -> None:
        path = self.plant("src/a.cc", _GOOD.replace("(int b)", "( int b )"))
        fix(self.root)
        self.assertEqual(path.read_text(), _GOOD)
        self.assertEqual(list(findings(self.root)), [])


if __name__ == "__main__":
    unittest.main()
