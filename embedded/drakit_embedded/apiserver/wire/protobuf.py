"""Bodies in protobuf, which Go clients since 1.32 send by default: read into the same objects that JSON gives.

There are no generated message classes: the table of messages (``drakit_api.etcd``) and the four wire types of protobuf
are all that it takes to read a message of any kind. Answers are JSON, which the same clients accept, but for those that
accept nothing else (``protobuf_answers``). Envelope:
k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go.
"""

from __future__ import annotations

import base64
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from drakit_api.etcd import messages
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.raw_extensions import Reread

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\0"
# A schema in a schema is two messages deeper.
_DEEPEST = 160
# From this number on, Go prints exponents.
_WITH_EXPONENT = 1e21
# Errors of malformed values: texts, JSON, floating point numbers, and times (the last two).
_UNREADABLE = (UnicodeDecodeError, msgspec.DecodeError, RecursionError, struct.error, OSError, OverflowError)


class ProtobufError(ValueError):
    """A malformed protobuf message."""


def _fields(message: str) -> Mapping[int, messages.Field]:
    try:
        return messages.fields(message)
    except KeyError:
        raise ProtobufError(f"no message {message} is known") from None


def decode(raw: bytes) -> Object:
    """Decode the object in an envelope, with kind and apiVersion.

    Raises:
        ProtobufError: if it is malformed.
    """
    if not raw:
        raise ProtobufError("empty data")
    if not raw.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        return _object(memoryview(raw)[len(MAGIC) :])
    except _UNREADABLE as error:
        raise ProtobufError(str(error)) from None


def _object(data: memoryview) -> Object:
    envelope = dict(_wire(data))
    type_meta = dict(_wire(_bytes(envelope.get(1, b""))))
    api_version, kind = _text(type_meta.get(1, b"")), _text(type_meta.get(2, b""))
    body = _message(messages.name_of(api_version, kind), _bytes(envelope.get(2, b"")), 0)
    return {"kind": kind, "apiVersion": api_version, **body}


def _wire(data: memoryview | bytes) -> Iterator[tuple[int, Any]]:
    """Split a message into field numbers and values: integers, or the bytes of everything that has a length."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == 0:
            value, at = _varint(data, at)
            yield number, value
        elif wire_type == 2:
            length, at = _varint(data, at)
            if at + length > end:
                raise ProtobufError("unexpected EOF")
            yield number, data[at : at + length]
            at += length
        elif wire_type in (1, 5):
            length = 8 if wire_type == 1 else 4
            if at + length > end:
                raise ProtobufError("unexpected EOF")
            yield number, data[at : at + length]
            at += length
        else:
            raise ProtobufError(f"proto: illegal wireType {wire_type}")


def _varint(data: memoryview | bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ProtobufError("unexpected EOF")
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7


def _bytes(value: Any) -> memoryview:
    if isinstance(value, int):
        raise ProtobufError("proto: wrong wireType")
    return memoryview(value)


def _message(name: str, data: memoryview, depth: int) -> Object:
    if depth > _DEEPEST:
        raise ProtobufError("nested too deep")
    known = _fields(name)
    obj: Object = {}
    for number, value in _wire(data):
        field = known.get(number)
        if field is None:
            continue
        if "{" in field.marks:
            key, item = _entry(field.type, _bytes(value), depth)
            obj.setdefault(field.name, {})[key] = item
            continue
        decoded = _value(field.type, value, depth)
        if "[" in field.marks:
            obj.setdefault(field.name, []).append(decoded)
        elif "<" in field.marks:
            obj |= decoded or {}
        elif "*" in field.marks or decoded not in ("", 0, False, None, {}, []):
            # Go sends zero values of fields that are no pointers, and JSON omits them.
            obj[field.name] = decoded
    return obj


def _entry(kind: str, data: memoryview, depth: int) -> tuple[str, Any]:
    parts = dict(_wire(data))
    empty: Any = 0 if kind in "itd" else b""
    return _text(parts.get(1, b"")), _value(kind, parts.get(2, empty), depth)


def _value(kind: str, value: Any, depth: int) -> Any:
    special = _SPECIAL.get(kind)
    if special is not None:
        return special(value)
    found = _message(kind, _bytes(value), depth + 1)
    unwrap = _WRAPPED.get(kind)
    return found if unwrap is None else unwrap(found)


def _integer(value: Any) -> int:
    if not isinstance(value, int):
        raise ProtobufError("proto: wrong wireType")
    return value - (1 << 64) if value >= 1 << 63 else value


def _text(value: Any) -> str:
    return str(bytes(_bytes(value)), "utf-8")


def _double(value: Any) -> float | int:
    found: float = struct.unpack("<d", _bytes(value))[0]
    # As Go prints it: without a fraction that is zero.
    return int(found) if abs(found) < _WITH_EXPONENT and found.is_integer() else found


def _time(value: Any) -> str | None:
    parts = dict(_wire(_bytes(value)))
    seconds = _integer(parts.get(1, 0))
    # Go's zero time is year 1; its JSON is null.
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if seconds > 0 else None


def _micro_time(value: Any) -> str | None:
    parts = dict(_wire(_bytes(value)))
    seconds, nanos = _integer(parts.get(1, 0)), _integer(parts.get(2, 0))
    if seconds <= 0:
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{nanos // 1000:06}Z"


def _quantity(value: Any) -> str:
    return _text(dict(_wire(_bytes(value))).get(1, b""))


def _int_or_string(value: Any) -> int | str:
    parts = dict(_wire(_bytes(value)))
    return _text(parts.get(3, b"")) if parts.get(1, 0) == 1 else _integer(parts.get(2, 0))


def _raw(value: Any) -> Any:
    raw = bytes(_bytes(dict(_wire(_bytes(value))).get(1, b"")))
    return msgspec.json.decode(raw) if raw else None


def _extension(value: Any) -> Any:
    raw = bytes(_bytes(dict(_wire(_bytes(value))).get(1, b"")))
    found = msgspec.json.decode(raw) if raw else None
    return Reread(found, raw.decode()) if isinstance(found, dict) else found


def _strings(value: Any) -> list[str]:
    return [_text(item) for _, item in _wire(_bytes(value))]


def _schema_or_list(found: Object) -> Any:
    return found.get("jSONSchemas") or found.get("schema")


def _schema_or_bool(found: Object) -> Any:
    return found.get("schema", found.get("allows", False))


def _schema_or_names(found: Object) -> Any:
    return found.get("property") or found.get("schema")


_EXTENSIONS = "apiextensions/v1"
# Messages that are a choice, of which JSON has only what was chosen.
_WRAPPED: dict[str, Callable[[Object], Any]] = {
    f"{_EXTENSIONS}.JSONSchemaPropsOrArray": _schema_or_list,
    f"{_EXTENSIONS}.JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray": _schema_or_names,
}
_SPECIAL: dict[str, Callable[[Any], Any]] = {
    "s": _text,
    "b": lambda value: base64.b64encode(_bytes(value)).decode(),
    "t": bool,
    "i": _integer,
    "d": _double,
    "meta/v1.Time": _time,
    "meta/v1.MicroTime": _micro_time,
    "meta/v1.FieldsV1": _raw,
    "Quantity": _quantity,
    "IntOrString": _int_or_string,
    "RawExtension": _extension,
    f"{_EXTENSIONS}.JSON": _raw,
    "authentication/v1.ExtraValue": _strings,
    "authorization/v1.ExtraValue": _strings,
    "certificates/v1.ExtraValue": _strings,
}
