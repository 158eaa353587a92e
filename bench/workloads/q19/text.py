"""Rows as text for LOAD DATA: tab between columns, a line for each row, numbers zero-padded.

A column is a matrix of bytes with a row's text in each row; zero bytes in it are not written.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from workloads.q19 import names
from workloads.q19.generate import Column, Lines, Parts

Text = NDArray[np.uint8]

_FIRST_DAY = np.datetime64("1992-01-01")
_DAYS = 2700
_COMMENT_SEED = 19


def part_rows(parts: Parts) -> bytes:
    """Columns in the order of the table."""
    return _rows([
        _number(parts.key, 10), *_colours(parts), _words(names.MANUFACTURERS)[parts.manufacturer],
        _words(names.BRANDS)[parts.brand], _words(names.TYPES)[parts.type],
        _number(parts.size, 2), _words(names.CONTAINERS)[parts.container], _hundredths(parts.price),
        _comment(parts.comment_at, parts.comment_length)])


def line_rows(lines: Lines) -> bytes:
    """Columns in the order of the table."""
    return _rows([
        _number(lines.order, 10), _number(lines.part, 10), _number(lines.supplier, 10),
        _number(lines.number, 1), _number(lines.quantity, 2), _hundredths(lines.price),
        _hundredths(lines.discount), _hundredths(lines.tax),
        _words(names.RETURN_FLAGS)[lines.return_flag], _words(names.STATUSES)[lines.status],
        _dates()[lines.ship_day], _dates()[lines.commit_day], _dates()[lines.receipt_day],
        _words(names.INSTRUCTIONS)[lines.instruction], _words(names.MODES)[lines.mode],
        _comment(lines.comment_at, lines.comment_length)])


def _rows(columns: Sequence[Text]) -> bytes:
    count = len(columns[0])
    width = sum(column.shape[1] + 1 for column in columns)
    rows = np.empty((count, width), np.uint8)
    at = 0
    for column in columns:
        end = at + column.shape[1]
        rows[:, at:end] = column
        rows[:, end] = ord("\t")
        at = end + 1
    rows[:, -1] = ord("\n")
    written = rows.ravel()
    return written[written != 0].tobytes()


def _colours(parts: Parts) -> list[Text]:
    """One column: the part's five words with spaces between them."""
    space = np.full((len(parts.key), 1), ord(" "), np.uint8)
    words = [_words(names.COLOURS)[parts.words[:, at]] for at in range(5)]
    spaced = list(itertools.chain.from_iterable((word, space) for word in words))
    return [np.hstack(spaced[:-1])]


def _comment(at: Column, length: Column) -> Text:
    text = sliding_window_view(_comments(), names.COMMENT_MAX)[at]
    text[np.arange(names.COMMENT_MAX) >= length[:, None]] = 0
    return text


def _hundredths(cents: Column) -> Text:
    """A number with two digits behind the point."""
    digits = _number(cents, 12)
    point = np.full((len(cents), 1), ord("."), np.uint8)
    return np.hstack((digits[:, :10], point, digits[:, 10:]))


def _number(values: Column, digits: int) -> Text:
    """The last `digits` digits of numbers below 10^12."""
    groups = [_four_digits()[values // 10**power % 10_000] for power in (8, 4, 0)]
    return np.hstack(groups)[:, 12 - digits:]


@functools.cache
def _four_digits() -> Text:
    return _words(tuple(f"{number:04}" for number in range(10_000)))


@functools.cache
def _dates() -> Text:
    return _words(tuple(str(_FIRST_DAY + day) for day in range(_DAYS)))


@functools.cache
def _comments() -> Text:
    """The text that comments are cut out of."""
    random = np.random.Generator(np.random.PCG64(_COMMENT_SEED))
    needed = names.COMMENT_STARTS + names.COMMENT_MAX
    which = random.integers(0, len(names.COMMENT_WORDS), needed // 2)
    text = " ".join(names.COMMENT_WORDS[word] for word in which)
    return np.frombuffer(text.encode()[:needed], np.uint8)


@functools.cache
def _words(words: tuple[str, ...]) -> Text:
    """Words as rows of one matrix, filled up with zeros."""
    width = max(map(len, words))
    return np.frombuffer(b"".join(word.encode().ljust(width, b"\0") for word in words),
                         np.uint8).reshape(len(words), width)
