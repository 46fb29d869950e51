"""From JSON to objects, with the complaints of a Kubernetes API server.

Before anything is validated, a server decodes the request into Go types. What does not fit is refused with status 400
and the words of the JSON decoder: unknown fields all together and with indices, a wrong type alone and without. Source:
``sigs.k8s.io/json`` (``internal/golang/encoding/json/decode.go``), ``k8s.io/apimachinery`` v0.37.1 ``pkg/api/resource``
and ``pkg/apis/meta/v1/time.go``.

Decoding also normalizes: null becomes absent, quantities and times canonical. Empty lists stay, since validation tells
them from absent ones. Fields that a text has twice are known of if ``gojson`` has read it.

Each struct becomes a closure when it is first met. Closures know no indices: an object with unknown or repeated fields
is gone through a second time, to say where those are.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable, Iterator
from typing import Any

from drakit_api import quantity
from drakit_api.golang import gobase64, gofloats, gotime
from drakit_api.golang.gojson import LongNumber, Repeated, holds_long_number, name_of, pairs
from drakit_api.golang.gostrings import quote
from drakit_api.golang.long_numbers import FEW_DIGITS
from drakit_api.objects import schema, structs
from drakit_api.objects.schema import Schema, Type

_MAX_UNKNOWN = 100
# The fields of an object by which its type is found.
_OF_THE_TYPE = ("kind", "apiVersion")
_KEPT_BY_NULL = ("string", "bool", "int", "struct")
_RANGES = {"int64": range(-(2**63), 2**63), "int32": range(-(2**31), 2**31), "uint8": range(256)}
# Structs whose raw values have readers of their own.
_READ_LATER = ("CustomResourceValidation", "AdmissionRequest", "ConversionRequest", "ConversionResponse")
_PYTHON: dict[str, type] = {"string": str, "bool": bool}


class DecodeError(ValueError):
    """An object that the server cannot read; the message of its ``BadRequest`` answer.

    ``strict`` are the complaints about unknown and repeated fields, if those are all that is wrong.
    """

    def __init__(self, message: str, strict: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.strict = strict


class _Notes:
    """What was found wrong on the way: whether there are unknown or repeated fields, and the first wrong type."""

    __slots__ = ("repeated", "unknown", "wrong_type")

    def __init__(self, obj: dict[str, Any]) -> None:
        self.repeated = isinstance(obj, Repeated)
        self.unknown = False
        self.wrong_type: str | None = None


class _Abort(Exception):
    """A value that ends decoding at once, as where a Go type decodes itself; wrong types before it are not reported."""


Decoder = Callable[[Any, _Notes], Any]


def decode(kind: str, obj: dict[str, Any], version: str = "v1", *, strict: bool = True) -> dict[str, Any]:
    """Decode and normalize an object of resource.k8s.io; the given one is not changed, but may share its parts.

    ``strict`` is ``fieldValidation=Strict``: unknown and repeated fields are an error; otherwise unknown ones are
    dropped, and repeated ones are merged as ``gojson`` does. Raises ``DecodeError``, and ``schema.UnknownKind``.
    """
    return decode_struct(schema.load(), schema.struct_of(kind, version), obj, kind=kind, version=version, strict=strict)


def decode_struct(
    types: Schema, struct: str, obj: dict[str, Any], *, kind: str, version: str, strict: bool = True
) -> dict[str, Any]:
    """Decode an object as ``decode`` does, of any group whose struct is in ``types``.

    ``kind`` and ``version`` are for messages.
    """
    notes = _Notes(obj)
    prefix = f'{kind} in version "{version}" cannot be handled as a {kind}: '
    try:
        decoded: dict[str, Any] = _root_decoder(types, struct, f"{version}.{kind}")(obj, notes)
    except _Abort as error:
        raise DecodeError(prefix + str(error)) from None
    if notes.wrong_type:
        raise DecodeError(prefix + notes.wrong_type)
    # A repeated field may be in an embedded object, which is read elsewhere.
    if strict and (notes.unknown or notes.repeated) and (complaints := _complaints(types, struct, obj)):
        raise DecodeError(f"{prefix}strict decoding error: {', '.join(complaints)}", complaints)
    return decoded


def decode_part(types: Schema, struct: str, value: Any, go: str, path: str) -> tuple[Any, list[str]]:
    """Decode a part of an object, at ``path``; return it and the paths of its unknown fields, which are left out.

    ``go`` is the name of its type in Go. Raises ``DecodeError`` with the decoder's own words.
    """
    if not isinstance(value, dict):
        raise DecodeError(f"json: cannot unmarshal {name_of(value)} into Go value of type {go}")
    notes = _Notes(value)
    try:
        decoded = _root_decoder(types, struct, go)(value, notes)
    except _Abort as error:
        raise DecodeError(str(error)) from None
    if notes.wrong_type:
        raise DecodeError(notes.wrong_type)
    if not notes.unknown:
        return decoded, []
    strict = _strict_errors(types, Type("struct", "", struct=struct), value, path)
    return decoded, [where for what, where in strict if what == "unknown"]


def _complaints(types: Schema, struct: str, obj: dict[str, Any]) -> tuple[str, ...]:
    found = dict.fromkeys(
        f"{what} field {quote(path)}"
        for what, path in _strict_errors(types, Type("struct", "", struct=struct), obj, "")
    )
    first = [obj.complaint] if isinstance(obj, Repeated) and obj.complaint else []
    return (*first, *tuple(found)[:_MAX_UNKNOWN])


@functools.cache
def _root_decoder(types: Schema, struct: str, go: str) -> Decoder:
    return _struct(types, Type("struct", go, struct=struct), "", ())


def _struct(types: Schema, kind: Type, owner: str, stack: tuple[str, ...]) -> Decoder:
    """Make the decoder of a struct; ``owner`` and ``stack`` are the Go struct and field path that messages name."""
    # For each field its decoder, and the type of the values that need no decoding.
    fields: dict[str, tuple[type | None, Decoder]] = {}
    wrong = _wrong_type(kind, owner, stack)

    def decode_struct(value: Any, notes: _Notes) -> Any:
        if type(value) is not dict and not isinstance(value, Repeated):
            return wrong(value, notes, {})
        if not fields:
            fields.update(_fields(types, kind.struct, kind.struct.rpartition(".")[2], stack))
        if notes.repeated and isinstance(value, Repeated):
            _note_all(value, {key: decode for key, (_, decode) in fields.items()}, notes)
            value = _last_values(value, {field.name: field.type for field in types.flat_fields(kind.struct)})
        decoded = {}
        for key, item in value.items():
            field = fields.get(key)
            if field is None:
                notes.unknown = True
            elif type(item) is field[0]:
                decoded[key] = item
            elif item is not None:
                decoded[key] = field[1](item, notes)
        return decoded

    return decode_struct


def _note_all(value: Repeated, decoders: dict[str, Decoder], notes: _Notes) -> None:
    """Decode all values of repeated fields, of which each has to be of the right type."""
    for key, item in value.pairs:
        decode = decoders.get(key)
        if decode is not None and item is not None:
            decode(item, notes)


def _last_values(value: Repeated, types: dict[str, Type]) -> dict[str, Any]:
    """Find what fields that are repeated come to in Go, which decodes each into what it has decoded before."""
    found: dict[str, Any] = {}
    for key, item in value.pairs:
        kind, before = types.get(key), found.get(key)
        found[key] = item if kind is None or before is None else _filled(kind, before, item)
    return found


def _filled(kind: Type, before: Any, item: Any) -> Any:
    """Fill a value of Go further: structs, maps and the items of lists keep what is not said again.

    A null leaves what is not behind a pointer as it is.
    """
    if item is None:
        return before if not kind.pointer and kind.shape in _KEPT_BY_NULL else None
    if kind.shape in ("struct", "map") and isinstance(before, dict) and isinstance(item, dict):
        return Repeated([(key, each) for part in (before, item) for key, each, _ in pairs(part)])
    if kind.item is not None and isinstance(before, list) and isinstance(item, list):
        both = zip(before, item, strict=False)
        return [_filled(kind.item, old, new) for old, new in both] + item[len(before) :]
    return item


def _bulky(types: Schema, kind: Type, owner: str, stack: tuple[str, ...]) -> Decoder:
    """Make a decoder that takes a value as it is where there is nothing to say, which is nearly always."""
    explain = _struct(types, kind, owner, stack)

    def decode_bulky(value: Any, notes: _Notes) -> Any:
        in_order = not notes.repeated and structs.checker(types, kind.struct)(value)
        return value if in_order else explain(value, notes)

    return decode_bulky


def _fields(
    types: Schema, struct: str, owner: str, stack: tuple[str, ...]
) -> Iterator[tuple[str, tuple[type | None, Decoder]]]:
    for field in types.fields(struct):
        if field.name:
            decoder = _decoder(types, field.type, owner, (*stack, field.name))
            yield field.name, (_PYTHON.get(field.type.shape), decoder)
        else:
            yield from _fields(types, field.type.struct, owner, (*stack, field.go))


def _decoder(types: Schema, kind: Type, owner: str, stack: tuple[str, ...]) -> Decoder:
    match kind.shape:
        case "struct" if structs.is_bulky(kind.struct):
            return _bulky(types, kind, owner, stack)
        case "struct":
            return _struct(types, kind, owner, stack)
        case "list" | "map":
            return _container(types, kind, owner, stack)
        case "quantity":
            return _quantity
        case "time" | "microtime":
            return _time(kind, owner, stack)
        case "raw":
            return _raw if owner not in _READ_LATER else _unread
        case "bytes":
            return _bytes(kind, owner, stack)
        case "intorstring":
            return _int_or_string(owner, stack)
        case "int":
            return _integer(kind, owner, stack)
        case _:
            return _scalar(kind, owner, stack)


def _container(types: Schema, kind: Type, owner: str, stack: tuple[str, ...]) -> Decoder:
    assert kind.item is not None
    item_type = kind.item
    decode_item = _decoder(types, item_type, owner, stack)
    wrong = _wrong_type(kind, owner, stack)

    def decode_list(value: Any, notes: _Notes) -> Any:
        if type(value) is not list:
            return wrong(value, notes, [])
        return [_zero(item_type) if item is None else decode_item(item, notes) for item in value]

    def decode_map(value: Any, notes: _Notes) -> Any:
        if type(value) is not dict and not isinstance(value, Repeated):
            return wrong(value, notes, {})
        if notes.repeated and isinstance(value, Repeated):
            # A value of a map is decoded anew where its key comes again.
            value = [(key, _zero(item_type) if item is None else decode_item(item, notes)) for key, item in value.pairs]
            return dict(value)
        return {key: _zero(item_type) if item is None else decode_item(item, notes) for key, item in value.items()}

    return decode_list if kind.shape == "list" else decode_map


def _strict_errors(types: Schema, kind: Type, value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield what strict decoding says of a value: the path of each field that is unknown, or there a second time."""
    if kind.shape == "list" and kind.item is not None:
        for index, item in enumerate(value or ()):
            yield from _strict_errors(types, kind.item, item, f"{path}[{index}]")
    elif kind.shape == "map" and kind.item is not None:
        for key, item, again in pairs(value):
            inner = f"{path}.{key}"
            if again:
                yield "duplicate", inner
            yield from _strict_errors(types, kind.item, item, inner)
    elif kind.shape == "struct":
        yield from _strict_errors_of_fields(types, kind.struct, value, path)


