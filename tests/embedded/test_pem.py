"""PEM is read as Go reads it: which block is the first, and what is passed over."""

from __future__ import annotations

import pytest

from drakit_embedded.apiserver.registry.certificates import pem

X = "-----BEGIN X-----\naGVs\nbG8=\n-----END X-----\n"
FOUND = [("X", False, b"hello")]
CASES = {
    "a block": (X, FOUND),
    "no line break at the end": (X.rstrip(), FOUND),
    "text around": (f"before\n{X}behind\n", FOUND),
    "text before it in its line": (f"before {X}", []),
    "two": (X + X, FOUND * 2),
    "line breaks of Windows": (X.replace("\n", "\r\n"), FOUND),
    "blanks at the ends of lines": (X.replace("\n", " \t\n"), FOUND),
    "headers": (X.replace("X-----\n", "X-----\nA: b\n\n", 1), [("X", True, b"hello")]),
    "headers without an empty line": (X.replace("X-----\n", "X-----\nA: b\n", 1), [("X", True, b"hello")]),
    "nothing in it": ("-----BEGIN X-----\n-----END X-----\n", [("X", False, b"")]),
    "no end": (X.partition("-----END")[0], []),
    "another end": (X.replace("END X", "END Y"), []),
    "another end, and a block": (X.replace("END X", "END Y") + X, FOUND),
    "text behind the end in its line": (X.replace("END X-----", "END X----- a"), []),
    "no base64": (X.replace("aGVs", "aG!s"), []),
    "no base64, and a block": (X.replace("aGVs", "aG!s") + X, FOUND),
    "no dashes behind the type": (X.replace("BEGIN X-----", "BEGIN X"), []),
    "a beginning in a block": ("-----BEGIN Y-----\n" + X, FOUND),
}


@pytest.mark.parametrize("name", CASES)
def test_blocks(name: str) -> None:
    text, found = CASES[name]
    assert list(pem.blocks(text.encode())) == found


@pytest.mark.slow
def test_each_end_is_looked_for_once() -> None:
    """A megabyte of beginnings took a minute when each looked at all that was left."""
    assert list(pem.blocks(b"-----BEGIN X-----\na\n" * 60_000 + b"-----END Y-----\n")) == []
