"""Function calls: which variant of a function a call runs, decided at compile time where the types allow it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Container
from typing import Any

from drakit_api.cel.evaluation.comprehensions import Closure
from drakit_api.cel.syntax.tree import Call, Ident, Node, Select
from drakit_api.cel.syntax.visitor import Visitor, constantly
from drakit_api.cel.values.declarations import Implementation, Overload, classes
from drakit_api.cel.values.types import Type
from drakit_api.cel.values.values import LISTS, NUMBERS, Duration, Timestamp, Uint, no_such_overload


def call(implementation: Implementation, operands: list[Closure]) -> Closure:
    """Evaluate the operands in order and pass them on."""
    match operands:
        case []:
            return lambda _: implementation()
        case [only]:
            return lambda frame: implementation(only(frame))
        case [first, second]:
            return lambda frame: implementation(first(frame), second(frame))
    return lambda frame: implementation(*(operand(frame) for operand in operands))


def call_with_constant(implementation: Implementation, operand: Closure, constant: Any) -> Closure:
    """Compile a call of two operands of which the second is a constant."""
    return lambda frame: implementation(operand(frame), constant)


def dispatcher(node: Call, certain: Container[str]) -> Implementation:
    """Make a function of the operands' values that runs the matching overload, or fails as cel-go does.

    ``certain`` are the variables whose values are of their declared types for sure.
    """
    overloads, is_certain = node.overloads, _IsCertain(certain).visit
    direct = _PLAIN_ORDER.get(node.function)
    if direct is not None and _is_ordered(*node.arguments) and all(map(is_certain, node.arguments)):
        return direct
    implementations = {overload.implementation for overload in overloads}
    if len(implementations) == 1 and (overloads[0].checks_arguments or _settled(node, overloads, is_certain)):
        return overloads[0].implementation
    if any(_looks_inside(t) for overload in overloads for t in overload.parameters):
        return _searching(overloads)
    return _by_class(overloads)


# For two values of one type that Python orders as CEL does; a double may be NaN.
_PLAIN_ORDER: dict[str, Implementation] = {
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}


def _is_ordered(left: Node, right: Node) -> bool:
    kinds = ("bool", "bytes", "duration", "int", "string", "timestamp", "uint")
    return left.type == right.type and left.type.kind in kinds


def _settled(node: Call, overloads: list[Overload], is_certain: Callable[[Node], bool]) -> bool:
    """Tell whether the types at compile time already guarantee that the variant fits."""
    return len(overloads) == 1 and all(
        classes(wanted) is None or (_covers(wanted, operand.type) and is_certain(operand))
        for wanted, operand in zip(overloads[0].parameters, node.operands, strict=True)
    )


class _IsCertain(Visitor[bool]):
    """Tells whether the value is of the node's type for sure. Where something is of unknown type, the checker guesses.

    It takes an element of a list of unknown type for whatever the call around it needs.
    """

    def __init__(self, certain: Container[str]) -> None:
        self._certain = certain

    def ident(self, node: Ident) -> bool:
        return node.name in self._certain

    def select(self, node: Select) -> bool:
        return self.visit(node.operand)

    def call(self, node: Call) -> bool:
        if node.function == "_[_]":
            return self.visit(node.arguments[0])
        return not any(_is_generic(overload.result) for overload in node.overloads)

    literal = constantly(True)
    list_literal = map_literal = message = comprehension = bind = constantly(False)


def _is_generic(t: Type) -> bool:
    return t.kind == "parameter" or any(map(_is_generic, t.parameters))


def _covers(wanted: Type, found: Type) -> bool:
    if classes(wanted) is None:
        return True
    if found.kind != wanted.kind or found.name != wanted.name:
        return False
    return wanted.kind not in ("list", "map") or all(map(_covers, wanted.parameters, found.parameters))


def _looks_inside(t: Type) -> bool:
    """Tell whether a value's class does not tell if it fits: ``list<int>``."""
    return t.kind in ("list", "map") and any(classes(p) is not None for p in t.parameters)


# Upstream names an operator that the left value's type does not have at all. These it asks about any operator.
_ASKED = frozenset({str, Timestamp, Duration})
_TAKES: dict[str, frozenset[type]] = {
    "_+_": _ASKED | NUMBERS | {bytes, *LISTS},
    "_-_": _ASKED | NUMBERS,
    "_*_": _ASKED | NUMBERS,
    "_/_": _ASKED | NUMBERS,
    "_%_": _ASKED | {int, Uint},
}


def _failure(overload: Overload, arguments: tuple[Any, ...]) -> Exception:
    match overload.style:
        case "plain":
            takes = _TAKES.get(overload.function)
            return no_such_overload("" if takes is None or type(arguments[0]) in takes else overload.function)
        case "name":
            return no_such_overload(overload.function)
    return no_such_overload(overload.function, *arguments)


def _searching(overloads: list[Overload]) -> Implementation:
    def search(*arguments: Any) -> Any:
        for overload in overloads:
            if overload.accepts(arguments):
                return overload.implementation(*arguments)
        raise _failure(overloads[0], arguments)

    return search


def _by_class(overloads: list[Overload]) -> Implementation:
    """Find the variant by the classes of the arguments, remembering the answer for each combination."""
    chosen: dict[tuple[type, ...], Implementation | None] = {}

    def choose(kinds: tuple[type, ...], arguments: tuple[Any, ...]) -> Implementation:
        found = next((o.implementation for o in overloads if o.accepts(arguments)), None)
        chosen[kinds] = found
        if found is None:
            raise _failure(overloads[0], arguments)
        return found

    def unary(argument: Any) -> Any:
        kinds = (type(argument),)
        return (chosen.get(kinds) or choose(kinds, (argument,)))(argument)

    def binary(first: Any, second: Any) -> Any:
        kinds = (type(first), type(second))
        return (chosen.get(kinds) or choose(kinds, (first, second)))(first, second)

    def general(*arguments: Any) -> Any:
        kinds = tuple(map(type, arguments))
        return (chosen.get(kinds) or choose(kinds, arguments))(*arguments)

    variants: dict[int, Callable[..., Any]] = {1: unary, 2: binary}
    return variants.get(len(overloads[0].parameters), general)
