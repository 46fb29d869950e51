"""One step of a field's path, in the text form of fieldsV1.

``f:name`` is a field or the key of a map, ``k:{"name":"a"}`` an item of a list with keys, ``v:"a"`` an item of a set,
``i:0`` an index (which no schema of Kubernetes uses). sigs.k8s.io/structured-merge-diff/v6/fieldpath/element.go and
serialize-pe.go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from drakit_api.golang.gostrings import quote

# Marks a field as a member of the set where fields below it are members, too.
SELF = "."
_KINDS = "fkvi"
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
# Go's JSON encoder escapes these for HTML.
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class MalformedElement(ValueError):
    """A text that is no step of a field's path."""


def json_text(value: Any) -> str:
    """Encode JSON in Go's spelling, with keys in order."""
    text = _encode(value)
    for plain, escaped in _ESCAPED.items():
        if plain in text:
            text = text.replace(plain, escaped)
    return text


@lru_cache(maxsize=4096)
def _of_string(value: str) -> str:
    return json_text(value)


def _text(value: Any) -> str:
    return _of_string(value) if type(value) is str else json_text(value)


def of_keys(pairs: Iterable[tuple[str, Any]]) -> str:
    """Write the step to a list item with these values of its keys, which come in the order of their names."""
    return "k:{" + ",".join([f'"{name}":{_text(value)}' for name, value in pairs]) + "}"


def of_value(value: Any) -> str:
    """Write the step to an item of a set."""
    return "v:" + _text(value)


def canonical(text: str) -> str | None:
    """Convert a step as a client wrote it to the server's spelling; None for an unknown kind of step.

    Raises:
        MalformedElement: if it cannot be read.
    """
    if len(text) < 2:
        raise MalformedElement("key must be 2 characters long:")
    if text[1] != ":":
        raise MalformedElement(f"missing colon: {text}")
    kind, content = text[0], text[2:]
    if kind not in _KINDS:
        return None
    if kind == "f":
        return text
    try:
        value = json.loads(content)
    except ValueError as error:
        raise MalformedElement(str(error)) from None
    if kind == "v":
        return of_value(value)
    if kind == "k" and isinstance(value, dict):
        return of_keys(sorted(value.items()))
    if kind == "i" and type(value) is int:
        return f"i:{value}"
    raise MalformedElement(f"not a step of a path: {text}")


def rank(element: str) -> tuple[Any, ...]:
    """Compute the sort key of steps below one field: the field itself, then fields, keys, values, indices."""
    return (0,) if element == SELF else _rank(element)


@lru_cache(maxsize=4096)
def _rank(element: str) -> tuple[Any, ...]:
    kind, content = element[0], element[2:]
    if kind == "f":
        return (1, content)
    value = json.loads(content)
    if kind == "k":
        return (2, *((name, _comparable(item)) for name, item in sorted(value.items())))
    return (3 if kind == "v" else 4, _comparable(value))


def _comparable(value: Any) -> tuple[Any, ...]:
    """Compute a sort key: numbers before strings before booleans before all else (value.Compare)."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    return (1, value) if isinstance(value, str) else (3, _encode(value))


def shown(element: str) -> str:
    """Show a step as messages do: ``.name``, ``[name="a"]``, ``[="a"]``."""
    kind, content = element[0], element[2:]
    if kind == "f":
        return f".{content}"
    value = json.loads(content)
    if kind == "k":
        return "[" + ",".join(f"{name}={_shown_value(item)}" for name, item in value.items()) + "]"
    return f"[={_shown_value(value)}]" if kind == "v" else f"[{value}]"


def _shown_value(value: Any) -> str:
    return quote(value) if isinstance(value, str) else _encode(value)
