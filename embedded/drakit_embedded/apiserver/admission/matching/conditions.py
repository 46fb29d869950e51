"""Match conditions of webhooks and policies: expressions that must all be true of a write.

After k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from drakit_api.cel import admission as cel
from drakit_api.cel.errors import CelCompileError, CelRuntimeError, OutOfBudget
from drakit_api.cel.values.types import BOOL
from drakit_api.golang.goerrors import aggregated
from drakit_api.kubernetes_objects import ReadOnlyObject


class _Condition(NamedTuple):
    expression: str
    program: cel.Program | CelCompileError


class ConditionsError(Exception):
    """Conditions that cannot be evaluated, so that nobody knows whether the write is concerned."""


class Conditions:
    """The match conditions of one webhook or policy, compiled when the first write comes that they are about."""

    def __init__(self, sources: Sequence[ReadOnlyObject], *, ignores_failures: bool, params: bool = False) -> None:
        """Take ``matchConditions``; ``params`` if they may refer to the parameters of a policy."""
        self._sources, self._params = sources, params
        self._ignores_failures = ignores_failures

    def __bool__(self) -> bool:
        """Check whether there is any."""
        return bool(self._sources)

    def hold(self, values: Mapping[str, Any]) -> bool:
        """Evaluate all of them: false if one is false or, should failures be ignored, if one fails.

        Raises:
            ConditionsError: if some fail, none is false, and failures are not to be ignored.
        """
        try:
            results = list(self._results(values))
        except OutOfBudget:
            results = [cel.OUT_OF_BUDGET]
        if any(result is False for result in results):
            return False
        failures = [result for result in results if isinstance(result, str)]
        if failures and not self._ignores_failures:
            raise ConditionsError(aggregated(failures))
        return not failures

    def _results(self, values: Mapping[str, Any]) -> Iterator[bool | str]:
        """Evaluate each of them: whether it holds, or why it cannot be evaluated."""
        meter = cel.Meter(cel.MATCH_CONDITIONS_BUDGET)
        for expression, program in self._compiled:
            if isinstance(program, CelCompileError):
                yield f"compilation error: {program}"
                continue
            try:
                yield program.evaluate(values, meter) is not False
            except OutOfBudget:
                raise
            except CelRuntimeError as error:
                yield f"expression '{expression}' resulted in error: {error}"

    @cached_property
    def _compiled(self) -> list[_Condition]:
        known = cel.environment(params=self._params, authorizer=True)
        found = []
        for source in self._sources:
            expression = source.get("expression") or ""
            program: cel.Program | CelCompileError
            try:
                program = cel.compile(expression, known, returns=(BOOL,))
            except CelCompileError as error:
                program = error
            found.append(_Condition(expression, program))
        return found