def _strict_errors_of_fields(types: Schema, struct: str, value: Any, path: str) -> Iterator[tuple[str, str]]:
    known = {field.name: field.type for field in types.flat_fields(struct)}
    for key, item, again in pairs(value):
        inner = f"{path}.{key}" if path else key
        if again and (key in known or (not path and key in _OF_THE_TYPE)):
            yield "duplicate", inner
        if key in known:
            yield from _strict_errors(types, known[key], item, inner)
        elif path or key not in _OF_THE_TYPE:
            yield "unknown", inner


def _scalar(kind: Type, owner: str, stack: tuple[str, ...]) -> Decoder:
    wrong = _wrong_type(kind, owner, stack)
    python, zero = _PYTHON[kind.shape], _zero(kind)

    def decode_scalar(value: Any, notes: _Notes) -> Any:
        return value if type(value) is python else wrong(value, notes, zero)

    return decode_scalar


def _integer(kind: Type, owner: str, stack: tuple[str, ...]) -> Decoder:
    wrong = _wrong_type(kind, owner, stack)
    values = _RANGES.get(kind.go, _RANGES["int64"])

    def decode_integer(value: Any, notes: _Notes) -> Any:
        if type(value) is int and value in values:
            return value
        return wrong(value, notes, 0)

    return decode_integer


