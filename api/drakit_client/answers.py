"""What can be read of a list or a watch, and what is left out of it.

One object that nobody can read must not end a component: it would end again after each restart, for as long as the
object is there. A line of a watch that is too long, a text that is no JSON, an object without a name: each is told in
the log once, and the others are used.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import msgspec
from aiohttp import StreamReader

from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta

log = logging.getLogger(__name__)

# etcd refuses objects over 1.5 MiB in protobuf. The longest JSON that so much protobuf can be is 26 times as long.
LINE_BYTES = 64 * 1024 * 1024
# So much is kept of a longer line, to find out which object it is about: metadata come first.
_HEAD_BYTES = 64 * 1024
# What decoding raises: for wrong JSON, texts that are no UTF-8, numbers and levels without end.
_UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError)
_NAME = re.compile(rb'"metadata":\{(?:[^{}]*?)"name":"([^"\\]{1,253})"(?:[^{}]*?"namespace":"([^"\\]{1,63})")?')
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_DELETED = b'{"type":"DELETED"'
_REMEMBERED = 1000


class Unreadable(NamedTuple):
    """An object that is left out: its namespace and name as far as they can be read, and why.

    ``deleted``: it came with the event of its deletion.
    """

    key: tuple[str, str] | None
    why: str
    deleted: bool = False

    @staticmethod
    def of(raw: bytes, why: object) -> Unreadable:
        """Look for the name in the JSON of an object or of a watch's event."""
        found = _NAME.search(raw[:_HEAD_BYTES])
        names = [(part or b"").decode(errors="replace") for part in found.groups()] if found else None
        key = (names[1], names[0]) if names else None
        return Unreadable(key, str(why) or type(why).__name__, raw.startswith(_DELETED))


class Reports:
    """Tells once of each object that is left out."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def tell(self, plural: str, unreadable: Unreadable) -> None:
        """Log it as an error, unless that has been done."""
        key = unreadable.key
        name = "/".join(part for part in key if part) if key else "of unknown name"
        text = f"{plural} {name}: left out, it cannot be read ({unreadable.why}): delete it, or write it anew"
        if text not in self._told:
            if len(self._told) >= _REMEMBERED:
                self._told.clear()
            self._told.add(text)
            log.error("%s", text)


async def lines(content: StreamReader, longest: int = LINE_BYTES) -> AsyncIterator[bytes | Unreadable]:
    """Yield the lines of a watch; for one with more bytes than ``longest``, an ``Unreadable`` in its place."""
    line = _Line(longest)
    async for chunk in content.iter_any():
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            line.add(chunk[start:end])
            yield line.whole()
            line, start = _Line(longest), end + 1
        line.add(chunk[start:])
    if line.size:
        yield line.whole()


class _Line:
    """A line of which the pieces arrive one by one."""

    def __init__(self, longest: int) -> None:
        self.size = 0
        self._longest = longest
        self._pieces: list[bytes] = []

    def add(self, piece: bytes) -> None:
        was_too_long = self.size > self._longest
        self.size += len(piece)
        if was_too_long:
            return
        self._pieces.append(piece)
        if self.size > self._longest:
            self._pieces = [b"".join(self._pieces)[:_HEAD_BYTES]]

    def whole(self) -> bytes | Unreadable:
        raw = b"".join(self._pieces)
        if self.size <= self._longest:
            return raw
        return Unreadable.of(raw, f"its line has {self.size} bytes, and {self._longest} are read")


def event(line: bytes) -> Object | Unreadable:
    """Decode a line of a watch: ``{type, object}``."""
    try:
        found: Object = msgspec.json.decode(line)
        if found["type"] == "ERROR" or _can_be_followed(found["object"], named=found["type"] != "BOOKMARK"):
            return found
    except _UNREADABLE as error:
        return Unreadable.of(line, error)
    except (KeyError, TypeError):
        pass
    return Unreadable.of(line, "it is no event of an object with a name")


def _can_be_followed(obj: Any, *, named: bool) -> bool:
    metadata: ObjectMeta = obj["metadata"]
    return isinstance(metadata["resourceVersion"], str) and (not named or isinstance(metadata["name"], str))


def listed(raw: bytes) -> tuple[Object, list[Unreadable]]:
    """Decode a List: one with the readable items, and the unreadable ones. Raises ``ValueError`` if it is no List."""
    try:
        found: Object = msgspec.json.decode(raw)
        left_out: list[Unreadable] = []
    except _UNREADABLE:
        found, left_out = _item_by_item(raw)
    if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict):
        raise ValueError("the answer is no List")
    items = found.get("items") or []
    readable = [item for item in items if _has_name(item)]
    left_out += [Unreadable(None, "it has no name")] * (len(items) - len(readable))
    return {**found, "items": readable}, left_out


def _has_name(item: Any) -> bool:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    return isinstance(metadata, dict) and isinstance(metadata.get("name"), str)


def _item_by_item(raw: bytes) -> tuple[Object, list[Unreadable]]:
    items, left_out, rest, end = [], [], [], 0
    for start, stop in _items(raw):
        try:
            items.append(msgspec.json.decode(raw[start:stop]))
        except _UNREADABLE as error:
            left_out.append(Unreadable.of(raw[start:stop], error))
        rest.append(raw[end:start].rstrip(b", "))
        end = stop
    found: Object = msgspec.json.decode(b"".join([*rest, raw[end:]]))
    return {**found, "items": items}, left_out


def _items(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the objects of a List begin and end: those that are two levels deep, in its only array."""
    depth, start, open_items = 0, 0, False
    for token in _TOKEN.finditer(raw):
        first = raw[token.start()]
        if first in b"{[":
            if depth == 1:
                open_items = first == ord("[")
            if depth == 2 and open_items:
                start = token.start()
            depth += 1
        elif first in b"}]":
            depth -= 1
            if depth == 2 and open_items:
                yield start, token.end()
