"""An object in protobuf, for a client that takes nothing else: the only form that has opaque parameters as they came.

JSON answers print embedded objects anew, in kube-apiserver as here. Whoever has to write an object back whose spec may
not change, not even by a space, reads it in protobuf, as Kubernetes' own components do. The same table of messages as
for bodies (``protobuf``) is read the other way round.
"""

from __future__ import annotations

import base64
import functools
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from drakit_api.etcd import messages
from drakit_api.golang.gostrings import to_json
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.raw_extensions import Embedded
from drakit_embedded.apiserver.wire import protobuf

_VARINT, _LENGTH, _DOUBLE = 0, 2, 1
_STATUS = "meta/v1.Status"
_EMPTY: dict[str, Any] = {"s": "", "i": 0}
_encode_json = msgspec.json.Encoder(order="sorted").encode


def encode(kind: str, api_version: str, obj: Object) -> bytes:
    """Encode an object with its envelope.

    Raises:
        KeyError: for a kind that has no protobuf message.
    """
    return _enveloped(kind, api_version, _message(messages.name_of(api_version, kind), obj))


def encode_status(status: Object) -> bytes:
    """Encode a refusal, which is of no group and every version."""
    return _enveloped(status["kind"], status["apiVersion"], _message(_STATUS, _complete(_STATUS, status)))


def _complete(message: str, obj: Object) -> Object:
    """Add what Go writes though it is empty: texts, numbers and messages that are no pointers."""
    found: Object = {}
    for _, field in _fields(message):
        value = obj.get(field.name)
        if field.type in _EMPTY:
            found[field.name] = _EMPTY[field.type] if value is None and not field.marks else value
        elif "[" in field.marks:
            found[field.name] = [_complete(field.type, item) for item in value or ()]
        elif value is not None or not field.marks:
            found[field.name] = _complete(field.type, value or {})
    return found


def _enveloped(kind: str, api_version: str, message: bytes) -> bytes:
    type_meta = _bytes(1, api_version.encode()) + _bytes(2, kind.encode())
    return protobuf.MAGIC + _bytes(1, type_meta) + _bytes(2, message) + _bytes(3, b"") + _bytes(4, b"")


def has_message(api_version: str, kind: str) -> bool:
    """Check whether objects of a kind can be written; custom resources cannot."""
    return messages.name_of(api_version, kind) in messages.table()


@functools.cache
def _fields(message: str) -> tuple[tuple[int, messages.Field], ...]:
    return tuple(sorted(messages.fields(message).items()))


def _message(name: str, obj: Object) -> bytes:
    return b"".join(_written(name, obj))


def _written(name: str, obj: Object) -> Iterator[bytes]:
    for number, field in _fields(name):
        if "<" in field.marks:
            yield _bytes(number, _message(field.type, obj))
            continue
        value = obj.get(field.name)
        if value is None:
            continue
        if "{" in field.marks:
            for key in sorted(value):
                yield _bytes(number, _bytes(1, key.encode()) + _value(2, field.type, value[key]))
        elif "[" in field.marks:
            for item in value:
                yield _value(number, field.type, item)
        else:
            yield _value(number, field.type, value)


def _value(number: int, kind: str, value: Any) -> bytes:
    """Encode one field with its number; ``kind`` is a letter for a scalar, or the name of a message."""
    if kind in ("t", "i"):
        return _varint(number << 3 | _VARINT) + _varint(int(value))
    if kind == "d":
        return _varint(number << 3 | _DOUBLE) + struct.pack("<d", value)
    special, wrap = _SPECIAL.get(kind), _WRAPPED.get(kind)
    if special is not None:
        return _bytes(number, special(value))
    return _bytes(number, _message(kind, value if wrap is None else wrap(value)))


def _bytes(number: int, payload: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH) + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _time(text: str) -> bytes:
    moment = datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)
    nanos = _value(2, "i", moment.microsecond * 1000)
    return _value(1, "i", int(moment.replace(microsecond=0).timestamp())) + nanos


def _int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return _value(1, "i", 1) + _value(2, "i", 0) + _bytes(3, value.encode())
    return _value(1, "i", 0) + _value(2, "i", value) + _bytes(3, b"")


def _extension(value: Any) -> bytes:
    return _bytes(1, (value.text if isinstance(value, Embedded) else to_json(value)).encode())


def _schema_or_list(value: Any) -> Object:
    return {"jSONSchemas": value} if isinstance(value, list) else {"schema": value}


def _schema_or_bool(value: Any) -> Object:
    return {"allows": value} if isinstance(value, bool) else {"allows": True, "schema": value}


def _schema_or_names(value: Any) -> Object:
    return {"property": value} if isinstance(value, list) else {"schema": value}


_EXTENSIONS = "apiextensions/v1"
# Messages that are a choice, of which JSON has only what was chosen.
_WRAPPED: dict[str, Callable[[Any], Object]] = {
    f"{_EXTENSIONS}.JSONSchemaPropsOrArray": _schema_or_list,
    f"{_EXTENSIONS}.JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray": _schema_or_names,
}
_SPECIAL: dict[str, Callable[[Any], bytes]] = {
    "s": str.encode,
    "b": base64.b64decode,
    "meta/v1.Time": _time,
    "meta/v1.MicroTime": _time,
    "meta/v1.FieldsV1": lambda value: _bytes(1, _encode_json(value)),
    "Quantity": lambda value: _bytes(1, str(value).encode()),
    "IntOrString": _int_or_string,
    "RawExtension": _extension,
    f"{_EXTENSIONS}.JSON": lambda value: _bytes(1, to_json(value).encode()),
}
for _package in ("authentication", "authorization", "certificates"):
    _SPECIAL[f"{_package}/v1.ExtraValue"] = lambda value: b"".join(_bytes(1, item.encode()) for item in value)
