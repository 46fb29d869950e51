"""What compiled expressions are made of: one function for each kind of node, besides calls and macros."""

from __future__ import annotations

from typing import Any, NoReturn

from drakit_api.cel.errors import CelRuntimeError, Panic
from drakit_api.cel.evaluation import comprehensions
from drakit_api.cel.evaluation.comprehensions import Closure
from drakit_api.cel.library import operators
from drakit_api.cel.library.shown import show
from drakit_api.cel.values import budget
from drakit_api.cel.values.equality import equal, is_unequal
from drakit_api.cel.values.keys import map_key
from drakit_api.cel.values.values import MAPS, NONE, Failed, Optional, Struct, no_such_overload


def constant(value: Any) -> Closure:
    """Compile a constant: a function that ignores its frame."""
    return lambda _: value


def select(container: Any, name: str) -> Any:
    """``container.name`` for anything."""
    kind = type(container)
    if kind in MAPS:
        try:
            return container[name]
        except KeyError:
            raise operators.no_such_key(name) from None
    if kind is Optional:
        return operators.find(container, name)
    return operators.index(container, name)


def present(container: Any, name: str) -> bool:
    """``has(container.name)``."""
    return operators.find(container, name) is not NONE


def attribute(slot: int, domain: str, name: str) -> Closure:
    """``device.attributes[domain].name``, or the same of capacity."""

    def read(frame: list[Any]) -> Any:
        try:
            return frame[slot][domain][name]
        except KeyError:
            raise CelRuntimeError(f"no such key: {name}") from None

    return read


def optional_attribute(slot: int, domain: str, name: str) -> Closure:
    """``device.attributes[domain].?name``."""

    def read(frame: list[Any]) -> Optional:
        try:
            return Optional(frame[slot][domain][name])
        except KeyError:
            return NONE

    return read


def attribute_or(slot: int, domain: str, name: str, other: Closure) -> Closure:
    """``device.attributes[domain].?name.orValue(other)``, which is how Kubernetes recommends to read attributes."""

    def read(frame: list[Any]) -> Any:
        try:
            return frame[slot][domain][name]
        except KeyError:
            return other(frame)

    return read


def measured(operand: Closure) -> Closure:
    """Compile the operand of a function whose cost upstream computes even if there is none, and panics."""

    def run(frame: list[Any]) -> Any:
        try:
            return operand(frame)
        except CelRuntimeError:
            raise Panic("interface conversion: *types.Err is not traits.Lister: missing method Add") from None

    return run


def failing(error: Exception) -> Closure:
    """Compile an expression that always fails with ``error``."""
    kind, message = type(error), str(error)

    def fail(frame: list[Any]) -> NoReturn:
        raise kind(message)

    return fail


def equals(operand: Closure, constant: Any) -> Closure:
    """``operand == constant``."""
    kind = type(constant)

    def compare(frame: list[Any]) -> Any:
        value = operand(frame)
        return value == constant if type(value) is kind else equal(value, constant)

    return compare


def differs(operand: Closure, constant: Any) -> Closure:
    """``operand != constant``."""
    kind = type(constant)

    def compare(frame: list[Any]) -> Any:
        value = operand(frame)
        return value != constant if type(value) is kind else is_unequal(value, constant)

    return compare


def among(operand: Closure, keys: frozenset[Any]) -> Closure:
    """``operand in [constants]`` as a lookup in a Go map, so that what Go cannot hash is an error."""

    def test(frame: list[Any]) -> Any:
        value = operand(frame)
        return (value if type(value) is str else map_key(value)) in keys

    return test


def both(left: Closure, right: Closure) -> Closure:
    """``left && right``; only an error needs the general form."""
    return _pair(left, right, comprehensions.conjunction([left, right]), decisive=False)


def either(left: Closure, right: Closure) -> Closure:
    """``left || right``."""
    return _pair(left, right, comprehensions.disjunction([left, right]), decisive=True)


