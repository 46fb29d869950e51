"""Checks of a well-typed expression that cel-go makes before it accepts it: literals that can never work.

Those that Kubernetes enables (``k8s.io/apiserver`` v0.37 ``pkg/cel/environment/base.go``), from cel-go v0.29
``cel/validator.go`` and ``ext/formatting.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from drakit_api.cel.errors import CelRuntimeError, Problem
from drakit_api.cel.library import conversions, regex, texts
from drakit_api.cel.syntax.tree import Call, Entry, ListLiteral, Literal, MapLiteral, Node
from drakit_api.cel.syntax.visitor import Visitor, children, constantly, walk
from drakit_api.cel.values.types import Type, is_optional

_LITERAL_CHECKS: dict[tuple[str, type], Callable[[Any], object]] = {
    ("duration", str): conversions.string_to_duration,
    ("timestamp", str): conversions.string_to_timestamp,
    ("timestamp", int): conversions.seconds_to_timestamp,
    ("matches", str): regex.compile_pattern,
}


def validate(tree: Node) -> list[Problem]:
    """List what is wrong with the literals of a checked expression."""
    literals = _Literals()
    return [problem for node in walk(tree) for problem in literals.visit(node)]


class _Literals(Visitor[Iterable[Problem]]):
    """Lists what is wrong with one node after the other, each before its operands."""

    def __init__(self) -> None:
        self._formatted: set[int] = set()  # ids of nodes that may hold values of several types

    def call(self, node: Call) -> Iterator[Problem]:
        yield from _literal_problems(node)
        if node.function == "format":
            self._formatted.update(map(id, walk(node)))
            yield from _format_problems(node)

    def list_literal(self, node: ListLiteral) -> Iterable[Problem]:
        return () if id(node) in self._formatted else _list_problems(node)

    def map_literal(self, node: MapLiteral) -> Iterable[Problem]:
        return () if id(node) in self._formatted else _map_problems(node.entries)

    literal = ident = select = message = comprehension = bind = constantly(())


def _literal_problems(node: Call) -> Iterator[Problem]:
    argument = node.arguments[0] if node.arguments else None
    if not isinstance(argument, Literal):
        return
    check = _LITERAL_CHECKS.get((node.function, type(argument.value)))
    if check is None:
        return
    try:
        check(argument.value)
    except CelRuntimeError:
        yield Problem(argument.position, f"invalid {node.function} argument")


def _mismatch(node: Node, expected: Type, found: Type) -> Problem:
    return Problem(node.position, f"expected type '{expected}' but found '{found}'")


def _value_type(node: Node, optional: bool) -> Type:
    return node.type.parameters[0] if optional and is_optional(node.type) else node.type


def _list_problems(node: ListLiteral) -> Iterator[Problem]:
    expected: Type | None = None
    for index, element in enumerate(node.elements):
        found = _value_type(element, index in node.optional)
        expected = expected or found
        if found != expected:
            yield _mismatch(element, expected, found)
            return


def _map_problems(entries: list[Entry]) -> Iterator[Problem]:
    if not entries:
        return
    key = entries[0].key.type
    value = _value_type(entries[0].value, entries[0].optional)
    for entry in entries[1:]:
        found = _value_type(entry.value, entry.optional)
        if entry.key.type != key:
            yield _mismatch(entry.key, key, entry.key.type)
        if found != value:
            yield _mismatch(entry.value, value, found)


def _format_problems(node: Call) -> Iterator[Problem]:
    """Check a literal list of arguments against the verbs of a literal format pattern."""
    if not isinstance(node.target, Literal) or not isinstance(node.arguments[0], ListLiteral):
        return
    pattern, arguments = node.target.value, node.arguments[0].elements
    used = 0
    try:
        for verb in texts.verbs(pattern, len(arguments)):
            argument = arguments[used]
            used += 1
            refused = _refused(verb, argument)
            if refused is not None:
                message = texts.refusal(verb, refused.type.name)
                yield Problem(refused.position, f"error during formatting: {message}")
                return
    except CelRuntimeError as error:
        yield Problem(node.position, str(error))
        return
    if len(arguments) > used:
        counts = f"(expected {used}, got {len(arguments)})"
        yield Problem(node.position, f"too many arguments supplied to string.format {counts}")


def _refused(verb: str, argument: Node) -> Node | None:
    """Find the part of an argument that a format verb does not accept; None if it accepts all of it."""
    if argument.type.kind != "dyn" and argument.type.kind not in texts.KINDS[verb.lower()]:
        return argument
    if verb == "s" and isinstance(argument, ListLiteral | MapLiteral):
        return next((refused for child in children(argument) if (refused := _refused(verb, child))), None)
    return None
