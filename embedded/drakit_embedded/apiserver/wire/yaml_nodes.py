"""The nodes of a YAML document, made of what its parser reports without one call inside the other.

PyYAML's own composer calls itself for each level, in C and without a limit: a body of brackets would end the process.
go-yaml has a limit, too (``go.yaml.in/yaml/v2`` ``scannerc.go``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import yaml

from drakit_embedded.apiserver.wire import budget

# The tag of a plain scalar (unquoted, without a tag).
PLAIN: Final = "plain"
_TEXT = "tag:yaml.org,2002:str"


class YamlError(ValueError):
    """A malformed YAML document, or one that JSON cannot hold; the message is Go's."""


@dataclass(slots=True, eq=False)
class Scalar:
    """One value; ``line`` counts from zero, as in all nodes."""

    line: int
    tag: str
    text: str


@dataclass(slots=True, eq=False)
class Sequence:
    """A YAML sequence."""

    line: int
    items: list[Node]


@dataclass(slots=True, eq=False)
class Mapping:
    """Keys, each followed by its value."""

    line: int
    items: list[Node]

    @property
    def pairs(self) -> zip[tuple[Node, Node]]:
        """Keys with their values."""
        return zip(self.items[::2], self.items[1::2], strict=True)


@dataclass(slots=True, eq=False)
class Alias:
    """A reference to the node of an anchor."""

    line: int
    anchor: str
    node: Scalar | Sequence | Mapping


Node: TypeAlias = Scalar | Sequence | Mapping | Alias


def document(raw: bytes) -> Node | None:
    """Compose the node of the first document; None if there is none.

    Raises:
        YamlError, TooDeepError: if the document is malformed or nested too deep.
        yaml.YAMLError: for what the parser refuses.
        StatusError: 413 for too many values.
    """
    loader, composed = yaml.CSafeLoader(raw), _Composed()
    try:
        while (event := loader.get_event()) and not isinstance(event, yaml.DocumentEndEvent):
            composed.take(event)
    finally:
        loader.dispose()
    return composed.root


class _Composed:
    """The nodes composed so far: the root, and those that are still open."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self._values = 0
        self._open: list[Sequence | Mapping] = []
        self._anchors: dict[str, Scalar | Sequence | Mapping] = {}

    def take(self, event: yaml.Event) -> None:
        """Add an event of the parser."""
        if isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()
        elif isinstance(event, yaml.AliasEvent):
            self._add(self._alias(event))
        elif isinstance(event, yaml.ScalarEvent):
            self._begin(event, Scalar(_line(event), _tag(event), event.value))
        elif isinstance(event, yaml.CollectionStartEvent):
            made = Mapping if isinstance(event, yaml.MappingStartEvent) else Sequence
            node = made(_line(event), [])
            self._begin(event, node)
            self._go_into(node)

    def _alias(self, event: yaml.AliasEvent) -> Alias:
        anchor = event.anchor or ""
        if anchor not in self._anchors:
            raise YamlError(f"yaml: unknown anchor '{anchor}' referenced")
        return Alias(_line(event), anchor, self._anchors[anchor])

    def _begin(self, event: yaml.NodeEvent, node: Scalar | Sequence | Mapping) -> None:
        if event.anchor is not None:
            # An anchor may be defined again, for other values.
            self._anchors[event.anchor] = node
        self._add(node)

    def _add(self, node: Node) -> None:
        self._values += 1
        if self._values > 2 * budget.MOST_VALUES:  # keys are nodes, too
            raise budget.too_many_values()
        if self._open:
            self._open[-1].items.append(node)
        else:
            self.root = node

    def _go_into(self, node: Sequence | Mapping) -> None:
        self._open.append(node)
        if len(self._open) > budget.DEEPEST:
            raise budget.TooDeepError


def _line(event: yaml.Event) -> int:
    return event.start_mark.line if event.start_mark is not None else 0


def _tag(event: yaml.ScalarEvent) -> str:
    if event.tag is None:
        return PLAIN if event.implicit[0] else _TEXT
    return _TEXT if event.tag == "!" else event.tag
