"""Paths of fields in a schema, as ``fieldPath`` of a rule and selectable fields have them: ``.spec.names['a-b']``.

Source: ``ValidFieldPath`` of ``k8s.io/apiextensions-apiserver`` v0.37 ``pkg/apiserver/schema/cel/validation.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from drakit_api.structural.schema import Structural

_TOKEN = re.compile(r"'(?:\\.|[^'\\])*'|[.\[\]]|'[^\n]*|[^.\[\]']+[^.\[\]]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(ValueError):
    """The path is malformed, or its schema has no such field."""


class FieldPath(NamedTuple):
    """A path as Kubernetes writes it, and the schema of what it leads to."""

    text: str
    schema: Structural


def field_path(path: str, schema: Structural, *, brackets: bool = True) -> FieldPath:
    """Follow a path in a schema. Without ``brackets`` it consists of names only. Raises ``FieldPathError``."""
    steps, parts = "", iter(_TOKEN.findall(path))
    for part in parts:
        if part == ".":
            name = _next(parts)
        elif part == "[" and brackets:
            name = _key(parts)
        elif part == "[":
            raise FieldPathError("array notation is not allowed")
        else:
            raise FieldPathError(f"expected [ or . but got: {part}")
        if schema.properties:
            steps += f".{name}" if steps else name
            if name not in schema.properties:
                raise FieldPathError("does not refer to a valid field")
            schema = schema.properties[name]
        elif isinstance(schema.additional, Structural):
            steps += f"[{name}]"
            schema = schema.additional
        else:
            raise FieldPathError("does not refer to a valid field")
    return FieldPath(steps, schema)


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise FieldPathError("unexpected end of JSON path")
    return token


def _key(tokens: Iterator[str]) -> str:
    """Read a quoted key and the closing bracket."""
    token = _next(tokens)
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {token}")
    key = _ESCAPE.sub(_unescaped, token[1:-1])
    if (closing := _next(tokens)) != "]":
        raise FieldPathError(f"expected ] but got {closing}")
    return key


def _unescaped(match: re.Match[str]) -> str:
    if match[1] not in _ESCAPED:
        raise FieldPathError(f"invalid string literal: invalid escape char {match[0]}")
    return _ESCAPED[match[1]]
