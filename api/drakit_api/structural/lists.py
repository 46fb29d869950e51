"""Lists of which no two items may be alike: sets, and maps in the form of lists.

Source: ``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/apiserver/schema/listtype/validation.go``, and for updates
``pkg/registry/customresource/strategy.go``: an object that had repeated items may keep, add and change them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from drakit_api.golang.gostrings import as_marshaled, marshaled
from drakit_api.structural.schema import Structural
from drakit_api.validation.errors import FieldError, duplicate, invalid

# Look for repeated items below a value.
Search = Callable[[Any, str], Iterator[FieldError]]


_UNSPECIFIED = object()


class Uniqueness:
    """The sets and maps of a schema, found once."""

    def __init__(self, schema: Structural) -> None:
        self._search = _below_object(schema)

    def faults(self, obj: Any, path: str = "") -> list[FieldError]:
        """Return what is repeated in an object, a third time not again."""
        return list(self._search(obj, path)) if self._search is not None and isinstance(obj, dict) else []

    def update_faults(self, new: Any, old: Any, path: str = "") -> list[FieldError]:
        """Return what is repeated in an object, unless something was so before the update."""
        found = self.faults(new, path)
        return [] if found and self.faults(old, path) else found


def faults(obj: Any, schema: Structural, path: str = "") -> list[FieldError]:
    """Return what is repeated in an object; ``Uniqueness`` is for who asks more than once."""
    return Uniqueness(schema).faults(obj, path)


def _below(schema: Structural) -> Search | None:
    """Make the search below a value; None if there is no set and no map below it."""
    of_objects, of_lists = _below_object(schema), _below_list(schema)
    if of_objects is None and of_lists is None:
        return None

    def search(value: Any, path: str) -> Iterator[FieldError]:
        if isinstance(value, dict) and of_objects is not None:
            yield from of_objects(value, path)
        elif isinstance(value, list) and of_lists is not None:
            yield from of_lists(value, path)

    return search


def _below_object(schema: Structural) -> Search | None:
    others = _below(schema.additional) if isinstance(schema.additional, Structural) else None
    below = {key: found for key, field in schema.properties.items() if (found := _below(field)) is not None}
    if not below and others is None:
        return None

    def search(value: dict[str, Any], path: str) -> Iterator[FieldError]:
        for key, item in value.items():
            if others is not None:
                yield from others(item, f"{path}[{key}]")
            if key in below:
                yield from below[key](item, f"{path}.{key}" if path else key)

    return search


def _below_list(schema: Structural) -> Search | None:
    below = _below(schema.items) if schema.items is not None else None
    repeated = {"set": _repeated_in_set, "map": _repeated_in_map}.get(schema.list_type)
    if below is None and repeated is None:
        return None

    def search(value: list[Any], path: str) -> Iterator[FieldError]:
        if repeated is not None:
            yield from repeated(value, schema, path)
        if below is not None:
            for place, item in enumerate(value):
                yield from below(item, f"{path}[{place}]")

    return search


def _repeated_in_set(value: list[Any], schema: Structural, path: str) -> Iterator[FieldError]:
    for place in _repeated(value):
        yield duplicate(f"{path}[{place}]", as_marshaled(value[place]))


def _repeated_in_map(value: list[Any], schema: Structural, path: str) -> Iterator[FieldError]:
    for place, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            yield invalid(f"{path}[{place}]", as_marshaled(item), "must be an object for an array of list-type map")
            return
    keys = [{name: item[name] for name in schema.list_map_keys if item and name in item} for item in value]
    # A single key is compared by itself, several as one object.
    single = len(schema.list_map_keys) == 1
    for place in _repeated([next(iter(key.values()), _UNSPECIFIED) for key in keys] if single else keys):
        yield duplicate(f"{path}[{place}]", as_marshaled(keys[place]))


def _repeated(values: list[Any]) -> Iterator[int]:
    """Yield the places at which a value stands for the second time."""
    if len(values) <= 1:
        return
    counts: dict[Any, int] = {}
    for place, value in enumerate(values):
        # Objects are compared by their texts, scalars by type and value.
        key = marshaled(value) if isinstance(value, dict | list) else (type(value), value)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] == 2:
            yield place
