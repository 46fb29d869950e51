"""One rule, evaluated for a value: whether it holds, and what is said if it does not.

Source: ``validateExpressions`` and ``evalMessageExpression`` of ``k8s.io/apiextensions-apiserver`` v0.37
``pkg/apiserver/schema/cel/validation.go``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from drakit_api.cel.errors import CelCompileError, CelRuntimeError, OutOfBudget
from drakit_api.cel.program import Meter, Program
from drakit_api.cel.values.types import BOOL, STRING
from drakit_api.cel.values.values import NONE, Failed, Optional
from drakit_api.golang.gofloats import general
from drakit_api.golang.gostrings import quote
from drakit_api.rules.before import Before
from drakit_api.rules.compilation import RuleCompiler, uses_old_self
from drakit_api.rules.field_paths import FieldPathError, field_path
from drakit_api.structural.schema import Rule, Structural
from drakit_api.validation import errors
from drakit_api.validation.errors import FieldError

_LONGEST_MESSAGE = 5 * 1024  # bytes
SPENT: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
_CANCELLED = "operation cancelled: actual cost limit exceeded"
# How Kubernetes writes the path of the object itself.
NOWHERE: Final = "<nil>"

Warn = Callable[[str], None]


class Stop(Exception):
    """No further rules are evaluated."""


class Run:
    """The evaluation of all rules for one object."""

    __slots__ = ("_warn", "found", "meter")

    def __init__(self, meter: Meter, warn: Warn | None) -> None:
        self.meter = meter
        self._warn = warn
        self.found: list[FieldError] = []

    def add(self, fault: FieldError, *, is_old: bool) -> None:
        """Add what is wrong, or warn of it if it was so before."""
        if not is_old:
            self.found.append(fault)
        elif self._warn is not None:
            self._warn(str(fault))


class Place(NamedTuple):
    """What rules are evaluated for: a value in JSON, itself and its old one as expressions see them, and its place."""

    value: Any
    new: Any
    old: Any
    path: str
    before: Before


class CompiledRule:
    """A compiled rule. It ``compares`` if it uses the old value, which ``is_optional`` if there need not be one."""

    def __init__(self, compiler: RuleCompiler, rule: Rule, schema: Structural) -> None:
        self._rule, self._schema = rule, schema
        self.is_optional = bool(rule.optional_old_self)
        self._problem = ""
        self._message: Program | None = None
        self.compares = False
        try:
            self._program = compiler.program(rule.rule, BOOL, optional=self.is_optional)
            self.compares = uses_old_self(self._program.tree)
        except CelCompileError as error:
            self._problem = str(error)
            return
        if rule.message_expression:
            try:
                self._message = compiler.program(rule.message_expression, STRING, optional=self.is_optional)
            except CelCompileError:
                self._message = None

    @functools.cached_property
    def _field_path(self) -> str:
        if not self._rule.field_path:
            return ""
        try:
            return field_path(self._rule.field_path, self._schema).text
        except FieldPathError:
            return ""

    def evaluate(self, run: Run, place: Place) -> None:
        """Evaluate the rule, and say so if it does not hold."""
        at = place.path or NOWHERE
        if self._problem:
            run.found.append(self._invalid(at, f"rule compile error: {self._problem}"))
            return
        old = place.old
        if self.is_optional and type(old) is not Failed:
            old = NONE if old is None else Optional(old)
        try:
            holds = self._program.evaluate((place.new, old), run.meter)
        except OutOfBudget:
            run.found.append(self._invalid(at, SPENT))
            raise Stop from None
        except CelRuntimeError as error:
            self._failed(run, at, str(error))
            return
        if holds is not True:
            self._report(run, place, old)

    def _invalid(self, at: str, detail: str) -> FieldError:
        return errors.invalid(at, self._schema.type, detail)

    @property
    def _text(self) -> str:
        return (self._rule.message or self._rule.rule).strip()

    def _failed(self, run: Run, at: str, error: str) -> None:
        """Report a rule whose evaluation fails."""
        if error.startswith("no such overload"):
            reason = "call arguments did not match a supported operator, function or macro signature for rule"
            run.found.append(self._invalid(at, f"'{error}': {reason}: {self._text}"))
        elif error.startswith(_CANCELLED):
            reason = "no further validation rules will be run due to call cost exceeds limit for rule"
            run.found.append(self._invalid(at, f"'{error}': {reason}: {self._text}"))
            raise Stop
        else:
            run.found.append(self._invalid(at, f"{error} evaluating rule: {self._text}"))

    def _report(self, run: Run, place: Place, old: Any) -> None:
        """Report a rule that does not hold."""
        at = ".".join(filter(None, (place.path, self._field_path))) or NOWHERE
        is_old = not self.compares and place.before.is_equal()
        try:
            detail = self._made_message(run, place.new, old)
        except _Unusable as unusable:
            run.add(self._invalid(at, str(unusable)), is_old=is_old)
            raise Stop from None
        if not detail:
            detail = self._rule.message.strip() or f"failed rule: {self._text}"
        run.add(_fault(self._rule.reason, at, place.value, detail), is_old=is_old)

    def _made_message(self, run: Run, new: Any, old: Any) -> str:
        """Evaluate the expression of the message; empty if there is none that is usable."""
        message = self._message
        if message is None or (old is None and uses_old_self(message.tree)):
            return ""
        try:
            made = message.evaluate((new, old), run.meter)
        except OutOfBudget:
            spent = "messageExpression evaluation failed due to running out of cost budget"
            raise _Unusable(f"{spent}, no further validation rules will be run") from None
        except CelRuntimeError as error:
            if str(error).startswith(_CANCELLED):
                reason = "no further validation rules will be run due to call cost exceeds limit for messageExpression"
                raise _Unusable(f"{reason}: {quote(self._rule.message_expression)}") from None
            return ""
        text = made.strip() if type(made) is str else ""
        return text if "\n" not in text and len(text.encode()) <= _LONGEST_MESSAGE else ""


class _Unusable(Exception):
    """The expression of a message costs too much."""


def _fault(reason: str, at: str, value: Any, detail: str) -> FieldError:
    """Make the error of a rule with a reason; objects and lists are not shown."""
    if reason == errors.FORBIDDEN:
        return errors.forbidden(at, detail)
    if reason == errors.REQUIRED:
        return errors.required(at, detail)
    kind, title = (
        (errors.DUPLICATE, "Duplicate value") if reason == errors.DUPLICATE else (errors.INVALID, "Invalid value")
    )
    shown = "" if type(value) in (dict, list) else _shown(value)
    parts = (title, shown) if reason == errors.DUPLICATE else (title, shown, detail)
    return FieldError(kind, at, ": ".join(filter(None, parts)))


def _shown(value: Any) -> str:
    if type(value) is bool:
        return "true" if value else "false"
    return quote(value) if type(value) is str else general(value) if type(value) is float else str(value)
