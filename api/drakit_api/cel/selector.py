"""A selector expression, from its text to a verdict on a device."""

from __future__ import annotations

import functools

from . import environment
from .checker import check
from .closures import compile_tree
from .comprehensions import Closure
from .device import DeviceView
from .environment import Environment
from .errors import CelCompileError, CelRuntimeError
from .parser import parse
from .types import BOOL
from .values import ABSENT, LISTS, MAPS, Optional, TypeValue, Uint, type_name

_CACHE_SIZE = 4096


class Selector:
    """A compiled selector. Immutable and safe to use from several threads."""

    __slots__ = ("_locals", "_run", "expression")

    def __init__(self, expression: str, run: Closure, local_variables: int) -> None:
        self.expression = expression
        self._run = run
        self._locals = [None] * local_variables

    def matches(self, device: DeviceView) -> bool:
        """Whether the device satisfies the selector. Raises ``CelRuntimeError`` where upstream's evaluation fails."""
        if device.problem:
            raise CelRuntimeError(device.problem)
        result = self._run(device.frame + self._locals if self._locals else device.frame)
        if result is True or result is False:
            return result
        return _verdict(result)


def _verdict(result: object) -> bool:
    """What upstream makes of a result that is no bool: an optional counts as its value, all else is an error."""
    value = result.value if isinstance(result, Optional) else result
    if isinstance(value, bool):
        return value
    kind = type_name(result)
    if value is ABSENT:
        reason = "optional.none() dereference"
    else:
        reason = _NOT_CONVERTIBLE.get(type(value), "type conversion error from {} to 'bool'").format(_native(value))
    raise CelRuntimeError(f"CEL result of type {kind} could not be converted to bool: {reason}")


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


@functools.lru_cache(maxsize=_CACHE_SIZE)
def compile_selector(expression: str) -> Selector:
    """Compile an expression of a stored object: all gated features are known, costs are not estimated.

    Raises ``CelCompileError`` with the words of cel-go.
    """
    return _compile(expression, environment.stored())


def _compile(expression: str, known: Environment) -> Selector:
    tree = parse(expression)
    result = check(expression, tree, known)
    if result != BOOL and not result.is_dynamic:
        raise CelCompileError(f"must evaluate to bool or the unknown type, not {result.declared}")
    return Selector(expression, *compile_tree(tree))
