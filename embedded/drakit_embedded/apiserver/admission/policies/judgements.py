"""What the expressions of a validating policy say of a write.

After k8s.io/apiserver/pkg/admission/plugin/policy/validating/{plugin,validator}.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from drakit_api import formats
from drakit_api.cel import admission as cel
from drakit_api.cel.errors import OutOfBudget
from drakit_api.cel.values.types import BOOL, NULL, STRING
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission.matching.conditions import ConditionsError
from drakit_embedded.apiserver.admission.policies.policy import Policy
from drakit_embedded.apiserver.admission.policies.programs import EvaluationError, Expression
from drakit_embedded.apiserver.admission.policies.scenes import Scene

_INVALID = "Invalid"
_LONGEST_MESSAGE = 5 * 1024


class Denial(NamedTuple):
    """Why a policy is against a write; ``always`` if the actions of the binding do not matter."""

    message: str
    reason: str = _INVALID
    always: bool = False


class _Validation(NamedTuple):
    """One validation, with its message in the order in which they are tried."""

    condition: Expression
    explained: Expression | None
    message: str
    reason: str


class ValidatingPolicy(Policy):
    """A ValidatingAdmissionPolicy."""

    def __init__(self, obj: Object) -> None:
        """Read a policy."""
        super().__init__(obj)
        # Messages and annotations ask no authorizer.
        self._unauthorized = self.names - {"authorizer"}

    @cached_property
    def _validations(self) -> list[_Validation]:
        return [self._validation(source) for source in self._spec.get("validations") or ()]

    def _validation(self, source: Object) -> _Validation:
        expression, explained = source.get("expression") or "", source.get("messageExpression")
        return _Validation(
            self.programs.compiled(expression, BOOL),
            self.programs.compiled(explained, STRING, authorizer=False) if explained else None,
            (source.get("message") or "").strip() or f"failed expression: {expression.strip()}",
            source.get("reason") or _INVALID,
        )

    @cached_property
    def _annotations(self) -> list[Expression]:
        sources = self._spec.get("auditAnnotations") or ()
        return [self.programs.compiled(source.get("valueExpression") or "", STRING, NULL) for source in sources]

    def denials(self, scene: Scene, params: Object | None) -> list[Denial]:
        """List what the policy has against a write, with some params."""
        try:
            if self.conditions and not self.conditions.hold(scene.condition_values(params, self.names)):
                return []
            found = [*self._judged(scene, params)]
            return [*found, *self._unannotated(scene, params)]
        except ConditionsError as error:
            return self._failed(str(error))
        except OutOfBudget:
            return self._failed(cel.OUT_OF_BUDGET)

    def _failed(self, why: str, *, always: bool = False) -> list[Denial]:
        return [] if self.ignores_failures else [Denial(why, always=always)]

    def _judged(self, scene: Scene, params: Object | None) -> Iterator[Denial]:
        """Evaluate the validations; ``OutOfBudget`` if they cost too much together."""
        meter = cel.Meter(cel.POLICY_BUDGET)
        values = self.programs.with_variables(scene.values(params, self.names), meter)
        outcomes = [_outcome(validation.condition, values, meter) for validation in self._validations]
        if all(outcome is True for outcome in outcomes):
            return
        try:
            messages = self._messages(scene, params, meter)
        except OutOfBudget:
            yield from self._without_messages(outcomes)
            return
        for validation, outcome, message in zip(self._validations, outcomes, messages, strict=True):
            if isinstance(outcome, EvaluationError):
                yield from self._failed(str(outcome))
            elif outcome is not True:
                yield Denial(message or validation.message, validation.reason)

    def _without_messages(self, outcomes: list[Any]) -> Iterator[Denial]:
        """Judge as if every validation had failed: that is what becomes of messages that cost too much."""
        for outcome in outcomes:
            failed = isinstance(outcome, EvaluationError)
            yield from self._failed(str(outcome) if failed else f"failed messageExpression: {cel.OUT_OF_BUDGET}")

    def _messages(self, scene: Scene, params: Object | None, meter: cel.Meter) -> list[str]:
        """Evaluate the message expressions; empty where there is none, or it does not make a line of text."""
        values = self.programs.with_variables(scene.values(params, self._unauthorized), meter)
        found = []
        for validation in self._validations:
            outcome = _outcome(validation.explained, values, meter) if validation.explained is not None else ""
            text = outcome.strip() if isinstance(outcome, str) else ""
            found.append("" if "\n" in text or formats.byte_length(text) > _LONGEST_MESSAGE else text)
        return found

    def _unannotated(self, scene: Scene, params: Object | None) -> Iterator[Denial]:
        """Evaluate the audit annotations, which nobody records here: what fails is refused all the same."""
        if not self._annotations:
            return
        meter = cel.Meter(cel.POLICY_BUDGET)
        values = self.programs.with_variables(scene.values(params, self._unauthorized), meter)
        for annotation in self._annotations:
            outcome = _outcome(annotation, values, meter)
            if isinstance(outcome, EvaluationError):
                yield from self._failed(str(outcome), always=True)


def _outcome(expression: Expression, values: dict[str, Any], meter: cel.Meter) -> Any:
    """Evaluate an expression; returns the error if it fails."""
    try:
        return expression.evaluate(values, meter)
    except EvaluationError as error:
        return error
