"""What an expression can read of a device, so that its verdict is remembered for all devices that are alike in that.

Nodes with the same hardware publish devices that differ in a UUID or two, at which hardly any selector looks. Where it
cannot be told what is read (the device passed on as a whole, a key that is computed), it is taken to be all: two
devices that agree on the footprint always get the same value, or the same error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from drakit_api.cel.syntax.tree import Bind, Call, Comprehension, Ident, Literal, Node, Select
from drakit_api.cel.syntax.visitor import Visitor, children, constantly


@dataclass(frozen=True, slots=True)
class Footprint:
    """What is read besides the driver: attributes, and whether anything of capacity and allowMultipleAllocations.

    The problem that makes a device fail every selector is read by all of them and not told here.
    """

    attributes: frozenset[tuple[str, str]] = frozenset()  # domain, name
    domains: frozenset[str] = frozenset()  # those of which it may read any attribute
    all_attributes: bool = False
    capacity: bool = False

    def reads(self, domain: str, name: str) -> bool:
        """Tell whether the expression may read this attribute."""
        return self.all_attributes or domain in self.domains or (domain, name) in self.attributes


EVERYTHING = Footprint(all_attributes=True, capacity=True)
Path = tuple[str, ...]  # of ``device``: a field, then a domain, then a name
_SELECTIONS = frozenset({"_[_]", "_[?_]"})


def footprint(tree: Node) -> Footprint:
    """Find out what a checked tree can read of a device."""
    reads = set(mentioned(tree, reads_bound=True))
    if () in reads:
        return EVERYTHING
    of_attributes = [path[1:] for path in reads if path[0] == "attributes"]
    return Footprint(
        frozenset((path[0], path[1]) for path in of_attributes if len(path) == 2),
        frozenset(path[0] for path in of_attributes if len(path) == 1),
        all_attributes=() in of_attributes,
        capacity=any(path[0] in ("capacity", "allowMultipleAllocations") for path in reads),
    )


def mentioned(tree: Node, *, reads_bound: bool = False) -> Iterator[Path]:
    """Yield the longest paths in a checked tree, in the order they are written.

    Values given to variables count where the variables are used, with ``reads_bound`` also where they are bound; then
    a variable that hides the device counts as all of it, since the name alone does not tell which is meant.
    """
    return _Mentions(_Paths({}), reads_bound).visit(tree)


class _Paths(Visitor[Path | None]):
    """Finds the path below ``device`` that a node stands for; None if it is none, or not written with constants."""

    def __init__(self, variables: Mapping[str, Path | None]) -> None:
        self.variables = variables  # what they stand for, if it is a path

    def ident(self, node: Ident) -> Path | None:
        return self.variables.get(node.name, () if node.name == "device" else None)

    def select(self, node: Select) -> Path | None:
        return _longer(self.visit(node.operand), node.name)

    def call(self, node: Call) -> Path | None:
        match node.function, node.arguments:
            case function, [container, Literal(value=str(key))] if function in _SELECTIONS:
                return _longer(self.visit(container), key)
            case "@in", [Literal(value=str(key)), container]:
                return _longer(self.visit(container), key)
        return None

    literal = list_literal = map_literal = message = comprehension = bind = constantly(None)


def _longer(path: Path | None, name: str) -> Path | None:
    """Add a name to a path, which ends with field, domain and name: parts of a value are read with the value."""
    if path is None or len(path) >= 3 or (path and path[0] not in ("attributes", "capacity")):
        return None
    return (*path, name)


class _Mentions(Visitor[Iterator[Path]]):
    def __init__(self, paths: _Paths, reads_bound: bool) -> None:
        self._paths = paths
        self._reads_bound = reads_bound

    def visit(self, node: Node) -> Iterator[Path]:
        path = self._paths.visit(node)
        return self.method(node)(node) if path is None else iter((path,))

    def _inside(self, variables: Mapping[str, Path | None], *parts: Node) -> Iterator[Path]:
        if self._reads_bound and "device" in variables:
            yield ()
        inside = _Mentions(_Paths({**self._paths.variables, **variables}), self._reads_bound)
        for part in parts:
            yield from inside.visit(part)

    def bind(self, node: Bind) -> Iterator[Path]:
        path = self._paths.visit(node.value)
        if path is None or (self._reads_bound and len(path) == 3):
            yield from self.visit(node.value)
        yield from self._inside({node.name: path}, node.body)

    def comprehension(self, node: Comprehension) -> Iterator[Path]:
        yield from self.visit(node.range)
        yield from self._inside(dict.fromkeys(node.variables), *node.body)

    def _parts(self, node: Node) -> Iterator[Path]:
        for child in children(node):
            yield from self.visit(child)

    literal = ident = select = call = list_literal = map_literal = message = _parts
