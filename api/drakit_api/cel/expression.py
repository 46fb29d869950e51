"""An expression about a device, from its text to a value.

What upstream does for stored expressions and for those in a request is in ``k8s.io/dynamic-resource-allocation`` v0.37
``cel/compile.go``.
"""

from __future__ import annotations

from typing import Any

from .checker import check
from .closures import compile_tree
from .comprehensions import Closure
from .device import DeviceView
from .environment import Environment
from .errors import CelRuntimeError
from .estimate import LIMIT, greatest_cost
from .metered import compile_metered
from .metering import CostExceeded
from .syntax import Node
from .types import Type

CACHE_SIZE = 4096


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


def checked(expression: str, known: Environment) -> tuple[Node, Type]:
    """The syntax tree with types, and the type of the result. Raises ``CelCompileError`` in the words of cel-go."""
    from .parser import parse  # lark: as long to import as all the rest

    tree = parse(expression)
    return tree, check(expression, tree, known)


def planned_cost(tree: Node) -> int:
    """The greatest cost. Raises ``CelProgramError`` for what upstream refuses when it plans the evaluation."""
    compile_tree(tree)
    return greatest_cost(tree)
