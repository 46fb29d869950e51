"""What a client may get wrong in an object: each field of it, one at a time, in every way that its value allows.

The names are those of the recorded exchanges: ``slice-node: delete spec.pool`` is the object ``slice-node`` without its
pool.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from drakit_api.kubernetes_objects import Object

Path = tuple[str | int, ...]

_LONG = "x" * 300
_TEXTS: dict[str, Any] = {
    "empty": "",
    "long": _LONG,
    "slash": "a/b",
    "badchars": "Bad_Name! x",
    "upper": "ABC.Def",
    "dotted": "a.b-c",
    "unicode": "é<&>\u2028\x01",
    "type": 7,
    "null": None,
}
_NUMBERS: dict[str, Any] = {
    "zero": 0,
    "negative": -1,
    "huge": 2**40,
    "overflow": 2**63,
    "float": 1.5,
    "type": "one",
    "null": None,
}
_KEYS = {
    "keyempty": "",
    "keybad": "Bad Key",
    "keydomain": "other.example.com/k",
    "keydash": "a-b",
    "keyupper": "ABC",
    "keylong": "k" * 70,
}
_LENGTHS = (9, 33, 65, 129, 257)
_PARTS = ("metadata", "spec", "status")
# What tells the items of a list apart.
_IDENTITIES = ("name", "key", "device", "type", "counterSet", "uid")


class Mutation(NamedTuple):
    """One change, and what it is called."""

    name: str
    object: Object


class Change(NamedTuple):
    """A mutation that is not made yet: of thousands, somebody may want one."""

    name: str
    path: Path
    make: Callable[[Any, Any], None]

    def of(self, obj: Object) -> Mutation:
        """It, of the object that it was found for; that is not changed."""
        changed = copy.deepcopy(obj)
        self.make(_at(changed, self.path[:-1]), self.path[-1])
        return Mutation(self.name, changed)


def mutations(obj: Object, *, below: tuple[str, ...] = _PARTS) -> Iterator[Mutation]:
    """All of an object's, in the order of its fields; the given one is not changed."""
    return (change.of(obj) for change in changes(obj, below=below))


def changes(obj: Object, *, below: tuple[str, ...] = _PARTS) -> Iterator[Change]:
    """The same, not made yet."""
    for top in below:
        if top in obj:
            yield from _of(obj, (top,))


def _of(obj: Object, path: Path) -> Iterator[Change]:
    value = _at(obj, path)
    if path != ("metadata",):
        yield _change(path, "delete", _delete)
        for kind, replacement in _replacements(value):
            yield _change(path, kind, partial(_set, replacement))
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield from _of(obj, (*path, key))


def _replacements(value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case bool():
            yield "false" if value else "true", not value
            yield "type", "str"
            yield "null", None
        case int() | float():
            yield from _NUMBERS.items()
        case str():
            yield from _TEXTS.items()
        case list():
            yield from _of_list(value)
        case dict():
            yield from _of_map(value)


def _of_list(value: list[Any]) -> Iterator[tuple[str, Any]]:
    yield "emptylist", []
    yield "null", None
    yield "type", "str"
    yield "object", {}
    if value:
        yield "dup", [*value, value[0]]
        yield "nullitem", [None, *value[1:]]
        for length in _LENGTHS:
            yield f"x{length}", [_numbered(value[0], index) for index in range(length)]


def _of_map(value: Object) -> Iterator[tuple[str, Any]]:
    yield "emptymap", {}
    yield "null", None
    yield "type", "str"
    yield "list", []
    yield "unknownfield", {**value, "bogusField": "x"}
    if value:
        first = next(iter(value.values()))
        for kind, key in _KEYS.items():
            yield kind, {**value, key: first}
        yield "map33", {f"k{index}": first for index in range(33)}


def _numbered(item: Any, index: int) -> Any:
    """An item of a long list, which is none that occurs twice if that can be."""
    if isinstance(item, str):
        return f"{item}{index}"
    if isinstance(item, dict):
        for identity in _IDENTITIES:
            if identity in item:
                return {**item, identity: f"{identity[0]}{index}"}
    return item


def _change(path: Path, kind: str, make: Callable[[Any, Any], None]) -> Change:
    return Change(f"{kind} {'.'.join(map(str, path))}", path, make)


def _at(obj: Any, path: Path) -> Any:
    for key in path:
        obj = obj[key]
    return obj


def _delete(parent: Any, key: Any) -> None:
    del parent[key]


def _set(value: Any, parent: Any, key: Any) -> None:
    parent[key] = value
