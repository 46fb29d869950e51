"""The expressions of one policy, compiled in an environment that has its variables.

After k8s.io/apiserver/pkg/admission/plugin/cel/{composition,activation}.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from drakit_api.cel import admission as cel
from drakit_api.cel.errors import CelCompileError, CelRuntimeError
from drakit_api.cel.values.types import Type
from drakit_api.golang.gostrings import to_json
from drakit_api.kubernetes_objects import ReadOnlyObject


class EvaluationError(Exception):
    """An expression that has no value, and why, as refusals say it."""


class Expression(NamedTuple):
    """An expression and its program, or why it has none."""

    source: str
    program: cel.Program | CelCompileError

    def evaluate(self, values: Mapping[str, Any], meter: cel.Meter) -> Any:
        """Evaluate the expression.

        Raises:
            EvaluationError: if it fails, or cannot be compiled.
            OutOfBudget: if the meter has nothing left.
        """
        if isinstance(self.program, CelCompileError):
            raise EvaluationError(f"compilation error: {self.program}")
        try:
            return self.program.evaluate(values, meter)
        except CelRuntimeError as error:
            raise EvaluationError(f"expression '{self.source}' resulted in error: {error}") from None


# What expressions may refer to besides ``object`` and ``params``, which are at hand.
_COSTLY = ("oldObject", "request", "namespaceObject", "authorizer")


def names_in(spec: ReadOnlyObject) -> frozenset[str]:
    """Find which variables the expressions of a policy may refer to: no other has to be made."""
    text = to_json(spec)
    return frozenset(name for name in _COSTLY if name in text)


class Programs:
    """Compiles the expressions of a policy, and gives them its variables, each evaluated when it is first read."""

    def __init__(self, spec: ReadOnlyObject) -> None:
        """Compile the variables of a policy."""
        self._params = "paramKind" in spec
        self._variables: dict[str, cel.Program | CelCompileError] = {}
        self._types: dict[str, Type] = {}
        for variable in spec.get("variables") or ():
            name, program = variable.get("name") or "", self.compiled(variable.get("expression") or "").program
            self._variables[name] = program
            self._types[name] = cel.variable_type(None if isinstance(program, CelCompileError) else program.result)

    def compiled(self, source: str, *returns: Type, authorizer: bool = True, patching: bool = False) -> Expression:
        """Compile an expression that may use the variables so far; without ``returns``, any result will do."""
        known = cel.environment(params=self._params, authorizer=authorizer, variables=self._types, patching=patching)
        try:
            return Expression(source, cel.compile(source, known, returns=returns))
        except CelCompileError as error:
            return Expression(source, error)

    def with_variables(self, values: Mapping[str, Any], meter: cel.Meter) -> dict[str, Any]:
        """Add the variables to the values of some evaluations; what variables cost is charged to their meter."""
        return cel.with_variables(values, self._variables, meter)
