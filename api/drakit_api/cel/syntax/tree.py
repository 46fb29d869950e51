"""The syntax tree of an expression, after macros are recognized and before it is checked.

``position`` is the offset in code points that cel-go reports problems at: the operator of a binary expression, the
parenthesis of a call, the dot of a selection. The checker fills in ``type`` and ``overloads``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from drakit_api.cel.values.types import DYN, Type

if TYPE_CHECKING:
    from drakit_api.cel.values.declarations import Overload


KINDS: set[str] = set()


@dataclass(slots=True)
class Node:
    """Base of all nodes.

    ``kind`` is the name of a visitor's method for them: ``list_literal`` of ``ListLiteral``. ``parts`` are the fields
    that hold nodes, in the order they are written.
    """

    kind: ClassVar[str]
    parts: ClassVar[tuple[str, ...]]
    position: int
    type: Type = field(default=DYN, init=False)

    def __init_subclass__(cls) -> None:
        cls.kind = re.sub("(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
        cls.parts = tuple(name for name, held in cls.__annotations__.items() if "Node" in held or "Entry" in held)
        KINDS.add(cls.kind)


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

    The checker sets ``qualified`` where the whole is the name of a type or a variable, such as
    ``google.protobuf.Duration``.
    """

    operand: Node
    name: str
    optional: bool = False
    presence: bool = False
    qualified: str = field(default="", init=False)


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
    """``key: value`` in a map literal, or in a message, where the key is the name of a field."""

    parts: ClassVar = ("key", "value")
    key: Node
    value: Node
    optional: bool


@dataclass(slots=True)
class MapLiteral(Node):
    """``{key: value}``."""

    entries: list[Entry]


@dataclass(slots=True)
class Message(Node):
    """``Name{field: value}``, with an empty name where something else stands before the brace."""

    name: str
    entries: list[Entry]


def name_of(entry: Entry) -> str:
    """Return the name of a field in a message."""
    assert isinstance(entry.key, Literal)
    return str(entry.key.value)


@dataclass(slots=True)
class Comprehension(Node):
    """A macro that walks over a list or map: ``all``, ``exists``, ``map`` and so on.

    ``macro`` is its canonical name, ``variables`` one or two names, ``body`` the remaining arguments in their order.
    """

    macro: str
    range: Node
    variables: list[str]
    body: list[Node]


@dataclass(slots=True)
class Bind(Node):
    """``cel.bind(name, value, body)``; ``written`` is the call, where it was written as such."""

    name: str
    value: Node
    body: Node
    written: Call | None = None
