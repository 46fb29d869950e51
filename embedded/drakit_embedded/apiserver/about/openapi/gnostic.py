"""Version 2 of OpenAPI as protobuf, the form in which kubectl reads it.

The messages are those of github.com/google/gnostic-models/openapiv2/OpenAPIv2.proto, of which these documents use few:
each function writes one of them, field by field. What the format has no field for is YAML in an extension.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any

from drakit_api.kubernetes_objects import Object

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
# Negative integers are sent as what they are modulo 2 to the power of 64.
_64_BITS = 0xFFFFFFFFFFFFFFFF
# The simple fields of a schema.
_TEXTS = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_NUMBERS = {"multipleOf": 6, "maximum": 7, "minimum": 9}
_INTEGERS = {"maxLength": 11, "minLength": 12, "maxItems": 14, "minItems": 15, "maxProperties": 17, "minProperties": 18}
_FLAGS = {"exclusiveMaximum": 8, "exclusiveMinimum": 10, "uniqueItems": 16}
_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}


def encode(document: Object) -> bytes:
    """Encode a whole OpenAPI 2 document as gnostic's protobuf message Document."""
    security = [_named((name, b"")) for entry in document["security"] for name in entry]
    return b"".join(
        (
            _text(1, document["swagger"]),
            _message(2, _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])),
            _message(8, _each(2, document["paths"], _path)),
            _message(9, _each(1, document["definitions"], _schema)),
            _message(12, b"".join(_message(1, entry) for entry in security)),
            _message(13, _each(1, document["securityDefinitions"], _key_security)),
        )
    )


def _key_security(scheme: Object) -> bytes:
    numbers = {1: "type", 2: "name", 3: "in", 4: "description"}
    return _message(2, b"".join(_text(number, scheme[key]) for number, key in numbers.items()))


def _path(path: Object) -> bytes:
    operations = b"".join(_message(number, _operation(path[key])) for key, number in _METHODS.items() if key in path)
    return operations + _all(9, map(_parameter, path.get("parameters", ())))


def _operation(operation: Object) -> bytes:
    return b"".join(
        (
            _texts(1, operation["tags"]),
            _text(3, operation["description"]),
            _text(5, operation["operationId"]),
            _texts(6, operation["produces"]),
            _texts(7, operation["consumes"]),
            _all(8, map(_parameter, operation.get("parameters", ()))),
            _message(9, _each(1, operation["responses"], _response)),
            _texts(10, operation["schemes"]),
            _extensions(13, operation),
        )
    )


def _response(response: Object) -> bytes:
    schema = _message(2, _message(1, _schema(response["schema"]))) if "schema" in response else b""
    return _message(1, _text(1, response["description"]) + schema)


def _parameter(parameter: Object) -> bytes:
    """Encode a parameter as a ParametersItem: of the body, of the query or of the path."""
    head = _flag(1, parameter.get("required", False)) + _text(2, parameter["in"])
    told = _text(3, parameter.get("description", "")) + _text(4, parameter["name"])
    match parameter["in"]:
        case "body":
            required, schema = _flag(4, parameter.get("required", False)), _message(5, _schema(parameter["schema"]))
            made = _message(1, _text(2, parameter["name"]) + _text(3, "body") + required + schema)
        case "query":
            made = _message(2, _message(3, head + told + _text(6, parameter["type"]) + _flag(20, True)))
        case _:
            made = _message(2, _message(4, head + told + _text(5, parameter["type"]) + _flag(19, True)))
    return _message(1, made)


def _schema(schema: Object) -> bytes:
    parts = [_text(number, schema.get(key, "")) for key, number in _TEXTS.items()]
    parts += [_number(number, schema[key]) for key, number in _NUMBERS.items() if key in schema]
    parts += [_integer(number, schema[key]) for key, number in _INTEGERS.items() if key in schema]
    parts += [_flag(number, schema.get(key, False)) for key, number in _FLAGS.items()]
    parts.append(_texts(19, schema.get("required", ())))
    parts.append(_all(20, (_text(2, _yaml(value)) for value in schema.get("enum", ()))))
    if "additionalProperties" in schema:
        more = schema["additionalProperties"]
        parts.append(_message(21, b"\x10" + _varint(more) if isinstance(more, bool) else _message(1, _schema(more))))
    if "type" in schema:
        parts.append(_message(22, _text(1, schema["type"])))
    if "items" in schema:
        parts.append(_message(23, _message(1, _schema(schema["items"]))))
    if "properties" in schema:
        parts.append(_message(25, _each(1, schema["properties"], _schema)))
    if "externalDocs" in schema:
        documents = schema["externalDocs"]
        parts.append(_message(29, _text(1, documents.get("description", "")) + _text(2, documents.get("url", ""))))
    if "example" in schema:
        parts.append(_message(30, _text(2, _yaml(schema["example"]))))
    return b"".join([*parts, _extensions(31, schema)])


def _extensions(number: int, described: Object) -> bytes:
    """Encode extensions (``x-...``) as NamedAny messages, with their values in YAML."""
    extensions = {key: value for key, value in described.items() if key.startswith("x-")}
    return _each(number, extensions, lambda value: _text(2, _yaml(value)))


def _yaml(value: Any) -> str:
    import yaml  # imported here, as it takes a twentieth of a start

    dumped: str = yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=True)
    return dumped.removesuffix("...\n")


def _each(number: int, entries: Object, write: Callable[[Any], bytes]) -> bytes:
    """Encode each entry of a mapping as a message of its name and its value."""
    return b"".join(_message(number, _named((name, write(value)))) for name, value in entries.items())


def _named(entry: tuple[str, bytes]) -> bytes:
    name, value = entry
    return _text(1, name) + _message(2, value)


def _all(number: int, messages: Iterable[bytes]) -> bytes:
    return b"".join(_message(number, message) for message in messages)


def _texts(number: int, values: Iterable[str]) -> bytes:
    return b"".join(_message(number, value.encode()) for value in values)


def _text(number: int, value: str) -> bytes:
    return _message(number, value.encode()) if value else b""


def _flag(number: int, value: bool) -> bytes:
    return _varint(number << 3) + b"\1" if value else b""


def _number(number: int, value: float) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<d", value) if value else b""


def _integer(number: int, value: float) -> bytes:
    return _varint(number << 3) + _varint(int(value) & _64_BITS) if value else b""


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*digits, value))