def _wrong_type(kind: Type, owner: str, stack: tuple[str, ...]) -> Callable[[Any, _Notes, Any], Any]:
    """Make a function that notes a wrong type, if it is the first, and returns the zero value in its place."""
    wanted = "[]uint8" if kind.shape == "bytes" else kind.go
    where = f"into Go struct field {owner}.{'.'.join(stack)} of type {wanted}"

    def note(value: Any, notes: _Notes, zero: Any) -> Any:
        if notes.wrong_type is None:
            found = name_of(value)
            if found == "number" and kind.shape == "int":
                found = f"number {_literal(value)}"
            notes.wrong_type = f"json: cannot unmarshal {found} {where}"
        return zero

    return note


def _literal(value: Any) -> str:
    """Print a number as it was written; one with a point or an exponent as Go prints it, which may differ."""
    if isinstance(value, LongNumber):
        return value.text
    return gofloats.json_text(value) if isinstance(value, float) else repr(value)


def _zero(kind: Type) -> Any:
    """Return Go's zero value of a type, which a null in a list or map becomes."""
    return {"string": "", "bool": False, "int": 0, "quantity": "0", "list": [], "map": {}, "struct": {}}.get(kind.shape)


def _quantity(value: Any, notes: _Notes) -> str:
    try:
        return quantity.canonical(value if type(value) is str else _literal(value))
    except quantity.QuantityError as error:
        raise _Abort(str(error)) from None


