"""An expression about a device, from its text to a verdict or a value.

What upstream does for stored expressions and for those in a request is in ``k8s.io/dynamic-resource-allocation`` v0.37
``cel/compile.go``.
"""

from __future__ import annotations

import functools
from typing import Any

from . import environment, types
from .checker import check
from .closures import compile_tree
from .comprehensions import Closure
from .device import DeviceView
from .environment import Environment
from .errors import CelCompileError, CelRuntimeError
from .estimate import LIMIT, greatest_cost
from .metered import compile_metered
from .metering import CostExceeded
from .parser import parse
from .syntax import Node
from .types import Type
from .values import ABSENT, LISTS, MAPS, Optional, TypeValue, Uint, type_name

_CACHE_SIZE = 4096
_ATTRIBUTE_TYPES = (types.BOOL, types.INT, types.STRING, types.SEMVER, types.ANY, types.DYN)


class Expression:
    """A compiled expression. Immutable and safe to use from several threads."""

    __slots__ = ("_run", "_scratch", "text")

    def __init__(self, text: str, tree: Node) -> None:
        self.text = text
        self._run: Closure
        self._run, places = compile_metered(tree) if greatest_cost(tree) > LIMIT else compile_tree(tree)
        self._scratch: list[Any] = [0] * places  # behind a copy of the device's frame: cost so far, local variables

    def evaluate(self, device: DeviceView) -> Any:
        """The value for a device. Raises ``CelRuntimeError`` where upstream's evaluation fails."""
        if device.problem:
            raise CelRuntimeError(device.problem)
        try:
            return self._run(device.frame + self._scratch if self._scratch else device.frame)
        except CostExceeded:
            raise CelRuntimeError("operation cancelled: actual cost limit exceeded") from None


class Selector(Expression):
    """A compiled selector."""

    __slots__ = ()

    def matches(self, device: DeviceView) -> bool:
        """Whether the device satisfies the selector. Raises ``CelRuntimeError`` where upstream's evaluation fails."""
        result = self.evaluate(device)
        return result if result is True or result is False else _verdict(result)


@functools.lru_cache(maxsize=_CACHE_SIZE)
def compile_selector(expression: str) -> Selector:
    """Compile the expression of a stored selector: all gated features are known.

    Raises ``CelCompileError`` in the words of cel-go.
    """
    return Selector(expression, _selecting(expression, environment.stored()))


@functools.lru_cache(maxsize=_CACHE_SIZE)
def compile_derived_attribute(expression: str) -> Expression:
    """Compile the expression of a stored derived attribute. Raises ``CelCompileError``."""
    tree, result = _checked(expression, environment.stored())
    _require_attribute(result, list_attributes=True)
    return Expression(expression, tree)


@functools.lru_cache(maxsize=_CACHE_SIZE)
def check_selector(expression: str, *, consumable_capacity: bool = True, list_attributes: bool = False) -> int:
    """Check a selector in a request, with the gates DRAConsumableCapacity and DRAListTypeAttributes.

    Returns the greatest cost that it could have on any device; the limits of cost and length are the caller's. Raises
    ``CelCompileError`` with the detail that kube-apiserver shows.
    """
    known = environment.new(consumable_capacity=consumable_capacity, list_attributes=list_attributes)
    return _cost(_selecting(expression, known))


@functools.lru_cache(maxsize=_CACHE_SIZE)
def check_derived_attribute(expression: str, *, consumable_capacity: bool = True, list_attributes: bool = False) -> int:
    """The same for the expression of a derived attribute."""
    known = environment.new(consumable_capacity=consumable_capacity, list_attributes=list_attributes)
    tree, result = _checked(expression, known)
    _require_attribute(result, list_attributes=list_attributes)
    return _cost(tree)


def _checked(expression: str, known: Environment) -> tuple[Node, Type]:
    tree = parse(expression)
    return tree, check(expression, tree, known)


def _selecting(expression: str, known: Environment) -> Node:
    tree, result = _checked(expression, known)
    if result not in (types.BOOL, known.attribute):
        raise CelCompileError(f"must evaluate to bool or the unknown type, not {result.declared}")
    return tree


def _cost(tree: Node) -> int:
    compile_tree(tree)  # refuses what upstream refuses when it plans the evaluation
    return greatest_cost(tree)


def _require_attribute(result: Type, *, list_attributes: bool) -> None:
    is_list = list_attributes and result.kind == "list"
    if (result.parameters[0] if is_list else result) not in _ATTRIBUTE_TYPES:
        lists = " or a list of these scalars" if list_attributes else ""
        wanted = f"a primitive scalar (string, integer, boolean, semver){lists}"
        raise CelCompileError(f"must evaluate to {wanted}, not {result.declared}")


def _verdict(result: object) -> bool:
    """What upstream makes of a result that is no bool: an optional counts as its value, all else is an error."""
    value = result.value if isinstance(result, Optional) else result
    if isinstance(value, bool):
        return value
    if value is ABSENT:
        reason = "optional.none() dereference"
    else:
        reason = _NOT_CONVERTIBLE.get(type(value), "type conversion error from {} to 'bool'").format(_native(value))
    raise CelRuntimeError(f"CEL result of type {type_name(result)} could not be converted to bool: {reason}")


_NOT_CONVERTIBLE = {
    int: "unsupported type conversion from 'int' to bool",
    Uint: "unsupported type conversion from 'uint' to bool",
    str: "unsupported native conversion from string to 'bool'",
    TypeValue: "type conversion not supported for 'type'",
}
_NATIVE: dict[type, str] = {float: "Double", bytes: "Bytes", type(None): "'null_type'"}


def _native(value: object) -> str:
    kind = type(value)
    if kind in LISTS or kind in MAPS:
        return type_name(value)
    return _NATIVE.get(kind) or f"'{type_name(value).rpartition('.')[2]}'"
