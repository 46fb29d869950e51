"""From a merged object to its Go type, as a server does it that has no text of it.

A strategic merge patch and an apply make an object out of maps and lists, which is not written as JSON to be read:
``FromUnstructured`` of ``k8s.io/apimachinery`` v0.37.1 ``pkg/runtime/converter.go`` goes through it. It takes whole
numbers with a point, cuts those that are too long, and has its own words for what does not fit. What a Go type would
read by itself is left as it is, for ``decoding``, which has to follow in any case.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable
from typing import Any

from drakit_api.golang import gofloats
from drakit_api.objects.schema import Schema, Type

_INT64 = range(-(2**63), 2**63)
_BITS = {"int32": 32, "uint8": 8}
_NAMES: dict[type, str] = {str: "string", bool: "bool", int: "int64", list: "slice"}
# Of times, quantities, and int-or-string.
_OF_SELF_READING = re.compile(r"json: cannot unmarshal (\w+) into Go struct field \S+ of type (\w+)")
Restore = Callable[[Any], Any]


class RestoreError(ValueError):
    """A value that its Go type cannot have; the message of the converter."""


def restored(types: Schema, struct: str, obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the numbers that its Go type would have; the given one is not changed.

    Raises:
        RestoreError: for the first value of a wrong type, in the order of the fields.
    """
    found: dict[str, Any] = _struct(types, struct)(obj)
    return found


def integer(value: Any, go: str) -> int:
    """Convert a number to an integer type of Go.

    Raises:
        RestoreError: for a fraction, and what is no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RestoreError(f"unrecognized type: {go}")
    if isinstance(value, float) and not value.is_integer():
        raise RestoreError(f"cannot convert float64 to {go}")
    # As on processors of the amd64 kind, where a float that does not fit is the least number.
    number = int(value) if int(value) in _INT64 else _INT64.start
    bits = _BITS.get(go, 64)
    least = 0 if go.startswith("uint") else -(1 << (bits - 1))
    return (number - least) % (1 << bits) + least


def text(value: Any, go: str) -> str:
    """Return a text; ``go`` is the name of its type.

    Raises:
        RestoreError: for what is none.
    """
    if isinstance(value, str):
        return value
    if kind_of(value) == "int64":
        raise RestoreError(f"cannot convert int64 to {go}")
    raise RestoreError("unrecognized type: string")


def flag(value: Any) -> bool:
    """Return a boolean.

    Raises:
        RestoreError: for what is none.
    """
    if isinstance(value, bool):
        return value
    raise RestoreError("unrecognized type: bool")


def shaped(value: Any, kind: type, named: str) -> Any:
    """Return a list or a dict.

    Raises:
        RestoreError: for what is none; ``named`` says what it should have been.
    """
    if isinstance(value, kind):
        return value
    raise RestoreError(f"cannot restore {named} {kind_of(value)}")


def kind_of(value: Any) -> str:
    """Name the kind of a value as Go's ``reflect`` does."""
    if type(value) is int:
        value = _go_number(value)
    return "float64" if isinstance(value, float) else _NAMES.get(type(value), "map")


def self_read(why: str) -> str:
    """Reword what ``decoding`` says of a value that its type reads by itself, so that it stands in no struct."""
    match = _OF_SELF_READING.fullmatch(why)
    return why if match is None else f"json: cannot unmarshal {match[1]} into Go value of type {match[2]}"


def written_again(value: Any) -> Any:
    """Return a value as a Go type gets it that reads JSON by itself, for which it is written as such."""
    if isinstance(value, dict):
        return {key: written_again(item) for key, item in value.items()}
    if isinstance(value, list):
        return [written_again(item) for item in value]
    return gofloats.read_again(value) if isinstance(value, float) else value


def _go_number(value: int | float) -> int | float:
    """Return a number as Go has it where the type is not known: one of 64 bits, or a float."""
    return value if isinstance(value, float) or value in _INT64 else float(value)


@functools.cache
def _struct(types: Schema, struct: str) -> Restore:
    readers: dict[str, Restore] = {}

    def restore(value: Any) -> Any:
        value = shaped(value, dict, "struct from:")
        if not readers:
            readers.update((field.name, _of(types, field.type)) for field in types.flat_fields(struct))
        changed = {}
        for name, read in readers.items():
            item = value.get(name)
            if item is not None and (found := read(item)) is not item:
                changed[name] = found
        return {**value, **changed} if changed else value

    return restore


def _of(types: Schema, kind: Type) -> Restore:
    match kind.shape:
        case "struct":
            return _struct(types, kind.struct)
        case "list" | "map":
            return _container(types, kind)
        case "string":
            return lambda value: text(value, kind.go)
        case "bool":
            return flag
        case "int":
            return lambda value: integer(value, kind.go)
        case "bytes":
            return _bytes
        case "raw":
            # Whatever is in there knows how it was written.
            return lambda value: value
        case _:
            return written_again


def _container(types: Schema, kind: Type) -> Restore:
    assert kind.item is not None
    restore = _of(types, kind.item)

    def restore_list(value: Any) -> Any:
        found = [item if item is None else restore(item) for item in shaped(value, list, "slice from")]
        return value if all(map(operator.is_, found, value)) else found

    def restore_map(value: Any) -> Any:
        items = shaped(value, dict, "map from").items()
        found = {key: item if item is None else restore(item) for key, item in items}
        return value if all(map(operator.is_, found.values(), value.values())) else found

    return restore_list if kind.shape == "list" else restore_map


def _bytes(value: Any) -> Any:
    if isinstance(value, str):
        return value
    return [item if item is None else integer(item, "uint8") for item in shaped(value, list, "slice from")]
