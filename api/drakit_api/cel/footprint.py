"""What an expression can read of a device, so that its verdict is remembered for all devices that are alike in that.

Nodes with the same hardware publish devices that differ in a UUID or two, at which hardly any selector looks. Where it
cannot be told what is read (the device passed on as a whole, a key that is computed), it is taken to be all: two
devices that agree on the footprint always get the same value, or the same error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal as OneOf

from drakit_api.cel.syntax.tree import Bind, Call, Comprehension, Ident, Literal, Node, Select, children


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
        """Whether the expression may read this attribute."""
        return self.all_attributes or domain in self.domains or (domain, name) in self.attributes


EVERYTHING = Footprint(all_attributes=True, capacity=True)
NOTHING = Footprint()


@dataclass(frozen=True, slots=True)
class _Place:
    """A part of the device that has been named but not looked into: all attributes (no domain), or one domain."""

    field: OneOf["device", "attributes", "capacity"]
    domain: str | None = None


_FIELDS = {"attributes": _Place("attributes"), "capacity": _Place("capacity")}
_Read = tuple[_Place, str | None]  # None: all that is there
_Scope = Mapping[str, _Place | None]  # local variables; None for values whose reading is accounted for already


def footprint(tree: Node) -> Footprint:
    """Of a checked tree."""
    if _rebinds_device(tree):
        return EVERYTHING
    reads = set(_visit(tree, {}))
    if any(place.field == "device" for place, _ in reads):
        return EVERYTHING
    of_attributes = [(place.domain, name) for place, name in reads if place.field == "attributes"]
    return Footprint(
        frozenset((domain, name) for domain, name in of_attributes if domain is not None and name is not None),
        frozenset(domain for domain, name in of_attributes if domain is not None and name is None),
        all_attributes=(None, None) in of_attributes,
        capacity=any(place.field == "capacity" for place, _ in reads),
    )


def _rebinds_device(node: Node) -> bool:
    """Whether a local variable hides the device somewhere, so that the name alone does not tell which is meant."""
    match node:
        case Bind(name="device"):
            return True
        case Comprehension() if any(variable.name == "device" for variable in node.variables):
            return True
    return any(map(_rebinds_device, children(node)))


def _visit(node: Node, scope: _Scope) -> Iterator[_Read]:
    """All that evaluating the node may read."""
    place = _place(node, scope)
    if place is not None:
        yield place, None
        return
    match node:
        case Select() if (container := _place(node.operand, scope)) is not None:
            yield from _entry(container, node.name)
        case Call(function="_[_]" | "_[?_]") if (container := _place(node.arguments[0], scope)) is not None:
            yield from _entry(container, _text(node.arguments[1]))
            yield from _visit(node.arguments[1], scope)
        case Call(function="@in") if (container := _place(node.arguments[1], scope)) is not None:
            yield from _entry(container, _text(node.arguments[0]))
            yield from _visit(node.arguments[0], scope)
        case Bind():
            bound = _place(node.value, scope)
            if bound is None:
                yield from _visit(node.value, scope)
            yield from _visit(node.body, {**scope, node.name: bound})
        case Comprehension():
            yield from _visit(node.range, scope)
            inner = {**scope, **dict.fromkeys(variable.name for variable in node.variables)}
            for part in node.body:
                yield from _visit(part, inner)
        case _:
            for child in children(node):
                yield from _visit(child, scope)


def _entry(container: _Place, name: str | None) -> Iterator[_Read]:
    """Yield what is read through an entry: a name in a known domain, else anything of the domain or of the field."""
    if container.field == "device":
        if name not in ("driver", "allowMultipleAllocations"):
            yield container, None
        elif name == "allowMultipleAllocations":
            yield _Place("capacity"), None
    elif container.domain is None and name is not None:
        yield _Place(container.field, name), None
    else:
        yield container, name


def _place(node: Node, scope: _Scope) -> _Place | None:
    """Return the part of the device that the node stands for, or would stand for as an optional."""
    match node:
        case Ident():
            return scope[node.name] if node.name in scope else _Place("device") if node.name == "device" else None
        case Select() if not node.presence and not node.type_name:
            return _inner(_place(node.operand, scope), node.name)
        case Call(function="_[_]" | "_[?_]"):
            return _inner(_place(node.arguments[0], scope), _text(node.arguments[1]))
    return None


def _inner(container: _Place | None, name: str | None) -> _Place | None:
    if container is None or name is None:
        return None
    if container.field == "device":
        return _FIELDS.get(name)
    return _Place(container.field, name) if container.domain is None else None


def _text(key: Node) -> str | None:
    return key.value if isinstance(key, Literal) and isinstance(key.value, str) else None
