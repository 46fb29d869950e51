"""A compiled expression, and the budget that the evaluations of several share.

Kubernetes limits what one evaluation may cost, and what all those for one object may cost together. Counting takes
longer than most rules do, so an evaluation whose greatest cost is known to be small is not counted: its greatest cost
is taken from the budget. Should that not suffice, what was not counted is evaluated once more, and counted. The answers
are the same: expressions have no effects.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from drakit_api import limits
from drakit_api.cel.errors import CelRuntimeError, OutOfBudget
from drakit_api.cel.evaluation.running import evaluated
from drakit_api.cel.frames import COST
from drakit_api.cel.values import budget

if TYPE_CHECKING:
    from drakit_api.cel.checking.environment import Environment
    from drakit_api.cel.cost.ranges import Sizes
    from drakit_api.cel.evaluation.comprehensions import Closure
    from drakit_api.cel.syntax.tree import Node
    from drakit_api.cel.values.types import Type

# Evaluations that may cost more are counted at once.
_CHEAP = limits.CEL_EXPRESSION_COST // 10


class Meter:
    """What is left of a budget."""

    __slots__ = ("_left", "_uncounted")

    def __init__(self, limit: int) -> None:
        self._left = limit  # at least so much is left
        self._uncounted: list[tuple[Program, Sequence[Any]]] = []

    @property
    def left(self) -> int:
        """Exactly what is left; less than nothing if more was used than there was."""
        for program, variables in self._uncounted:
            self._left += program.bound - program.cost(variables)
        self._uncounted.clear()
        return self._left

    def is_spent(self) -> bool:
        """Tell whether nothing is left."""
        return self._left <= 0 and self.left <= 0

    def charge(self, cost: int) -> None:
        """Take the cost of an evaluation from the budget."""
        self._left -= cost

    def charge_at_most(self, program: Program, variables: Sequence[Any]) -> None:
        """Take the greatest cost that an evaluation could have from the budget, for now."""
        self._left -= program.bound
        self._uncounted.append((program, variables))

    def check(self) -> None:
        """Raise ``OutOfBudget`` if more was used than there was."""
        if self._left < 0 and self.left < 0:
            raise OutOfBudget


class Program:
    """A compiled expression. It may be used from several threads, each with a meter of its own.

    ``result`` is the type that the checker found. ``bound`` is a cost that no evaluation exceeds.
    """

    def __init__(self, text: str, tree: Node, environment: Environment, sizes: Sizes) -> None:
        from drakit_api.cel import compiler

        self.text = text
        self.result: Type = tree.type
        self.tree = tree
        self.variables = tuple(environment.layout.variables)
        self._layout = environment.layout
        self.bound = compiler.cost_bound(tree, sizes)
        self._run, places = compiler.plain(tree, environment.layout)
        self._scratch: list[Any] = [0] * places

    @functools.cached_property
    def _counting(self) -> tuple[Closure, list[Any]]:
        from drakit_api.cel import compiler

        run, places = compiler.metered(self.tree, self._layout)
        return run, [0] * places

    def evaluate(self, variables: Sequence[Any], meter: Meter) -> Any:
        """Evaluate the expression for the values of its environment's variables, in their order.

        Raises ``OutOfBudget`` if the meter has nothing left afterwards, else ``CelRuntimeError`` where the evaluation
        fails.
        """
        budget.begin()
        try:
            return self.value(variables, meter)
        finally:
            meter.check()

    def value(self, variables: Sequence[Any], meter: Meter) -> Any:
        """Evaluate as a part of another evaluation, which has the memory, and checks the budget when it ends."""
        if self.bound <= _CHEAP:
            meter.charge_at_most(self, variables)
            return evaluated(self._run, [0, *variables, *self._scratch])
        run, scratch = self._counting
        frame = [0, *variables, *scratch]
        try:
            return evaluated(run, frame)
        finally:
            meter.charge(frame[COST])

    def cost(self, variables: Sequence[Any]) -> int:
        """Count what an evaluation costs."""
        budget.begin()
        run, scratch = self._counting
        frame = [0, *variables, *scratch]
        with contextlib.suppress(CelRuntimeError):
            evaluated(run, frame)
        cost: int = frame[COST]
        return cost
