"""What a slice publishes as far as names go. Most slices of a driver publish the same, and share one object for it."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from drakit_allocator.devices.columns import OneOfEach

_numbers = itertools.count(1)


class Spoiled(NamedTuple):
    """Where there are values with which no expression can be evaluated: attributes, and whether a capacity is one."""

    attributes: tuple[str, ...] = ()
    capacity: bool = False


class SliceSchema:
    """Compared by identity, made by ``slice_schema``. ``readings``: what expressions read of such slices."""

    __slots__ = ("__weakref__", "driver", "everything", "names", "number", "positions", "readings", "size", "spoiled")

    def __init__(self, driver: str, names: tuple[str, ...], spoiled: Spoiled, size: int) -> None:
        self.driver = driver
        self.names = names  # of attributes that any of the devices has, as published
        self.positions: Mapping[str, int] = {name: position for position, name in enumerate(names)}
        self.spoiled = spoiled
        self.size = size  # the number of devices
        self.everything = (1 << size) - 1  # all devices, as bits
        self.number = next(_numbers)
        self.readings: dict[Hashable, Any] = {}  # to be filled with ``remember``


_SCHEMAS: OneOfEach[Hashable, SliceSchema] = OneOfEach()


def slice_schema(driver: str, names: tuple[str, ...], spoiled: Spoiled, size: int) -> SliceSchema:
    """Return the one schema of all slices with so many devices whose attributes have these names."""
    return _SCHEMAS.of((driver, names, spoiled, size), SliceSchema, driver, names, spoiled, size)
