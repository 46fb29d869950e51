"""Derived attributes: a request names an attribute and the CEL expression that computes it (DRADerivedAttributes).

Semantics: ``EvaluateDerivedAttribute`` and ``validateOutputType`` of ``dynamic-resource-allocation/cel/compile.go``.
"""

from __future__ import annotations

import functools
from typing import Any

from drakit_api.cel import CelCompileError, CelRuntimeError, DeviceView, environment, types
from drakit_api.cel.checker import check
from drakit_api.cel.closures import compile_tree
from drakit_api.cel.comprehensions import Closure
from drakit_api.cel.parser import parse
from drakit_api.cel.values import Semver, Uint

_CACHE_SIZE = 1024
_ELEMENTS = (types.BOOL, types.INT, types.STRING, types.SEMVER, types.ANY, types.DYN)


class DerivedAttribute:
    """A compiled expression for a derived attribute. Immutable."""

    __slots__ = ("_locals", "_run")

    def __init__(self, run: Closure, local_variables: int) -> None:
        self._run = run
        self._locals = [None] * local_variables

    def attribute(self, device: DeviceView) -> dict[str, Any]:
        """The attribute in the form of a v1 ``DeviceAttribute``. Raises ``CelRuntimeError``."""
        if device.problem:
            raise CelRuntimeError(device.problem)
        value = self._run(device.frame + self._locals)
        if not isinstance(value, list):
            kind, plain = _scalar(value)
            return {kind: plain}
        if not value:
            return {"strings": []}
        elements = [_scalar(element) for element in value]
        kind = elements[0][0]
        for position, (other, _) in enumerate(elements):
            if other != kind:
                raise CelRuntimeError(f"expected list element at index {position} to be {kind}, got {other}")
        return {f"{kind}s": [plain for _, plain in elements]}


def _scalar(value: Any) -> tuple[str, Any]:
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, int) and not isinstance(value, Uint):
        return "int", value
    if isinstance(value, str):
        return "string", value
    if isinstance(value, Semver):
        return "version", str(value.version)
    raise CelRuntimeError(f"unsupported CEL return type: {type(value).__name__}")


@functools.lru_cache(maxsize=_CACHE_SIZE)
def compile_derived_attribute(expression: str) -> DerivedAttribute:
    """Compile the expression of a stored request. Raises ``CelCompileError``."""
    tree = parse(expression)
    result = check(expression, tree, environment.stored())
    is_list = result.kind == "list" and len(result.parameters) == 1
    if (result.parameters[0] if is_list else result) not in _ELEMENTS:
        raise CelCompileError(
            "must evaluate to a primitive scalar (string, integer, boolean, semver) or a list of these scalars, "
            f"not {result.declared}"
        )
    return DerivedAttribute(*compile_tree(tree))
