"""Base64 as ``encoding/base64`` of Go reads it: line breaks anywhere, and the place of what is wrong."""

from __future__ import annotations

import base64
import re

_ALPHABET = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_RIGHT = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_BREAKS = b"\r\n"
_PADDING = ord("=")


class Base64Error(ValueError):
    """A text that is no base64; the message is Go's."""


def decode(text: str) -> bytes:
    """Decode a text, as ``StdEncoding`` does. Raises ``Base64Error``."""
    raw = text.encode(errors="surrogatepass")
    digits = raw.translate(None, _BREAKS)
    if _RIGHT.fullmatch(digits) is None:
        raise Base64Error(f"illegal base64 data at input byte {_first_illegal(raw)}")
    return base64.b64decode(digits)


def _first_illegal(raw: bytes) -> int:
    """Find where the decoder gives up (``decodeQuantum``)."""
    filled = 0  # digits of the group of four that is being read
    for place, byte in enumerate(raw):
        if byte in _ALPHABET:
            filled = (filled + 1) % 4
        elif byte == _PADDING and filled in (2, 3):
            return _after_padding(raw, place + 1, more=filled == 2)
        elif byte not in _BREAKS:
            return place
    return len(raw) - filled


def _after_padding(raw: bytes, place: int, *, more: bool) -> int:
    """Find what is wrong after the first sign of padding; with ``more`` there has to be another one."""
    place = _after_breaks(raw, place)
    if more:
        if place == len(raw):
            return place
        if raw[place] != _PADDING:
            return place - 1
        place = _after_breaks(raw, place + 1)
    return place


def _after_breaks(raw: bytes, place: int) -> int:
    while place < len(raw) and raw[place] in _BREAKS:
        place += 1
    return place
