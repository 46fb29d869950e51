"""From decoded objects to JSON, as the Go types of an API server encode themselves.

What a server stores and returns differs from what it was sent: fields in the order of the type, empty ones left out or
spelled out (``generation: 0``), quantities canonical. Error messages show values in the same form, or, where they come
from the server's internal types, under their Go names.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import msgspec

from drakit_api.objects import schema, structs
from drakit_api.objects.schema import Field, Schema, Type

Encoder = Callable[[Any], Any]

_read = msgspec.json.Decoder(dict[str, Any]).decode
_ZEROS: dict[str, Any] = {"string": "", "bool": False, "int": 0, "quantity": "0", "time": None, "microtime": None}


def encode(kind: str, obj: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    """Encode a whole object as the server stores it; ``obj`` is not changed."""
    encoded: dict[str, Any] = struct_encoder(schema.struct_of(kind, version))(obj)
    return encoded


def encode_once(kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    """Encode a v1 object that is only written and not read any more: its spec may become text (``msgspec.Raw``)."""
    struct = f"{schema.struct_of(kind)}Spec"
    text = structs.writer(schema.load(), struct)(obj.get("spec") or {}) if structs.is_bulky(struct) else None
    if text is None:
        return encode(kind, obj)
    return {**encode(kind, {**obj, "spec": {}}), "spec": msgspec.Raw(text)}


@functools.cache
def struct_encoder(struct: str, types: Schema | None = None, *, as_sent: bool = False) -> Encoder:
    """Make the encoder of a struct such as ``resource/v1.Device``; absent fields are shown where Go always does so.

    ``types`` has the struct, if it is of another group. ``as_sent``: for messages about what was just sent: an empty
    list or map stays one, and is not null.
    """
    types = types or schema.load()
    fields = [
        (field.name, _encoder(field.type, types, as_sent), field.omit, _empties(field))
        for field in types.flat_fields(struct)
    ]

    def encode_struct(value: dict[str, Any]) -> dict[str, Any]:
        encoded = {}
        for name, encode_field, omit, empties in fields:
            item = value.get(name)
            if omit and (item is None or (empties and not item)):
                continue
            encoded[name] = encode_field(item)
        return encoded

    return encode_struct


@functools.cache
def _bulky(struct: str) -> Encoder:
    """Make the encoder of a struct that is mostly written as a whole; to read that text again is still quicker."""
    by_rules = struct_encoder(struct)

    def encode_bulky(value: dict[str, Any]) -> dict[str, Any]:
        text = structs.writer(schema.load(), struct)(value)
        return by_rules(value) if text is None else _read(text)

    return encode_bulky


def _empties(field: Field) -> bool:
    """Tell whether what is false in Python is empty in Go: no pointer, no struct, nothing that encodes itself."""
    return not field.type.pointer and field.type.shape not in ("quantity", "struct", "raw")


def _encoder(kind: Type, types: Schema, as_sent: bool = False) -> Encoder:
    if kind.shape == "struct":
        if not as_sent and structs.is_bulky(kind.struct):
            return _struct(kind, _bulky)
        return _struct(kind, lambda struct: struct_encoder(struct, types, as_sent=as_sent))
    if kind.item is not None:
        # An empty value comes back from the store as null, as protobuf knows no difference.
        return _container(kind, _encoder(kind.item, types, as_sent), empty=... if as_sent else None)
    zero = None if kind.pointer else _ZEROS.get(kind.shape)
    return lambda value: zero if value is None else value


def _struct(kind: Type, encoder_of: Callable[[str], Encoder]) -> Encoder:
    """Make the encoder of a struct, which calls ``encoder_of`` only when it first meets one."""
    made: Encoder | None = None

    def encode_struct(value: Any) -> Any:
        nonlocal made
        if value is None and kind.pointer:
            return None
        if made is None:
            made = encoder_of(kind.struct)
        return made(value or {})

    return encode_struct


def _container(kind: Type, encode_item: Encoder, *, empty: Any = ...) -> Encoder:
    """Make the encoder of a list or map; ``empty`` replaces empty ones, which stay by default."""

    def encode_list(value: Any) -> Any:
        return [encode_item(item) for item in value] if value else _or(value, empty)

    def encode_map(value: Any) -> Any:
        return {key: encode_item(value[key]) for key in sorted(value)} if value else _or(value, empty)

    return encode_list if kind.shape == "list" else encode_map


def _or(value: Any, empty: Any) -> Any:
    return value if empty is ... else empty


@functools.cache
def internal_encoder(struct: str, types: Schema | None = None) -> Encoder:
    """Make the encoder of a struct's internal twin: every field under its Go name, unset ones as zero.

    The twins of ``k8s.io/kubernetes`` ``pkg/apis`` have no JSON tags; only ``metav1`` types keep theirs. ``types`` has
    the struct, if it is of another group than resource.k8s.io.
    """
    types = types or schema.load()
    fields = [(field, _internal(field.type, types)) for field in types.fields(struct)]

    def encode_struct(value: dict[str, Any]) -> dict[str, Any]:
        encoded: dict[str, Any] = {}
        for field, encode_field in fields:
            if not field.name or field.go == "ObjectMeta":
                encoded |= encode_field(value if not field.name else value.get(field.name, {}))
            else:
                encoded[field.go] = encode_field(value.get(field.name))
        return encoded

    return encode_struct


def _internal(kind: Type, types: Schema) -> Encoder:
    if kind.shape == "struct":
        encoder = struct_encoder if kind.struct.startswith("meta/") else internal_encoder
        return _struct(kind, lambda struct: encoder(struct, types))
    return _encoder(kind, types) if kind.item is None else _container(kind, _internal(kind.item, types))