def _time(kind: Type, owner: str, stack: tuple[str, ...]) -> Decoder:
    refuse = _self_reading("string", owner, stack)
    micro = kind.shape == "microtime"

    def decode_time(value: Any, notes: _Notes) -> str | None:
        if not isinstance(value, str):
            raise refuse(value)
        try:
            text = gotime.canonical(value, micro=micro)
        except ValueError as error:
            raise _Abort(str(error)) from None
        # The beginning of Go's time is no time, unless a pointer says that there is one.
        return None if text == gotime.ZERO and not kind.pointer else text

    return decode_time


def _int_or_string(owner: str, stack: tuple[str, ...]) -> Decoder:
    """Make the decoder of ``intstr.IntOrString`` (``k8s.io/apimachinery`` ``pkg/util/intstr``): a text or an int32."""
    refuse = _self_reading("int32", owner, stack)

    def decode_int_or_string(value: Any, notes: _Notes) -> int | str:
        if isinstance(value, str) or (type(value) is int and -(2**31) <= value < 2**31):
            return value
        raise refuse(value)

    return decode_int_or_string


def _self_reading(go: str, owner: str, stack: tuple[str, ...]) -> Callable[[Any], _Abort]:
    """Make a function that returns the error of a Go type that decodes itself, for a value of another type."""
    where = f"into Go struct field {owner}.{'.'.join(stack)} of type {go}"
    return lambda value: _Abort(f"json: cannot unmarshal {name_of(value)} {where}")


def _bytes(kind: Type, owner: str, stack: tuple[str, ...]) -> Decoder:
    wrong = _wrong_type(kind, owner, stack)
    decode_byte = _integer(Type("int", "uint8"), owner, stack)

    def decode_bytes(value: Any, notes: _Notes) -> Any:
        if isinstance(value, list):
            # A list of numbers is one of bytes, too.
            found = bytes(0 if item is None else decode_byte(item, notes) for item in value)
            return base64.b64encode(found).decode()
        if not isinstance(value, str):
            return wrong(value, notes, "")
        try:
            gobase64.decode(value)
        except gobase64.Base64Error as error:
            notes.wrong_type = notes.wrong_type or str(error)
        return value.replace("\n", "").replace("\r", "")

    return decode_bytes


def _unread(value: Any, notes: _Notes) -> Any:
    """Take any value as it is."""
    return value


def _raw(value: Any, notes: _Notes) -> Any:
    """Take any value without long numbers, which upstream would keep, but no client here could read again."""
    if holds_long_number(value):
        raise _Abort(f"a number of more than {FEW_DIGITS} digits in an embedded object is not supported")
    return value
