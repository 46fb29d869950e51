"""Defaults of a custom resource, and nulls where its schema has none.

Source: ``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/apiserver/schema/defaulting`` (``algorithm.go``,
``prunenulls.go``). Every object is defaulted when it is written and again when it is read, so what has no default below
it is not looked at: ``Defaults`` notes once for each level where there are any.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from drakit_api.structural.schema import UNSET, Structural

# A tuple is quicker to test for than a union.
_CONTAINERS = (dict, list)
Filling = Callable[[Any], None]


def drop_nulls(value: Any, schema: Structural | None) -> None:
    """Remove, in place, each field that is null although it may not be, and that no default will replace."""
    if schema is None:
        return
    if isinstance(value, dict):
        nulls = []
        for key, item in value.items():
            if item is None:
                nulls.append(key)
            elif isinstance(item, _CONTAINERS):
                drop_nulls(item, _field(schema, key))
        for key in nulls:
            if _is_misplaced(_field(schema, key)):
                del value[key]
    elif isinstance(value, list) and schema.items is not None:
        for item in value:
            drop_nulls(item, schema.items)


def _is_misplaced(schema: Structural | None) -> bool:
    return schema is not None and not schema.nullable and not _has_default(schema)


def _field(schema: Structural, key: str) -> Structural | None:
    known = schema.properties.get(key)
    if known is None and isinstance(schema.additional, Structural):
        return schema.additional
    return known


class Defaults:
    """The defaults of one schema."""

    def __init__(self, schema: Structural) -> None:
        self._fill = _filling(schema)

    @property
    def are_none(self) -> bool:
        """Whether the schema has none."""
        return self._fill is None

    def fill(self, value: Any) -> None:
        """Set in place what ``value`` lacks, also below what a default has set."""
        if self._fill is not None:
            self._fill(value)


def default(value: Any, schema: Structural) -> None:
    """Set the defaults of a schema in ``value``, in place; ``Defaults`` is for who does it more than once."""
    Defaults(schema).fill(value)


def _has_default(schema: Structural) -> bool:
    # To Go, a default of null is none.
    return schema.default is not UNSET and schema.default is not None


def _filling(schema: Structural) -> Filling | None:
    """Make a function that sets the defaults below a level; None if there are none, and no null to replace."""
    fields = {key: _filling(field) for key, field in schema.properties.items()}
    defaults = {key: field for key, field in schema.properties.items() if _has_default(field)}
    below = {key: fill for key, fill in fields.items() if fill is not None}
    fill_others = _replacing(schema.additional) if isinstance(schema.additional, Structural) else None
    fill_items = _replacing(schema.items) if schema.items is not None else None
    if not (defaults or below or fill_others or fill_items):
        return None

    def fill(value: Any) -> None:
        if isinstance(value, dict):
            for key, field in defaults.items():
                if key not in value or (value[key] is None and not field.nullable):
                    value[key] = copy.deepcopy(field.default)
            for key, fill_field in below.items():
                if key in value:
                    fill_field(value[key])
            if fill_others is not None:
                fill_others(value, [key for key in value if key not in fields])
        elif isinstance(value, list) and fill_items is not None:
            fill_items(value, range(len(value)))

    return fill


def _replacing(schema: Structural) -> Callable[[Any, Any], None] | None:
    """Make a function that defaults the values of a map or list at given keys, nulls by the default itself."""
    fill = _filling(schema)
    replaced = _has_default(schema) and not schema.nullable
    if fill is None and not replaced:
        return None

    def fill_all(values: Any, keys: Any) -> None:
        for key in keys:
            if replaced and values[key] is None:
                values[key] = copy.deepcopy(schema.default)
            if fill is not None:
                fill(values[key])

    return fill_all
