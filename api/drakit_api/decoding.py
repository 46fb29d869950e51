"""From JSON to objects, with the complaints of a Kubernetes API server.

Before anything is validated, a server decodes the request into Go types. What does not fit is refused with status 400
and the words of the JSON decoder: unknown fields all together and with indices, a wrong type alone and without. Source:
``sigs.k8s.io/json`` (``internal/golang/encoding/json/decode.go``), ``k8s.io/apimachinery`` v0.37.1 ``pkg/api/resource``
and ``pkg/apis/meta/v1/time.go``.

Decoding also normalizes: null becomes absent, quantities and times canonical. Empty lists stay, since validation tells
them from absent ones. Duplicate fields are not found: they are gone once JSON has become a ``dict``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from drakit_api import gotime, schema
from drakit_api.gostrings import quote
from drakit_api.quantity import INT64_MAX, Quantity, QuantityError
from drakit_api.schema import Type

GROUP = "resource.k8s.io"
_MAX_UNKNOWN = 100
_JSON_NAMES = {str: "string", bool: "bool", list: "array", dict: "object"}
_PYTHON: dict[str, type] = {"string": str, "bool": bool, "list": list, "map": dict, "struct": dict}


class DecodeError(ValueError):
    """An object that the server cannot read; the message of its ``BadRequest`` answer."""


class _Notes:
    """What was found wrong on the way: the first wrong type, and all unknown fields by path."""

    __slots__ = ("unknown", "wrong_type")

    def __init__(self) -> None:
        self.unknown: dict[str, None] = {}
        self.wrong_type: str | None = None


class _Abort(Exception):
    """A quantity or time that cannot be read ends decoding at once, before any wrong type is reported."""


Decoder = Callable[[Any, str, _Notes], Any]


def decode(kind: str, obj: dict[str, Any], version: str = "v1", *, strict: bool = True) -> dict[str, Any]:
    """Decode and normalize an object; the given one is not changed.

    ``strict`` is ``fieldValidation=Strict``: unknown fields are an error, otherwise they are dropped. Raises
    ``DecodeError``, and ``schema.UnknownKind``.
    """
    notes = _Notes()
    prefix = f'{kind} in version "{version}" cannot be handled as a {kind}: '
    try:
        decoded: dict[str, Any] = _root_decoder(kind, version)(obj, "", notes)
    except _Abort as error:
        raise DecodeError(prefix + str(error)) from None
    if notes.wrong_type:
        raise DecodeError(prefix + notes.wrong_type)
    if strict and notes.unknown:
        unknown = ", ".join(f"unknown field {quote(path)}" for path in notes.unknown)
        raise DecodeError(f"{prefix}strict decoding error: {unknown}")
    return decoded


@functools.cache
def _root_decoder(kind: str, version: str) -> Decoder:
    return _struct(Type("struct", f"{version}.{kind}", struct=schema.struct_of(kind, version)), "", ())


def _struct(kind: Type, owner: str, stack: tuple[str, ...]) -> Decoder:
    """``owner`` and ``stack`` say where in messages: the struct and the Go field path of the field being decoded."""
    name = kind.struct.rpartition(".")[2]
    fields = dict(_fields(kind.struct, name, stack))
    wrong = _wrong_type(kind, owner, stack)

    def decode_struct(value: Any, path: str, notes: _Notes) -> Any:
        if type(value) is not dict:
            return wrong(value, notes, {})
        decoded = {}
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            field = fields.get(key)
            if field is None:
                if len(notes.unknown) < _MAX_UNKNOWN:
                    notes.unknown[inner] = None
            elif item is not None:
                decoded[key] = field(item, inner, notes)
        return decoded

    return decode_struct


def _fields(struct: str, owner: str, stack: tuple[str, ...]) -> list[tuple[str, Decoder]]:
    fields = []
    for field in schema.load().structs[struct]:
        if field.name:
            fields.append((field.name, _decoder(field.type, owner, (*stack, field.name))))
        else:
            fields += _fields(field.type.struct, owner, (*stack, field.go))
    return fields


def _decoder(kind: Type, owner: str, stack: tuple[str, ...]) -> Decoder:
    match kind.shape:
        case "struct":
            return _struct(kind, owner, stack)
        case "list" | "map":
            return _container(kind, owner, stack)
        case "quantity":
            return _quantity
        case "time" | "microtime":
            return _time(owner, stack)
        case "raw":
            return _raw
        case "int":
            return _integer(kind, owner, stack)
        case _:
            return _scalar(kind, owner, stack)


def _container(kind: Type, owner: str, stack: tuple[str, ...]) -> Decoder:
    assert kind.item is not None
    item_type = kind.item
    decode_item = _decoder(item_type, owner, stack)
    wrong = _wrong_type(kind, owner, stack)

    def decode_list(value: Any, path: str, notes: _Notes) -> Any:
        if type(value) is not list:
            return wrong(value, notes, [])
        return [
            _zero(item_type) if item is None else decode_item(item, f"{path}[{index}]", notes)
            for index, item in enumerate(value)
        ]

    def decode_map(value: Any, path: str, notes: _Notes) -> Any:
        if type(value) is not dict:
            return wrong(value, notes, {})
        return {
            key: _zero(item_type) if item is None else decode_item(item, f"{path}.{key}", notes)
            for key, item in value.items()
        }

    return decode_list if kind.shape == "list" else decode_map


def _scalar(kind: Type, owner: str, stack: tuple[str, ...]) -> Decoder:
    wrong = _wrong_type(kind, owner, stack)
    python, zero = _PYTHON[kind.shape], _zero(kind)

    def decode_scalar(value: Any, path: str, notes: _Notes) -> Any:
        return value if type(value) is python else wrong(value, notes, zero)

    return decode_scalar


def _integer(kind: Type, owner: str, stack: tuple[str, ...]) -> Decoder:
    wrong = _wrong_type(kind, owner, stack)
    maximum = 2**31 - 1 if kind.go == "int32" else INT64_MAX

    def decode_integer(value: Any, path: str, notes: _Notes) -> Any:
        if type(value) is int and -maximum - 1 <= value <= maximum:
            return value
        return wrong(value, notes, 0)

    return decode_integer


def _wrong_type(kind: Type, owner: str, stack: tuple[str, ...]) -> Callable[[Any, _Notes, Any], Any]:
    """Notes a wrong type, if it is the first, and gives the zero value in its place."""
    where = f"into Go struct field {owner}.{'.'.join(stack)} of type {kind.go}"

    def note(value: Any, notes: _Notes, zero: Any) -> Any:
        if notes.wrong_type is None:
            found = _JSON_NAMES.get(type(value), "number")
            if found == "number" and kind.shape == "int":
                found = f"number {value!r}"
            notes.wrong_type = f"json: cannot unmarshal {found} {where}"
        return zero

    return note


def _zero(kind: Type) -> Any:
    """What a null in a list or map becomes."""
    return {"string": "", "bool": False, "int": 0, "quantity": "0", "list": [], "map": {}, "struct": {}}.get(kind.shape)


def _quantity(value: Any, path: str, notes: _Notes) -> str:
    text = value.strip() if isinstance(value, str) else value
    try:
        return str(Quantity.parse(text if isinstance(text, str | int | float) else str(text)))
    except QuantityError as error:
        raise _Abort(str(error)) from None


def _time(owner: str, stack: tuple[str, ...]) -> Decoder:
    where = f"into Go struct field {owner}.{'.'.join(stack)} of type string"

    def decode_time(value: Any, path: str, notes: _Notes) -> str:
        if not isinstance(value, str):
            raise _Abort(f"json: cannot unmarshal {_JSON_NAMES.get(type(value), 'number')} {where}")
        try:
            return gotime.canonical(value)
        except ValueError as error:
            raise _Abort(str(error)) from None

    return decode_time


def _raw(value: Any, path: str, notes: _Notes) -> Any:
    return value
