"""What people who write YAML and JSON call a value; ``golang.gojson.name_of`` is what Go's decoder calls it."""

from __future__ import annotations

_NAMES: dict[type, str] = {dict: "object", list: "list", str: "string", bool: "boolean", int: "number", float: "number"}


def value_name(value: object) -> str:
    """Return ``object``, ``list``, ``string``, ``number``, ``boolean`` or ``null``, else the Python type's name."""
    return "null" if value is None else _NAMES.get(type(value), type(value).__name__)
