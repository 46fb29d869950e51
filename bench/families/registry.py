"""The families: a name, the sizes that are worth asking, and what makes a problem of a size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from drakit_api.kubernetes_objects import Object

Make = Callable[[int, Random], Object]


class Family(NamedTuple):
    """Problems of one kind."""

    name: str
    sizes: tuple[int, ...]
    make: Make

    def problem(self, size: int) -> Object:
        """The problem of a size, always the same one."""
        name = f"{self.name}/{size}"
        return {"name": name, **self.make(size, Random(name))}


FAMILIES: dict[str, Family] = {}


def family(*sizes: int) -> Callable[[Make], Make]:
    """A family called as its theme, which is its module, and its function."""

    def register(make: Make) -> Make:
        theme = make.__module__.rpartition(".")[2]
        name = f"{theme}-{make.__name__.strip('_').replace('_', '-')}"
        FAMILIES[name] = Family(name, sizes, make)
        return make

    return register


def problems(only: str = "") -> Iterator[Object]:
    """All problems of the families whose names contain this."""
    for one in FAMILIES.values():
        if only in one.name:
            for size in one.sizes:
                yield one.problem(size)
