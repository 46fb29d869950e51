"""The rules of a custom resource, evaluated on each write.

Source: ``k8s.io/apiextensions-apiserver`` v0.37 ``pkg/apiserver/schema/cel/validation.go``.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.program import Meter
from drakit_api.cel.values.values import Failed
from drakit_api.rules.before import Before
from drakit_api.rules.compilation import RuleCompiler
from drakit_api.rules.evaluation import NOWHERE, SPENT, CompiledRule, Place, Run, Stop, Warn
from drakit_api.rules.schema_types import declared, with_metadata
from drakit_api.rules.values import holds_float, variable_conversion
from drakit_api.structural.correlation import Correlation
from drakit_api.structural.schema import Rule, Structural, structural
from drakit_api.validation import errors
from drakit_api.validation.errors import FieldError

# What all evaluations for one object may cost.
BUDGET: Final = 10_000_000


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
        run = Run(Meter(budget), warn)
        current = None if old is None else Correlation(new, old, self._schema)
        with contextlib.suppress(Stop):
            self._root.check(run, new, path, Before(current, is_apart=not ratchets))
        return run.found


class _Level:
    """A level of a schema that has rules, or has levels with rules below it."""

    def __init__(self, schema: Structural, rules: tuple[Rule, ...], *, is_resource: bool) -> None:
        self._schema, self._rules, self._is_resource = schema, rules, is_resource
        self.properties: dict[str, _Level] = {}
        self.items: _Level | None = None
        self.values: _Level | None = None
        self.alternatives: list[_Level] = []

    def check(self, run: Run, value: Any, path: str, before: Before) -> None:
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

    def _check_fields(self, run: Run, value: Mapping[str, Any], path: str, before: Before) -> None:
        if self.values is not None:
            for name, part in value.items():
                self.values.check(run, part, f"{path}[{name}]", before.field(name))
        for name, level in self.properties.items():
            if name in value:
                level.check(run, value[name], f"{path}.{name}" if path else name, before.field(name))

    def _evaluate(self, run: Run, value: Any, path: str, before: Before) -> None:
        at = path or NOWHERE
        if run.meter.is_spent():
            run.found.append(errors.invalid(at, self._schema.type, SPENT))
            raise Stop
        old = before.value if self._compares else None
        place = Place(value, self._converted(value), self._converted(old), path, before)
        for rule in self._compiled:
            if old is not None or not rule.compares or rule.is_optional:
                rule.evaluate(run, place)

    def _converted(self, value: Any) -> Any:
        """Return a value as expressions see it, or why they cannot."""
        convert = self._exact_conversion if holds_float(value) else self._conversion
        try:
            return value if value is None or convert is None else convert(value)
        except CelRuntimeError as error:
            return Failed(CelRuntimeError, str(error))

    @functools.cached_property
    def _conversion(self) -> Callable[[Any], Any] | None:
        return variable_conversion(self._schema, is_resource=self._is_resource)

    @functools.cached_property
    def _exact_conversion(self) -> Callable[[Any], Any] | None:
        return variable_conversion(self._schema, is_resource=self._is_resource, exact=True)

    @functools.cached_property
    def _compiled(self) -> list[CompiledRule]:
        known = declared(self._schema, is_resource=self._is_resource)
        if known is None:
            return []
        compiler = RuleCompiler(known)
        return [CompiledRule(compiler, rule, self._schema) for rule in self._rules if rule.rule.strip()]

    @functools.cached_property
    def _compares(self) -> bool:
        return any(rule.compares for rule in self._compiled)


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
