"""Walks over syntax trees: what is done with a node by its kind, and all nodes of a tree.

Whatever depends on the kind of a node is a ``Visitor``, so that a new kind is an error until each of them knows it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Generic, NoReturn, TypeVar

from drakit_api.cel.syntax.tree import KINDS, Entry, Ident, Node, Select

_Result = TypeVar("_Result")
_Tree = TypeVar("_Tree", Node, Entry)


class Visitor(Generic[_Result]):
    """Has a method for each kind of node, named after it; a class that lacks one raises ``TypeError`` when defined."""

    def __init_subclass__(cls) -> None:
        if missing := sorted(kind for kind in KINDS if not hasattr(cls, kind)):
            raise TypeError(f"{cls.__name__} does not say what becomes of {', '.join(missing)}")

    def method(self, node: Node) -> Callable[[Node], _Result]:
        """Find what is called with the node."""
        found: Callable[[Node], _Result] = getattr(self, node.kind)
        return found

    def visit(self, node: Node) -> _Result:
        """Call the node's method with it."""
        result: _Result = getattr(self, node.kind)(node)  # not through the method above: this is called all the time
        return result


def constantly(result: _Result) -> Callable[[Any, Node], _Result]:
    """Make the method of a visitor for kinds of which it always says the same."""
    return lambda *_: result


def unexpected(visitor: object, node: Node) -> NoReturn:
    """Refuse, as the method of a visitor, a kind that cannot be where it walks."""
    raise AssertionError(node)


def children(node: Node | Entry) -> list[Node]:
    """List the operands of a node, in the order they are written."""
    found: list[Node] = []
    for name in node.parts:
        part = getattr(node, name)
        if not isinstance(part, list):
            found += () if part is None else (part,)
        elif part and isinstance(part[0], Entry):
            found += chain.from_iterable(map(children, part))
        else:
            found += part
    return found


def walk(tree: Node) -> Iterator[Node]:
    """Yield all nodes of a tree, in the order they are written, each before its operands. Does not recurse."""
    pending = [tree]
    while pending:
        yield (node := pending.pop())
        pending += reversed(children(node))


def copied(tree: _Tree) -> _Tree:
    """Copy a tree that has not been checked yet."""
    copies: dict[str, Any] = {}
    for name in tree.parts:
        part = getattr(tree, name)
        copies[name] = list(map(copied, part)) if isinstance(part, list) else None if part is None else copied(part)
    return dataclasses.replace(tree, **copies)


def dotted_name(node: Node) -> str:
    """Return ``a.b.c`` as one name; empty if the node is anything else."""
    names = []
    while isinstance(node, Select) and not node.optional and not node.presence:
        names.append(node.name)
        node = node.operand
    return ".".join([node.name, *reversed(names)]) if isinstance(node, Ident) else ""
