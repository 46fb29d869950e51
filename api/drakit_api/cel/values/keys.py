"""Map keys: which values can be keys, and which entry a key finds (cel-go v0.29 ``common/types/map.go``).

Python would take ``True``, ``1`` and ``1.0`` for one key. In CEL they are three; looking up a number finds an equal
one of another type, but never a double.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from drakit_api.cel.errors import Panic
from drakit_api.cel.values.values import EMPTY, HASHING, INT_MAX, INT_MIN, NUMBERS, UINT_MAX, Domains, Uint, go_type

MISSING: Final = object()
_PRIMITIVE = frozenset({bool, str, *NUMBERS})


@dataclass(frozen=True, slots=True)
class Key:
    """Stands for a key that is neither a string nor an int."""

    kind: type
    mark: Hashable  # the value, or where it is
    value: Any = field(compare=False)


def map_key(key: Any) -> Any:
    """Convert a CEL key to a dict key. Raises ``Panic`` for one that Go does not hash."""
    kind = type(key)
    if kind is str or kind is int:
        return key
    hashing = HASHING.get(kind, "value")
    if hashing == "never":
        raise Panic(f"runtime error: hash of unhashable type {go_type(key)}")
    return Key(kind, id(key) if hashing == "address" else key, key)


def map_keys(value: Iterable[Any]) -> Iterator[Any]:
    """Yield the CEL keys of a map."""
    return (key.value if type(key) is Key else key for key in value)


def lookup(container: Mapping[Any, Any], key: Any) -> Any:
    """Look up a key in a map; return ``MISSING`` if it has none."""
    if type(key) is str:
        try:
            return container[key]
        except KeyError:
            return MISSING
    if type(container) is not dict:
        return EMPTY if type(container) is Domains else MISSING
    return _lookup(container, key) if container else MISSING


def has_key(container: Mapping[Any, Any], key: Any) -> bool:
    """Evaluate ``key in container``; a domain that is only made up does not count."""
    if type(container) is Domains:
        return type(key) is str and key in container
    return lookup(container, key) is not MISSING


def members(elements: list[Any]) -> frozenset[Any] | None:
    """Return what upstream looks up instead of comparing with the elements of a constant list; None if it must compare.

    Source: ``maybeOptimizeSetMembership`` of ``interpreter/decorators.go``. An int stands for its nearest double.
    """
    if not all(type(element) in _PRIMITIVE for element in elements):
        return None
    return frozenset(map_key(same) for element in elements for same in _same_numbers(element))


def _same_numbers(element: Any) -> Iterator[Any]:
    yield element
    if type(element) in NUMBERS:
        yield float(element)
        yield from _other_integers(element)


def _lookup(container: dict[Any, Any], key: Any) -> Any:
    found = container.get(map_key(key), MISSING)
    if found is MISSING and type(key) in NUMBERS:
        equals = (map_key(number) for number in _other_integers(key))
        return next((container[number] for number in equals if number in container), MISSING)
    return found


def _other_integers(number: float) -> Iterator[int]:
    """Yield the same number as int and as uint, if it is whole and fits."""
    if type(number) is float and not number.is_integer():
        return
    value = int(number)
    if type(number) is not int and INT_MIN <= value <= INT_MAX:
        yield value
    if type(number) is not Uint and 0 <= value <= UINT_MAX:
        yield Uint(value)
