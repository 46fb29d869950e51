"""Everything that it takes to compile: parser, type checker, libraries, cost estimates.

All of it takes ten times as long to load as what evaluates expressions and views devices, and not every process
compiles, or not right at its start: import this module where it is needed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from drakit_api.cel import device
from drakit_api.cel.checking import devices
from drakit_api.cel.checking.checker import check
from drakit_api.cel.checking.environment import Environment
from drakit_api.cel.cost import bound, device_sizes
from drakit_api.cel.cost.estimate import LIMIT, greatest_cost
from drakit_api.cel.cost.metered import compile_metered
from drakit_api.cel.cost.ranges import Sizes
from drakit_api.cel.errors import CelCompileError, CostExceeded
from drakit_api.cel.evaluation.closures import compile_tree
from drakit_api.cel.evaluation.comprehensions import Closure
from drakit_api.cel.footprint import footprint as footprint
from drakit_api.cel.frames import Layout
from drakit_api.cel.syntax import nesting, recursion
from drakit_api.cel.syntax.parser import parse
from drakit_api.cel.syntax.tree import Call, Node
from drakit_api.cel.syntax.visitor import walk
from drakit_api.cel.values import budget
from drakit_api.cel.values.types import Type

# Everything here calls itself for each level of a tree, the estimate of costs four times.
_CALLS = nesting.LIMIT * 8


class Checked(NamedTuple):
    """A syntax tree with types, and the type of its result."""

    tree: Node
    result: Type


def checked(expression: str, environment: Environment) -> Checked:
    """Parse and check an expression. Raises ``CelCompileError`` in the words of cel-go."""
    with _bounded():
        tree = parse(expression)
        return Checked(tree, check(expression, tree, environment))


def stored(expression: str) -> Checked:
    """Check the expression of a stored object about a device."""
    return checked(expression, devices.stored())


def new(expression: str, *, consumable_capacity: bool, list_attributes: bool, includes: bool) -> Checked:
    """Check the expression of a request about a device, with what ``devices.new`` is given."""
    known = devices.new(consumable_capacity=consumable_capacity, list_attributes=list_attributes, includes=includes)
    return checked(expression, known)


def planned(tree: Node) -> tuple[Closure, int]:
    """Compile a tree into a function and the number of frame slots it needs after those of the device.

    The function counts its cost while it runs if it could exceed the cost limit.
    """
    with _bounded():
        compile_ = compile_metered if _may_cost_too_much(tree, device_sizes.of_path) else compile_tree
        return compile_(tree, device.LAYOUT)


def plain(tree: Node, layout: Layout) -> tuple[Closure, int]:
    """Compile a tree as ``planned`` does, into a function that does not count its cost.

    Raises ``CelProgramError`` for what upstream refuses when it plans the evaluation.
    """
    with _bounded():
        return compile_tree(tree, layout)


def metered(tree: Node, layout: Layout) -> tuple[Closure, int]:
    """Compile a tree as ``planned`` does, into a function that always counts its cost."""
    with _bounded():
        return compile_metered(tree, layout)


def planned_cost(tree: Node, layout: Layout = device.LAYOUT, sizes: Sizes = device_sizes.of_path) -> int:
    """Compute the greatest cost. Raises ``CelProgramError`` for what upstream refuses when it plans the evaluation."""
    with _bounded():
        compile_tree(tree, layout)
        return greatest_cost(tree, sizes)


def cost_bound(tree: Node, sizes: Sizes) -> int:
    """Compute a cost that no evaluation exceeds."""
    with _bounded():
        return bound.cost_bound(tree, sizes)


@contextlib.contextmanager
def _bounded() -> Iterator[None]:
    """Give a step of compiling a budget. Raises ``CelCompileError`` for what upstream has no limit for."""
    budget.begin()
    try:
        with recursion.deeper(_CALLS):
            yield
    except RecursionError:
        raise CelCompileError("compilation failed: ERROR: <input>:-1:0: max recursion depth exceeded") from None
    except CostExceeded:
        message = "regular expressions and constants take more memory than an expression may have"
        raise CelCompileError(f"compilation failed: ERROR: <input>:-1:0: {message}") from None


def _may_cost_too_much(tree: Node, sizes: Sizes) -> bool:
    """Tell whether the cost has to be counted: the estimate is above the limit, or wrong.

    Upstream takes ``flatten`` to return as many elements as the outer list has.
    """
    if greatest_cost(tree, sizes) > LIMIT:
        return True
    return any(isinstance(node, Call) and node.function == "flatten" for node in walk(tree))
