"""JSON as it can be written, which is more than what values can be: numbers of any form, and keys that repeat."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

Path = tuple[str | int, ...]


class Literal(str):
    """Text that stands in JSON as it is, such as a number that no machine word holds."""

    __slots__ = ()


class Repeated(list[tuple[str, Any]]):
    """An object as a list of its keys and values, of which some keys repeat."""


def text(tree: Any) -> str:
    """Write a tree."""
    if isinstance(tree, Literal):
        return str(tree)
    if isinstance(tree, Repeated):
        return "{" + ",".join(f"{json.dumps(key)}:{text(value)}" for key, value in tree) + "}"
    if isinstance(tree, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{text(value)}" for key, value in tree.items()) + "}"
    if isinstance(tree, list):
        return "[" + ",".join(map(text, tree)) + "]"
    return json.dumps(tree)


def paths(tree: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each value in a tree, and first that of the tree itself, which is empty."""
    yield path
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from paths(value, (*path, key))
    elif isinstance(tree, list) and not isinstance(tree, Repeated):
        for index, value in enumerate(tree):
            yield from paths(value, (*path, index))


def at(tree: Any, path: Path) -> Any:
    """Find the value at a path."""
    for key in path:
        tree = tree[key]
    return tree


def changed(tree: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """Copy a tree with another value at a path: what ``change`` makes of the one that is there."""
    if not path:
        return change(copy.deepcopy(tree))
    made = copy.deepcopy(tree)
    parent = at(made, path[:-1])
    parent[path[-1]] = change(parent[path[-1]])
    return made
