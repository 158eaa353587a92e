#!/usr/bin/python3
"""Plants functions, classes and files of every length; lengths.py must find those too long."""

from __future__ import annotations

import unittest
from pathlib import Path

from lengths import Limits, Piece, findings, pieces, sparse

_LIMITS = {"function": 5, "class": 8, "file": 20}


def found(exempt: dict[str, int] | None = None, **sources: str) -> list[str]:
    named = {name.replace("_cc", ".cc").replace("_py", ".py"): text
             for name, text in sources.items()}
    return list(findings(Limits(_LIMITS, exempt or {}), named))


def function(lines: int, head: str = "int f() {") -> str:
    return "\n".join([head, *["  g();"] * (lines - 2), "}"]) + "\n"


class Lengths(unittest.TestCase):
    def named(self, text: str, name: str = "a.cc") -> list[Piece]:
        return [piece for piece in pieces(Path(name), text) if piece.kind != "file"]

    def test_a_function_at_the_limit_is_no_finding(self) -> None:
        self.assertEqual(found(a_cc=function(5)), [])
        self.assertEqual(found(a_cc=function(6)),
                         ["a.cc:1: the function f has 6 lines, at most 5"])

    def test_every_form_of_a_function_is_one(self) -> None:
        for head, name in (("Status Table::open(int a) const {", "Table::open"),
                           ("Table::Table(int a)\n    : a_(a), b_{} {", "Table::Table"),
                           ("bool operator==(const A& b) {", "operator=="),
                           ("TEST_F(ATest, AName) {", "ATest.AName"),
                           ("template <class T>\nint f(T&& t) {", "f"),
                           ("auto f() -> std::map<int, int> {", "f")):
            with self.subTest(head):
                self.assertEqual([piece.name for piece in self.named(function(7, head))], [name])

    def test_blocks_and_lambdas_belong_to_their_function(self) -> None:
        text = "void f() {\n  if (a) {\n    g([&](int b) {\n      h(b);\n    });\n  }\n}\n"
        self.assertEqual(self.named(text), [Piece("function", "f", 1, 7)])

    def test_members_count_for_themselves_and_for_their_class(self) -> None:
        text = "namespace n {\n\nclass A final : B {\n  int f() {\n    return 1;\n  }\n};\n}\n"
        self.assertEqual(self.named(text), [Piece("function", "f", 4, 3),
                                            Piece("class", "A", 3, 5)])

    def test_braces_in_comments_and_strings_are_no_blocks(self) -> None:
        text = 'void f() {  // {\n  g("{", \'{\');  /* { */\n}\n#define X {\nvoid h() {\n}\n'
        self.assertEqual([piece.name for piece in self.named(text)], ["f", "h"])

    def test_initializers_are_no_functions(self) -> None:
        self.assertEqual(self.named("const int a[] = {\n  1,\n};\nenum class E {\n  kA,\n};\n"), [])

    def test_a_class_and_a_file_that_are_too_long(self) -> None:
        text = "class A {\n" + "  int a;\n" * 8 + "};\n"
        self.assertEqual(found(a_cc=text), ["a.cc:1: the class A has 10 lines, at most 8"])
        self.assertEqual(found(a_cc="\n" * 21), ["a.cc:1: the file has 21 lines, at most 20"])

    def test_python_is_measured_too(self) -> None:
        text = "def f():\n" + "    g()\n" * 5 + "\n\nclass A:\n" + "    a = 1\n" * 8
        self.assertEqual(found(a_py=text), ["a.py:1: the function f has 6 lines, at most 5",
                                            "a.py:9: the class A has 9 lines, at most 8"])

    def test_an_exempt_function_may_not_grow(self) -> None:
        self.assertEqual(found({"a.cc: f": 7}, a_cc=function(7)), [])
        self.assertEqual(found({"a.cc: f": 7}, a_cc=function(8)),
                         ["a.cc:1: the function f has 8 lines, at most 7"])

    def test_an_exemption_goes_with_its_reason(self) -> None:
        self.assertEqual(found({"a.cc: f": 20}, a_cc=function(7)),
                         ["lengths.toml: a.cc: f has 7 lines by now, let it have no more"])
        self.assertEqual(found({"a.cc: f": 6}, a_cc=function(4)),
                         ["lengths.toml: a.cc: f is within the limit and needs no exemption"])


class Assertions(unittest.TestCase):
    def sparse(self, **sources: str) -> list[str]:
        named = {f"src/kv/{name.replace('_cc', '.cc').replace('_h', '.h')}": text
                 for name, text in sources.items()}
        return list(sparse(Limits({}, {}, {"src/kv": 100}), named))

    def test_each_form_counts_in_code_and_none_in_tests(self) -> None:
        for line in ("BASALT_ASSERT(a);", "  BASALT_DEBUG_ASSERT(a);", "static_assert(a);",
                     "if (a) BASALT_UNREACHABLE();", "mutex_.assert_held();"):
            with self.subTest(line):
                self.assertEqual(self.sparse(a_cc=line + "\n" + "b();\n" * 9), [])
        self.assertEqual(len(self.sparse(a_cc="b();\n" * 9, a_test_cc="BASALT_ASSERT(a);\n")), 1)

    def test_a_folder_with_too_few_is_named_with_its_figures(self) -> None:
        found = self.sparse(a_cc="BASALT_ASSERT(a);\n" + "b();\n" * 9, a_h="c();\n")
        self.assertEqual(len(found), 1)
        self.assertIn("src/kv: 1 assertions in 11 lines, at least 100 in 1,000", found[0])


if __name__ == "__main__":
    unittest.main()
