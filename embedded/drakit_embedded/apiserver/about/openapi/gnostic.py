"""Version 2 of OpenAPI as protobuf, the form in which kubectl reads it.

The messages are those of github.com/google/gnostic-models/openapiv2/OpenAPIv2.proto, of which these documents use few:
each function writes one of them, field by field. What the format has no field for is YAML in an extension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from drakit_api.kubernetes_objects import Object

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
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
    parts = [
        _text(1, schema.get("$ref", "")),
        _text(2, schema.get("format", "")),
        _text(4, schema.get("description", "")),
        _texts(19, schema.get("required", ())),
        _all(20, (_text(2, _yaml(value)) for value in schema.get("enum", ()))),
    ]
    if "additionalProperties" in schema:
        parts.append(_message(21, _message(1, _schema(schema["additionalProperties"]))))
    if "type" in schema:
        parts.append(_message(22, _text(1, schema["type"])))
    if "items" in schema:
        parts.append(_message(23, _message(1, _schema(schema["items"]))))
    if "properties" in schema:
        parts.append(_message(25, _each(1, schema["properties"], _schema)))
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


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*digits, value))
