"""Columns: one property of all devices of a slice or pool, and values that are one object wherever they are equal.

A cluster has far fewer different devices than devices: nodes with the same hardware publish the same partitions, but
for a UUID or two. Kept by columns, all of it that is equal is there once, whatever else differs; and what depends on
some columns only, such as the verdicts of a selector, is found out once and hangs on them. Everything here lives as
long as a slice that publishes it, so that memory grows with the cluster and not with time.
"""

from __future__ import annotations

import functools
import itertools
import operator
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar

import msgspec

from drakit_api.cel.device import attribute_value

_T_co = TypeVar("_T_co", covariant=True)
_T = TypeVar("_T")
_K = TypeVar("_K")
_Arguments = ParamSpec("_Arguments")

# Numbers stand for objects in keys, where a reference would keep them alive. They are never used twice.
_numbers = itertools.count(1)

# Findings kept for each column or pool. Claims repeat a handful; whoever generates a new expression for every claim
# must not fill the memory.
_REMEMBERED = 256


def remember(memory: dict[Any, _T], key: Any, value: _T, limit: int = _REMEMBERED) -> _T:
    """Store a finding and return it; the oldest is forgotten when there are too many."""
    if len(memory) >= limit and key not in memory:
        memory.pop(next(iter(memory)), None)
    memory[key] = value
    return value


class OneOfEach(weakref.WeakValueDictionary[_K, _T]):
    """Objects that are one wherever their keys are equal, as long as somebody holds them."""

    def of(self, key: _K, make: Callable[_Arguments, _T], *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _T:
        """Return the object of a key; make it from the arguments if nobody holds one."""
        found = self.get(key)
        if found is None:
            found = self[key] = make(*args, **kwargs)
        return found


class AttributeValue:
    """One value of an attribute, of whatever device and name. Equal values are one object."""

    __slots__ = ("__weakref__", "compared", "number", "problem", "published", "typed")

    def __init__(self, published: Mapping[str, Any]) -> None:
        self.number = next(_numbers)
        self.published = published
        self.problem = ""  # set where no selector can be evaluated on a device with this value
        self.typed: Any = None
        self.compared: list[Any] = [None, None]  # as constraints compare it, alone and as a set, once that is known
        try:
            self.typed = attribute_value(published)
        except ValueError as error:
            self.problem = str(error)


_VALUES: OneOfEach[Hashable, AttributeValue] = OneOfEach()


def attribute_of(published: Mapping[str, Any] | None) -> AttributeValue:
    """Return the one object for all equal v1 ``DeviceAttribute``s."""
    published = published or {}
    key: Hashable = None
    if len(published) == 1:
        ((kind, value),) = published.items()
        if type(value) is str:
            key = kind, value
    if key is None:
        key = msgspec.json.encode(published)
    found = _VALUES.get(key)
    if found is None:
        own = {kind: value} if type(key) is tuple else msgspec.json.decode(msgspec.json.encode(published))
        found = _VALUES[key] = AttributeValue(own)
    return found


class Column(Generic[_T_co]):
    """One property of devices in their order. Equal columns are one object, made by ``column_of``."""

    __slots__ = ("__weakref__", "_has_problem", "_positions", "memory", "number", "values")

    def __init__(self, values: tuple[_T_co, ...]) -> None:
        self.values = values
        self.number = next(_numbers)
        self.memory: dict[Hashable, Any] = {}  # what depends on this column and, by number, on older ones
        self._has_problem: bool | None = None
        self._positions: dict[Any, int] | None = None

    @property
    def has_problem(self) -> bool:
        """Whether a value, of an attribute or capacity, keeps its device from being evaluated."""
        if self._has_problem is None:
            self._has_problem = any(getattr(value, "problem", "") for value in set(self.values))
        return self._has_problem

    @property
    def positions(self) -> Mapping[Any, int]:
        """Where each value is; of one that is there more than once, the last."""
        if self._positions is None:
            self._positions = {value: position for position, value in enumerate(self.values)}
        return self._positions

    def masks(self) -> dict[Any, int]:
        """Map each value, in order of appearance, to the positions that have it, as bits."""
        found: dict[Any, int] = {}
        for position, value in enumerate(self.values):
            found[value] = found.get(value, 0) | 1 << position
        return found


_COLUMNS: OneOfEach[tuple[Any, ...], Column[Any]] = OneOfEach()


def column_of(values: tuple[_T, ...]) -> Column[_T]:
    """Return the column of these values: strings, or objects that are compared by identity."""
    return _COLUMNS.of(values, Column, values)


def joined(parts: list[Column[_T]]) -> Column[_T]:
    """Join columns into one with the values of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return column_of(tuple(itertools.chain.from_iterable(part.values for part in parts)))


class Key:
    """Stands for a tuple: equal ones are one object, so that comparing them costs nothing."""

    __slots__ = ("__weakref__", "parts")

    def __init__(self, parts: Hashable) -> None:
        self.parts = parts


_KEYS: OneOfEach[Hashable, Key] = OneOfEach()


def key_of(parts: Hashable) -> Key:
    """Return the key that stands for these parts, as long as somebody holds it."""
    return _KEYS.of(parts, Key, parts)


def union(masks: Iterable[int]) -> int:
    """Return the bits that are set in any of the masks."""
    return functools.reduce(operator.or_, masks, 0)


def bits(mask: int) -> list[int]:
    """List the positions of the bits that are set, in increasing order."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
