"""Counting what an evaluation costs, so that it stops where upstream's would.

Only expressions whose greatest possible cost is above the limit are compiled this way; for all others counting could
never matter. Costs are those of cel-go v0.29 ``interpreter/runtimecost.go``: one for a variable and each step of a
path, nothing for constants and logic, and what the macros' expansions evaluate besides their bodies.
"""

from __future__ import annotations

from typing import Any

from drakit_api.cel.cost.call_prices import PRICED_BY_RESULT, price
from drakit_api.cel.cost.estimate import LIMIT
from drakit_api.cel.cost.ranges import LIST_BASE
from drakit_api.cel.errors import CelRuntimeError, CostExceeded
from drakit_api.cel.evaluation.comprehensions import Closure
from drakit_api.cel.frames import COST
from drakit_api.cel.values.declarations import Implementation
from drakit_api.cel.values.values import LISTS, MAPS, NONE


def charge(frame: list[Any], amount: int) -> None:
    """Add to the cost so far."""
    frame[COST] += amount
    if frame[COST] > LIMIT:
        raise CostExceeded


def priced(closure: Closure, amount: int) -> Closure:
    """Charge ``amount`` for each run of a function, also when it fails."""

    def run(frame: list[Any]) -> Any:
        try:
            return closure(frame)
        finally:
            charge(frame, amount)

    return run


def priced_if_found(closure: Closure) -> Closure:
    """Charge one for an optional selection, unless it finds nothing."""

    def run(frame: list[Any]) -> Any:
        result = closure(frame)
        if result is not NONE:
            charge(frame, 1)
        return result

    return run


def _priced_if_true(closure: Closure, amount: int) -> Closure:
    def run(frame: list[Any]) -> Any:
        verdict = closure(frame)
        if verdict is True:
            charge(frame, amount)
        return verdict

    return run


def call(function: str, implementation: Implementation, operands: list[Closure]) -> Closure:
    """Compile a call that is charged according to its arguments and its result."""
    by_result = function in PRICED_BY_RESULT

    def run(frame: list[Any]) -> Any:
        arguments: list[Any] = []
        failure: CelRuntimeError | None = None
        for operand in operands:
            try:
                arguments.append(operand(frame))
            except CelRuntimeError as error:
                failure = failure or error
                arguments.append(None)
        cost = 0 if by_result and failure is None else price(function, arguments, None)
        if frame[COST] + cost > LIMIT:  # upstream charges it afterwards, when it may have taken all memory
            raise CostExceeded
        if failure is None:
            try:
                result = implementation(*arguments)
            except CelRuntimeError as error:
                failure, result = error, None
        charge(frame, price(function, arguments, None if failure else result) if by_result else cost)
        if failure is not None:
            raise failure
        return result

    return run


def counted(source: Closure, remaining: int) -> Closure:
    """Compile the range of a macro, and leave the number of its elements in the frame for ``quantified``."""

    def run(frame: list[Any]) -> Any:
        container = source(frame)
        frame[remaining] = len(container) if type(container) in (*LISTS, *MAPS) else 0
        return container

    return run


def quantified(macro: str, predicate: Closure, remaining: int) -> Closure:
    """Charge a step of ``all`` or ``exists``; deciding before the last element costs the loop's condition once more."""
    decisive, condition = (False, 2) if macro == "all" else (True, 3)

    def run(frame: list[Any]) -> Any:
        charge(frame, condition + 1)
        frame[remaining] -= 1
        verdict = predicate(frame)
        if verdict is decisive and frame[remaining]:
            charge(frame, condition)
        return verdict

    return run


def body(macro: str, parts: list[Closure], *, is_constant: bool) -> list[Closure]:
    """Add the cost of one step of the expansion to the arguments of a macro other than ``all`` and ``exists``.

    The list of one element that is added in a step costs nothing if the element ``is_constant``.
    """
    match macro:
        case "exists_one":
            return [_priced_if_true(parts[0], 2)]
        case "filter":
            return [_priced_if_true(parts[0], LIST_BASE + 3)]
        case "map" | "transformList":
            step = 2 if is_constant else LIST_BASE + 2
        case "transformMap":
            step = 3
        case _:
            step = 2
    return [*parts[:-1], priced(parts[-1], step)]


def result_price(macro: str) -> int:
    """Return what the result of a macro's expansion costs after the last step."""
    return 2 if macro == "exists_one" else 1
