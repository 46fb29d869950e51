"""PEM as Go's ``encoding/pem`` reads it.

The libraries of Python look for a block that they like, Go takes the first one. Who signs reads what Go would read, so
what is validated has to be the same block.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import NamedTuple

_BEGIN = re.compile(rb"(?:\A|\n)-----BEGIN ")
_END = b"\n-----END "
_DASHES = b"-----"
_SPACES = b" \t"


class Block(NamedTuple):
    """One PEM block: its type and its decoded content."""

    type: str
    has_headers: bool
    content: bytes


def blocks(data: bytes) -> Iterator[Block]:
    """Iterate over the well-formed blocks (``pem.Decode``); what is malformed is passed over."""
    at, end = 0, -1
    while (begin := _BEGIN.search(data, at)) is not None:
        type_line, at = _line(data, begin.end())
        if not type_line.endswith(_DASHES):
            at = begin.end()
            continue
        has_headers, body = _headers(data, at)
        # A body without lines ends where it begins: the line break before END is that of BEGIN.
        first = body if has_headers else body - 1
        if end < first:
            end = data.find(_END, first)
        if end < 0:
            return
        behind = _end_of(data, end + len(_END), type_line)
        content = None if behind is None else _decoded(data[body : max(end, body)])
        if behind is None or content is None:
            at = body - 1
            continue
        yield Block(type_line.removesuffix(_DASHES).decode(errors="replace"), has_headers, content)
        at = behind - 1


def _line(data: bytes, at: int) -> tuple[bytes, int]:
    """Read the line at ``at`` without blanks at its end; also returns where the next line begins."""
    end = data.find(b"\n", at)
    if end < 0:
        return data[at:].rstrip(_SPACES), len(data)
    return data[at:end].removesuffix(b"\r").rstrip(_SPACES), end + 1


def _headers(data: bytes, at: int) -> tuple[bool, int]:
    """Check whether there are lines with a colon, and where what follows them begins."""
    found = False
    while at < len(data):
        line, following = _line(data, at)
        if b":" not in line:
            break
        found, at = True, following
    return found, at


def _end_of(data: bytes, at: int, type_line: bytes) -> int | None:
    """Find where the END line of a block of this type ends; None if the line is no such."""
    if data[at : at + len(type_line)] != type_line:
        return None
    rest, following = _line(data, at + len(type_line))
    return None if rest else following


def _decoded(body: bytes) -> bytes | None:
    try:
        return base64.b64decode(body.translate(None, b" \t\r\n"), validate=True)
    except binascii.Error:
        return None
