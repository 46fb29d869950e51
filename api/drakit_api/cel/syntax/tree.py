"""The syntax tree of a selector, after macros are recognized and before it is checked.

``position`` is the offset in code points that cel-go reports problems at: the operator of a binary expression, the
parenthesis of a call, the dot of a selection. The checker fills in ``type`` and ``overloads``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from drakit_api.cel.values.types import DYN, Type

if TYPE_CHECKING:
    from drakit_api.cel.values.declarations import Overload


@dataclass(slots=True)
class Node:
    """Base of all nodes."""

    position: int
    type: Type = field(default=DYN, init=False)


@dataclass(slots=True)
class Literal(Node):
    """A constant: bool, int, Uint, float, str, bytes or None."""

    value: Any


@dataclass(slots=True)
class Ident(Node):
    """A name."""

    name: str


@dataclass(slots=True)
class Select(Node):
    """``operand.name``; ``.?`` when optional, ``has(operand.name)`` when only the presence is asked for.

    The checker sets ``type_name`` where the whole is the name of a type, such as ``google.protobuf.Duration``.
    """

    operand: Node
    name: str
    optional: bool = False
    presence: bool = False
    type_name: str = field(default="", init=False)


@dataclass(slots=True)
class Call(Node):
    """A function, a method (``target``) or an operator under its cel-go name, such as ``_==_``.

    ``_&&_`` and ``_||_`` take any number of arguments, so that long chains do not nest.
    """

    function: str
    target: Node | None
    arguments: list[Node]
    overloads: list[Overload] = field(default_factory=list, init=False)

    @property
    def operands(self) -> list[Node]:
        """Target and arguments together."""
        return self.arguments if self.target is None else [self.target, *self.arguments]


@dataclass(slots=True)
class ListLiteral(Node):
    """``[a, ?b]``; ``optional`` holds the indexes of entries written with ``?``."""

    elements: list[Node]
    optional: frozenset[int]


@dataclass(slots=True)
class Entry:
    """``key: value`` in a map literal."""

    key: Node
    value: Node
    optional: bool


@dataclass(slots=True)
class MapLiteral(Node):
    """``{key: value}``."""

    entries: list[Entry]


@dataclass(slots=True)
class Message(Node):
    """``Name{...}``, with an empty name where something else stands before the brace.

    No message type exists for selectors, so the checker always refuses it.
    """

    name: str


@dataclass(slots=True)
class Comprehension(Node):
    """A macro that walks over a list or map: ``all``, ``exists``, ``map`` and so on.

    ``macro`` is its canonical name, ``variables`` one or two names, ``body`` the remaining arguments in their order.
    """

    macro: str
    range: Node
    variables: list[Ident]
    body: list[Node]


@dataclass(slots=True)
class Bind(Node):
    """``cel.bind(name, value, body)``."""

    name: str
    value: Node
    body: Node


def size(tree: Node) -> int:
    """How many nodes a tree has."""
    count, pending = 0, [tree]
    while pending:
        count += 1
        pending.extend(children(pending.pop()))
    return count


def copied(node: Node) -> Node:
    """Copy a tree that has not been checked yet."""
    match node:
        case Select():
            return dataclasses.replace(node, operand=copied(node.operand))
        case Call():
            target = None if node.target is None else copied(node.target)
            return dataclasses.replace(node, target=target, arguments=[copied(child) for child in node.arguments])
        case ListLiteral():
            return dataclasses.replace(node, elements=[copied(child) for child in node.elements])
        case MapLiteral():
            entries = [Entry(copied(entry.key), copied(entry.value), entry.optional) for entry in node.entries]
            return dataclasses.replace(node, entries=entries)
        case Comprehension():
            variables = [Ident(variable.position, variable.name) for variable in node.variables]
            body = [copied(child) for child in node.body]
            return dataclasses.replace(node, range=copied(node.range), variables=variables, body=body)
        case Bind():
            return dataclasses.replace(node, value=copied(node.value), body=copied(node.body))
    return dataclasses.replace(node)


def children(node: Node) -> Iterator[Node]:
    """Yield the operands of a node, in the order they are written."""
    match node:
        case Select():
            yield node.operand
        case Call():
            yield from node.operands
        case ListLiteral():
            yield from node.elements
        case MapLiteral():
            for entry in node.entries:
                yield entry.key
                yield entry.value
        case Comprehension():
            yield node.range
            yield from node.body
        case Bind():
            yield node.value
            yield node.body
