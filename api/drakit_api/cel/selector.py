"""Selectors: expressions that say whether a device will do.

What upstream makes of their results is in ``k8s.io/dynamic-resource-allocation`` v0.37 ``cel/compile.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drakit_api.cel.device import DeviceView
from drakit_api.cel.errors import CelCompileError, CelRuntimeError
from drakit_api.cel.expression import Expression, remembered
from drakit_api.cel.values import types
from drakit_api.cel.values.types import Type
from drakit_api.cel.values.values import ABSENT, LISTS, MAPS, Optional, TypeValue, Uint, type_name

if TYPE_CHECKING:
    from drakit_api.cel.compiler import Checked
    from drakit_api.cel.syntax.tree import Node


class Selector(Expression):
    """A compiled selector."""

    __slots__ = ()

    def matches(self, device: DeviceView) -> bool:
        """Tell whether the device satisfies it. Raises ``CelRuntimeError`` where upstream's evaluation fails."""
        result = self.evaluate(device)
        return result if result is True or result is False else _verdict(result)


@remembered
def compile_selector(expression: str) -> Selector:
    """Compile the expression of a stored selector: all gated features are known.

    Raises ``CelCompileError`` in the words of cel-go.
    """
    from drakit_api.cel import compiler

    tree = _selecting(compiler.stored(expression), types.DYN)
    return Selector(expression, *compiler.planned(tree), compiler.footprint(tree))


@remembered
def check_selector(
    expression: str, *, consumable_capacity: bool = True, list_attributes: bool = False, includes: bool = False
) -> int:
    """Check a selector in a request, with the gates DRAConsumableCapacity and DRAListTypeAttributes.

    ``includes``: lists have that function without the gate, since the minimum compatibility version is 1.37 or later.
    Returns the greatest cost that it could have on any device; the limits of cost and length are the caller's. Raises
    ``CelCompileError`` with the detail that kube-apiserver shows.
    """
    from drakit_api.cel import compiler

    checked = compiler.new(
        expression, consumable_capacity=consumable_capacity, list_attributes=list_attributes, includes=includes
    )
    return compiler.planned_cost(_selecting(checked, types.DYN if list_attributes else types.ANY))


def _selecting(checked: Checked, attribute: Type) -> Node:
    """Return the tree of a selector, whose result may also be of the type of attributes."""
    if checked.result not in (types.BOOL, attribute):
        raise CelCompileError(f"must evaluate to bool or the unknown type, not {checked.result.declared}")
    return checked.tree


def _verdict(result: object) -> bool:
    """Convert a result that is no bool as upstream does: an optional counts as its value, all else is an error."""
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
    return _NATIVE.get(kind) or f"'{type_name(value).rpartition('.')[2].removeprefix('Named')}'"