def _pair(left: Closure, right: Closure, fallback: Closure, *, decisive: bool) -> Closure:
    other = not decisive

    def decide(frame: list[Any]) -> Any:
        try:
            first = left(frame)
        except CelRuntimeError:
            return fallback(frame)
        if first is decisive:
            return decisive
        second = right(frame) if first is other else None
        return second if type(second) is bool else fallback(frame)

    return decide


def alternative(function: str, optional: Closure, other: Closure) -> Closure:
    """``or`` and ``orValue`` evaluate their argument only if there is no value."""

    def choose(frame: list[Any]) -> Any:
        first = optional(frame)
        if type(first) is not Optional:
            raise no_such_overload()
        if first is NONE:
            return other(frame)
        return first if function == "or" else first.value

    return choose


def conditional(condition: Closure, yes: Closure, no: Closure) -> Closure:
    """``condition ? yes : no``."""

    def choose(frame: list[Any]) -> Any:
        chosen = condition(frame)
        if type(chosen) is not bool:
            raise no_such_overload()
        return yes(frame) if chosen else no(frame)

    return choose


def bound(slot: int, value: Closure, body: Closure) -> Closure:
    """``cel.bind``. An error of the value only counts where the variable is used."""

    def run(frame: list[Any]) -> Any:
        try:
            frame[slot] = value(frame)
        except (CelRuntimeError, Panic) as error:
            frame[slot] = Failed(type(error), str(error))
        return body(frame)

    return run


def bound_variable(slot: int) -> Closure:
    """Compile the use of a variable whose value may be an error."""

    def variable(frame: list[Any]) -> Any:
        value = frame[slot]
        if type(value) is Failed:
            raise value.kind(value.message)
        return value

    return variable


def build_list(elements: list[Closure]) -> Closure:
    """Compile ``[a, b]``."""
    if len(elements) < budget.FEW_ENTRIES:
        return lambda frame: [element(frame) for element in elements]
    amount = budget.PLACE * len(elements)

    def build(frame: list[Any]) -> list[Any]:
        budget.spend(amount)
        return [element(frame) for element in elements]

    return build


def list_with_optionals(elements: list[Closure], optional: frozenset[int]) -> Closure:
    """Compile ``[a, ?b]``, which leaves out absent entries."""

    def build(frame: list[Any]) -> list[Any]:
        budget.spend(budget.PLACE * len(elements))
        result = []
        for index, element in enumerate(elements):
            value = element(frame)
            if index not in optional:
                result.append(value)
            elif type(value) is not Optional:
                shown = show(value)
                raise CelRuntimeError(f"cannot initialize optional list element from non-optional value {shown}")
            elif value is not NONE:
                result.append(value.value)
        return result

    return build


def build_struct(name: str, fields: list[tuple[str, Closure, bool]], frame: list[Any]) -> Struct:
    """``Name{field: value, ?field: value}``."""
    budget.spend(budget.OBJECT * (1 + len(fields)))
    result = Struct(name)
    for field, value, optional in fields:
        content = value(frame)
        if not optional:
            result[field] = content
        elif type(content) is not Optional:
            shown = f"'{field}' from non-optional value {show(content)}"
            raise CelRuntimeError(f"cannot initialize optional entry {shown}")
        elif content is not NONE:
            result[field] = content.value
    return result


def build_map(entries: list[tuple[Closure, Closure, bool]], frame: list[Any]) -> dict[Any, Any]:
    """``{key: value, ?key: value}``."""
    budget.spend(budget.OBJECT * len(entries))
    result: dict[Any, Any] = {}
    for key, value, optional in entries:
        built, content = key(frame), value(frame)
        if optional:
            if type(content) is not Optional:
                shown = f"'{show(built)}' from non-optional value {show(content)}"
                raise CelRuntimeError(f"cannot initialize optional entry {shown}")
            if content is NONE:
                continue
            content = content.value
        result[map_key(built)] = content
    return result
