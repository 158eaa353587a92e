"""SQL literals: text in any character set, without a character that SQL modes could change."""

from __future__ import annotations

import random
import string

# Single letters in several forms, so that collations have something to disagree about.
_LETTERS = ("a", "A", "b", "B", "z", "\u00e4", "\u00c4", "\u00e5", "\u00e9", "e", "\u00df", "ss",
            "ch", "cz", "dz", "ll", "\u00f1", "\u0131", "I", "i", "\u0130", "\u0142")
_FAR = ("\u03c3", "\u03c2", "\u03a3", "\u0439", "\u0418", "\u05d0", "\u0e40\u0e01", "\uac00",
        "\u4e2d", "\u3042", "\u30a2", "\uff71", "a\u0308", "\u0301", "\ufb01", "\U0001f600",
        "\U0001f601", "\U00020000", "\uffff", "\ufffd")
_CONTROL = ("\0", "\x01", "\t", "\n", "\x1f", " ", "  ", "!", "%", "_", "-", "'", "\\", "\x7f")

# Character sets whose repertoire Python knows. Others get ASCII only.
_CODECS = {
    "latin1": "cp1252", "latin2": "iso8859-2", "latin5": "iso8859-9", "latin7": "iso8859-13",
    "greek": "iso8859-7", "hebrew": "iso8859-8", "cp1250": "cp1250", "cp1251": "cp1251",
    "cp1256": "cp1256", "cp1257": "cp1257", "cp850": "cp850", "cp852": "cp852", "cp866": "cp866",
    "koi8r": "koi8-r", "koi8u": "koi8-u", "gbk": "gbk", "gb2312": "gb2312", "big5": "big5",
    "sjis": "shift_jis", "cp932": "cp932", "ujis": "euc_jp", "eucjpms": "euc_jp",
    "euckr": "euc_kr", "tis620": "iso8859-11", "utf8mb4": "utf-8", "utf16": "utf-16-le",
    "utf16le": "utf-16-le", "utf32": "utf-32-le", "utf8mb3": "utf-8", "ucs2": "utf-16-le",
}
_BASIC_PLANE_ONLY = {"utf8mb3", "ucs2"}


def is_encodable(text: str, charset: str) -> bool:
    """Whether a character set surely has all characters of a text."""
    if charset in _BASIC_PLANE_ONLY and any(ord(each) > 0xFFFF for each in text):
        return False
    try:
        text.encode(_CODECS.get(charset, "ascii"))
    except UnicodeError:
        return False
    return True


def text(value: str) -> str:
    """A literal for a string."""
    if all(each in string.ascii_letters + string.digits + " .,:;-_{}[]\"()" for each in value):
        return f"'{value}'"
    return f"_utf8mb4 X'{value.encode().hex().upper()}'"


def has_ignorable(literal: str) -> bool:
    """Whether a literal of text() has a character that weighs nothing in Unicode's collations."""
    digits = literal.partition(" X'")[2].rstrip("'")
    return any(byte < 0x09 or 0x0D < byte < 0x20 or byte == 0x7F for byte in bytes.fromhex(digits))


def binary(value: bytes) -> str:
    """A literal for a binary string."""
    return f"X'{value.hex().upper()}'"


def draw_text(chance: random.Random, charset: str, length: int) -> str:
    """A string of up to `length` characters that the character set has."""
    kind = chance.random()
    if length == 0 or kind < 0.06:
        return ""
    if kind < 0.16 and length > 8:
        # One that fills the column, or ends near a limit of a prefix.
        size = min(length, chance.choice((8, 9, 10, 11, 15, 16, 17, 255, 256, 300, length)))
        filler = chance.choice(("a", "A", "ab", " ", "\u00e4", "\U0001f600", "x" * 7 + " "))
        filler = filler if is_encodable(filler, charset) else "q"
        value = (filler * size)[:size - 1] + chance.choice("azA ")
        return value[:length]
    parts = []
    for _ in range(min(length, chance.choice((1, 1, 1, 2, 2, 3, 4, 6)))):
        group = chance.choice((_LETTERS, _LETTERS, _LETTERS, _FAR, _CONTROL))
        part = chance.choice(group)
        parts.append(part if is_encodable(part, charset) else chance.choice("abAB01 "))
    if chance.random() < 0.15:
        parts.append(" " * chance.randint(1, 3))
    return "".join(parts)[:length]


def draw_binary(chance: random.Random, length: int) -> bytes:
    """Up to `length` bytes."""
    kind = chance.random()
    if kind < 0.1:
        return b""
    if kind < 0.2:
        return chance.choice((b"\0", b"\xff", b" ", b"a\0", b"ab")) * (length // 2 or 1)
    size = min(length, chance.choice((1, 1, 2, 3, 4, 8, 9, 10, 20)))
    return bytes(chance.choice((0, 1, 0x20, 0x41, 0x61, 0x7F, 0x80, 0xFE, 0xFF))
                 for _ in range(size))
