"""The rules of a custom resource, evaluated on each write.

Source: ``k8s.io/apiextensions-apiserver`` v0.37 ``pkg/apiserver/schema/cel/validation.go``.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from drakit_api.cel.errors import CelCompileError, CelRuntimeError, OutOfBudget
from drakit_api.cel.program import Meter, Program
from drakit_api.cel.values.types import BOOL, STRING
from drakit_api.cel.values.values import NONE, Optional
from drakit_api.golang.gofloats import general
from drakit_api.golang.gostrings import quote
from drakit_api.rules.compilation import RuleCompiler, uses_old_self
from drakit_api.rules.field_paths import FieldPathError, field_path
from drakit_api.rules.schema_types import declared, with_metadata
from drakit_api.rules.values import conversion
from drakit_api.structural.correlation import Correlation
from drakit_api.structural.schema import Rule, Structural, structural
from drakit_api.validation import errors
from drakit_api.validation.errors import FieldError

# What all evaluations for one object may cost.
BUDGET: Final = 10_000_000
_LONGEST_MESSAGE = 5 * 1024  # bytes
_SPENT = "validation failed due to running out of cost budget, no further validation rules will be run"
_CANCELLED = "operation cancelled: actual cost limit exceeded"
_NOWHERE = "<nil>"

Warn = Callable[[str], None]


class Validator:
    """The rules of a schema. They are compiled when they are first evaluated.

    ``is_resource`` is for the schema of a whole custom resource, or of one that is embedded.
    """

    def __init__(self, schema: Structural, *, is_resource: bool = True) -> None:
        self._schema = schema
        self._root = _level(schema, schema, is_resource=is_resource) if _has_rules(schema) else None

    @property
    def has_rules(self) -> bool:
        """Tell whether there is anything to evaluate."""
        return self._root is not None

    def faults(
        self,
        new: Any,
        old: Any = None,
        path: str = "",
        budget: int = BUDGET,
        warn: Warn | None = None,
        *,
        ratchets: bool = True,
    ) -> list[FieldError]:
        """Return the rules that do not hold for a value; ``old`` is what it was before an update.

        A rule that does not hold for what has not changed is only warned of, if it ``ratchets``.
        """
        if self._root is None:
            return []
        run = _Run(Meter(budget), warn)
        current = None if old is None else Correlation(new, old, self._schema)
        with contextlib.suppress(_Stop):
            self._root.check(run, new, path, _Before(current, is_apart=not ratchets))
        return run.found


class _Stop(Exception):
    """No further rules are evaluated."""


class _Run:
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


class _Before(NamedTuple):
    """What a value was before: ``current`` is None if that is not known; ``nearest`` is then of a value around it.

    ``is_apart``: whether the value itself has changed does not matter, only whether ``nearest`` has.
    """

    current: Correlation | None = None
    nearest: Correlation | None = None
    is_apart: bool = False

    @property
    def value(self) -> Any:
        """The old value, or None."""
        return None if self.current is None else self.current.old

    def is_equal(self) -> bool:
        """Tell whether nothing has changed in the value, or in one around it."""
        correlation = self.nearest if self.is_apart or self.current is None else self.current
        return correlation is not None and correlation.is_equal()

    def apart(self) -> _Before:
        """Go on to a schema of ``allOf``."""
        return _Before(self.current, self.nearest, is_apart=True)

    def field(self, name: str) -> _Before:
        """Go on to a field. Old and new object are converted to one version, so that of the object is never old."""
        if self.current is None:
            return self
        child = self.current.key(name)
        if self.nearest is None and name in ("apiVersion", "kind"):
            return _Before(child, None, is_apart=True)
        return _Before(child, self.nearest, is_apart=True) if self.is_apart else _Before(child, self.current)

    def item(self, place: int) -> _Before:
        """Go on to an item."""
        if self.current is None:
            return self
        child = self.current.index(place)
        return _Before(child, self.nearest, is_apart=True) if self.is_apart else _Before(child, self.current)


class _Level:
    """A level of a schema that has rules, or has levels with rules below it."""

    def __init__(self, schema: Structural, rules: tuple[Rule, ...], *, is_resource: bool) -> None:
        self._schema, self._rules, self._is_resource = schema, rules, is_resource
        self.properties: dict[str, _Level] = {}
        self.items: _Level | None = None
        self.values: _Level | None = None
        self.alternatives: list[_Level] = []

    def check(self, run: _Run, value: Any, path: str, before: _Before) -> None:
        """Evaluate the rules for a value and for its parts."""
        if value is None:
            return
        if self._rules:
            self._evaluate(run, value, path, before)
        for level in self.alternatives:
            level.check(run, value, path, before.apart())
        if type(value) is dict:
            self._check_fields(run, value, path, before)
        elif type(value) is list and self.items is not None:
            for place, item in enumerate(value):
                self.items.check(run, item, f"{path}[{place}]", before.item(place))

    def _check_fields(self, run: _Run, value: Mapping[str, Any], path: str, before: _Before) -> None:
        if self.values is not None:
            for name, part in value.items():
                self.values.check(run, part, f"{path}[{name}]", before.field(name))
        for name, level in self.properties.items():
            if name in value:
                level.check(run, value[name], f"{path}.{name}" if path else name, before.field(name))

    def _evaluate(self, run: _Run, value: Any, path: str, before: _Before) -> None:
        at = path or _NOWHERE
        if run.meter.is_spent():
            run.found.append(errors.invalid(at, self._schema.type, _SPENT))
            raise _Stop
        old = before.value if self._compares else None
        rules = [rule for rule in self._compiled if old is not None or not rule.compares or rule.is_optional]
        try:
            place = _Evaluated(value, self._converted(value), self._converted(old), path, before)
        except CelRuntimeError as error:
            for rule in rules:
                rule.failed(run, at, str(error))
            return
        for rule in rules:
            rule.evaluate(run, place)

    def _converted(self, value: Any) -> Any:
        """Return a value as expressions see it."""
        convert = self._conversion
        return value if value is None or convert is None else convert(value)

    @functools.cached_property
    def _conversion(self) -> Callable[[Any], Any] | None:
        return conversion(self._schema, is_resource=self._is_resource)

    @functools.cached_property
    def _compiled(self) -> list[_Rule]:
        known = declared(self._schema, is_resource=self._is_resource)
        if known is None:
            return []
        compiler = RuleCompiler(known)
        return [_Rule(compiler, rule, self._schema) for rule in self._rules if rule.rule.strip()]

    @functools.cached_property
    def _compares(self) -> bool:
        return any(rule.compares for rule in self._compiled)


class _Evaluated(NamedTuple):
    """What rules are evaluated for: a value in JSON, itself and its old one as expressions see them, and its place."""

    value: Any
    new: Any
    old: Any
    path: str
    before: _Before


class _Rule:
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

    def evaluate(self, run: _Run, place: _Evaluated) -> None:
        """Evaluate the rule, and say so if it does not hold."""
        at = place.path or _NOWHERE
        if self._problem:
            run.found.append(self._invalid(at, f"rule compile error: {self._problem}"))
            return
        old = place.old
        if self.is_optional:
            old = NONE if old is None else Optional(old)
        try:
            holds = self._program.evaluate((place.new, old), run.meter)
        except OutOfBudget:
            run.found.append(self._invalid(at, _SPENT))
            raise _Stop from None
        except CelRuntimeError as error:
            self.failed(run, at, str(error))
            return
        if holds is not True:
            self._report(run, place, old)

    def _invalid(self, at: str, detail: str) -> FieldError:
        return errors.invalid(at, self._schema.type, detail)

    @property
    def _text(self) -> str:
        return (self._rule.message or self._rule.rule).strip()

    def failed(self, run: _Run, at: str, error: str) -> None:
        """Report a rule whose evaluation fails."""
        if error.startswith("no such overload"):
            reason = "call arguments did not match a supported operator, function or macro signature for rule"
            run.found.append(self._invalid(at, f"'{error}': {reason}: {self._text}"))
        elif error.startswith(_CANCELLED):
            reason = "no further validation rules will be run due to call cost exceeds limit for rule"
            run.found.append(self._invalid(at, f"'{error}': {reason}: {self._text}"))
            raise _Stop
        else:
            run.found.append(self._invalid(at, f"{error} evaluating rule: {self._text}"))

    def _report(self, run: _Run, place: _Evaluated, old: Any) -> None:
        """Report a rule that does not hold."""
        at = ".".join(filter(None, (place.path, self._field_path))) or _NOWHERE
        is_old = not self.compares and place.before.is_equal()
        try:
            detail = self._made_message(run, place.new, old)
        except _Unusable as unusable:
            run.add(self._invalid(at, str(unusable)), is_old=is_old)
            raise _Stop from None
        if not detail:
            detail = self._rule.message.strip() or f"failed rule: {self._text}"
        run.add(_fault(self._rule.reason, at, place.value, detail), is_old=is_old)

    def _made_message(self, run: _Run, new: Any, old: Any) -> str:
        """Evaluate the expression of the message; empty if there is none that is usable."""
        message = self._message
        if message is None or (old is None and uses_old_self(message.tree)):
            return ""
        try:
            made = str(message.evaluate((new, old), run.meter)).strip()
        except OutOfBudget:
            spent = "messageExpression evaluation failed due to running out of cost budget"
            raise _Unusable(f"{spent}, no further validation rules will be run") from None
        except CelRuntimeError as error:
            if str(error).startswith(_CANCELLED):
                reason = "no further validation rules will be run due to call cost exceeds limit for messageExpression"
                raise _Unusable(f"{reason}: {quote(self._rule.message_expression)}") from None
            return ""
        return made if "\n" not in made and len(made.encode()) <= _LONGEST_MESSAGE else ""


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


def _level(rules: Structural, schema: Structural, *, is_resource: bool) -> _Level | None:
    """Make the level of a schema; ``rules`` is the schema with its rules, which may be one of ``allOf`` in it."""
    level = _Level(schema, rules.rules, is_resource=is_resource)
    spine = with_metadata(schema) if is_resource else schema
    for name, part in rules.properties.items():
        if (known := spine.properties.get(name)) is not None:
            found = _level(part, known, is_resource=known.is_embedded)
            if found is not None:
                level.properties[name] = found
    if rules.items is not None and schema.items is not None:
        level.items = _level(rules.items, schema.items, is_resource=schema.items.is_embedded)
    if isinstance(rules.additional, Structural) and isinstance(schema.additional, Structural):
        level.values = _level(rules.additional, schema.additional, is_resource=schema.additional.is_embedded)
    for source in rules.source.get("allOf") or ():
        found = _level(structural(source), schema, is_resource=is_resource)
        if found is not None:
            level.alternatives.append(found)
    has_some = rules.rules or level.properties or level.items or level.values or level.alternatives
    return level if has_some else None


def _has_rules(schema: Structural) -> bool:
    """Tell whether a schema has rules; those inside of ``allOf`` alone do not count."""
    parts: Iterable[Any] = (*schema.properties.values(), schema.items, schema.additional)
    return bool(schema.rules) or any(_has_rules(part) for part in parts if isinstance(part, Structural))
