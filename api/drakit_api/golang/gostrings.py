"""Texts as Go prints them: quoted strings and JSON in error messages.

Kubernetes' messages are made with ``%q``, ``%v`` and ``json.Marshal``; who greps a log for one must find the same
bytes. Sources: Go's ``strconv.Quote``, ``fmt`` and ``encoding/json``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import msgspec

from drakit_api.golang.gofloats import general, json_text

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
# json.Marshal escapes these so that JSON can stand inside of HTML.
_HTML_SAFE = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def quote(text: str) -> str:
    """Quote a text as ``strconv.Quote`` does."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_quoted, text)) + '"'


def quoted(values: Iterable[str]) -> str:
    """Print a list of strings as ``fmt.Sprintf("%q")`` does."""
    return f"[{' '.join(quote(value) for value in values)}]"


def _quoted(char: str) -> str:
    if (escape := _ESCAPES.get(char)) is not None:
        return escape
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def to_json(value: Any) -> str:
    """Encode a value whose fields are already in Go's order, as ``json.Marshal`` does."""
    return msgspec.json.encode(value, enc_hook=_as_written).decode().translate(_HTML_SAFE)


def _as_written(value: object) -> msgspec.Raw:
    """Encode a number that has kept its text (``gojson.LongNumber``)."""
    text = getattr(value, "text", None)
    if not isinstance(text, str):
        raise NotImplementedError(type(value))
    return msgspec.Raw(text.encode())


def marshaled(value: Any) -> str:
    """Encode a value that was decoded from JSON without a type, as ``json.Marshal`` does: keys are sorted."""
    return to_json(printable(value))


def as_marshaled(value: Any) -> Any:
    """Return a value, decoded without a type, such that ``to_json`` prints it as ``json.Marshal`` does.

    A float that is not in a list or object stays one, as messages print it otherwise.
    """
    return printable(value) if isinstance(value, dict | list) else value


def printable(value: Any) -> Any:
    """Sort keys, and make texts of all floats: msgspec would write them as Python does (``3.0``, ``1e16``)."""
    if isinstance(value, dict):
        return {key: printable(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [printable(item) for item in value]
    return msgspec.Raw(json_text(value).encode()) if isinstance(value, float) and math.isfinite(value) else value


def formatted(value: Any) -> str:
    """Print a decoded JSON value as ``fmt.Sprintf("%v")`` does: ``map[a:[1 true] b:<nil>]``, keys sorted."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{formatted(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(formatted, value))}]"
    if value is None or isinstance(value, bool):
        return {None: "<nil>", True: "true", False: "false"}[value]
    return general(value) if isinstance(value, float) and math.isfinite(value) else str(value)
