"""Numbers and quoted strings as written in a selector, turned into values (cel-go v0.29 ``parser/unescape.go``)."""

from __future__ import annotations

import re

from drakit_api.cel.values.values import INT_MAX, INT_MIN, UINT_MAX, Uint
from drakit_api.golang import long_numbers

_SIMPLE = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([\s\S]))")
_NEWLINES = re.compile(r"\r\n|\r")


def integer(text: str) -> int:
    """Parse a 64-bit literal, decimal or hexadecimal; blanks may follow its sign. Raises ``ValueError``."""
    unsigned = "".join(text.split()).removeprefix("-")
    value = int(unsigned, 16) if "0x" in unsigned else long_numbers.bounded(unsigned, UINT_MAX)
    value = -value if text[0] == "-" else value
    if not INT_MIN <= value <= INT_MAX:
        raise ValueError("invalid int literal")
    return value


def unsigned(text: str) -> Uint:
    """Parse an unsigned literal such as ``7u``. Raises ``ValueError``."""
    value = int(text[:-1], 16) if "0x" in text else long_numbers.bounded(text[:-1], UINT_MAX)
    if value > UINT_MAX:
        raise ValueError("invalid uint literal")
    return Uint(value)


def double(text: str) -> float:
    """Parse a floating-point literal. Raises ``ValueError`` when it is out of range."""
    value = float("".join(text.split()))
    if value in (float("inf"), float("-inf")):
        raise ValueError("invalid double literal")
    return value


def string(text: str) -> str:
    """Return the value of a quoted string with its quotes and an optional ``r``. Raises ``ValueError``."""
    body, raw = _unquote(text)
    return body if raw or "\\" not in body else _ESCAPE.sub(_unescape, body)


def bytestring(text: str) -> bytes:
    """Return the value of ``b"..."``, where ``\\x`` and octal escapes are bytes. Raises ``ValueError``."""
    body, raw = _unquote(text[1:])
    if raw:
        return body.encode()
    pieces, end = [], 0
    for match in _ESCAPE.finditer(body):
        pieces.append(body[end : match.start()].encode())
        hexadecimal, octal = match.group(1), match.group(4)
        if hexadecimal or octal:
            pieces.append(bytes([int(hexadecimal, 16) if hexadecimal else int(octal, 8)]))
        elif match.group(2) or match.group(3):
            raise ValueError("unable to unescape string")
        else:
            pieces.append(_unescape(match).encode())
        end = match.end()
    return b"".join([*pieces, body[end:].encode()])


def _unquote(text: str) -> tuple[str, bool]:
    text = _NEWLINES.sub("\n", text)
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    quotes = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[quotes:-quotes], raw


def _unescape(match: re.Match[str]) -> str:
    hexadecimal = match.group(1) or match.group(2) or match.group(3)
    if hexadecimal or match.group(4):
        code = int(hexadecimal, 16) if hexadecimal else int(match.group(4), 8)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise ValueError("invalid unicode code point")
        return chr(code)
    if match.group(5) not in _SIMPLE:
        raise ValueError("unable to unescape string")
    return _SIMPLE[match.group(5)]
