"""The alternatives of rules in MariaDB's grammar, read from the server's own sql_yacc.yy."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(r"""
    /\*.*?\*/ | //[^\n]*            # comments
  | %prec\s+\S+                     # precedences
  | '(?:\\.|[^'])'                  # characters
  | <\w+>                           # types
  | [A-Za-z_][\w.]*                 # names
  | [{}:|;]
""", re.VERBOSE | re.DOTALL)
# Within an action these may hold braces.
_IN_ACTION = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])*'|[{}]", re.DOTALL)


def alternatives(grammar: str) -> dict[str, list[str]]:
    """For each rule its alternatives, each as its symbols with spaces between; "" is empty."""
    body = grammar.split("\n%%\n")[1]
    rules: dict[str, list[str]] = {}
    words = list(_words(body))
    name, symbols = "", []
    for number, word in enumerate(words):
        if word in ("|", ";"):
            if name:
                rules.setdefault(name, []).append(" ".join(symbols))
            symbols = []
            name = name if word == "|" else ""
        elif number + 1 < len(words) and words[number + 1] == ":":
            if name:  # the rule before ends without a semicolon
                rules.setdefault(name, []).append(" ".join(symbols))
            name, symbols = word, []
        elif word != ":":
            symbols.append(word)
    return rules


def _words(body: str) -> Iterator[str]:
    """Symbols and the marks between them, without actions and comments."""
    place = 0
    while match := _TOKEN.search(body, place):
        word, place = match[0], match.end()
        if word == "{":
            place = _end_of_action(body, place)
        elif not word.startswith(("/", "%", "<")):
            yield word


def _end_of_action(body: str, place: int) -> int:
    depth = 1
    while depth:
        match = _IN_ACTION.search(body, place)
        assert match is not None, "an action without an end"
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        place = match.end()
    return place
