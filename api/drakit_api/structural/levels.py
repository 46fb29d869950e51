"""The compiled levels of a schema: each knows whether a value is valid, and what is wrong with one that is not.

Source: ``k8s.io/kube-openapi`` ``pkg/validation/validate/{schema,object_validator,slice_validator}.go``. What
Kubernetes forbids in schemas (``patternProperties``, ``dependencies``, ``uniqueItems`` ...) is not looked at.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from drakit_api.structural import faults
from drakit_api.structural.choices import Choices
from drakit_api.structural.correlation import Correlation
from drakit_api.structural.faults import Fault, Findings
from drakit_api.structural.numbers import bounds
from drakit_api.structural.scalars import Rule, TypeCheck, enumeration, format_of, format_rule, text_rules, types_of

Source = Mapping[str, Any]
Test = Callable[[Any], bool]
# For each type of Python a test, None for one that all pass; values of other types fail.
Tests = dict[type, Test | None]

# What is no other thing of its type: what the type says of it does not depend on its value.
_SAMPLES: tuple[Any, ...] = (True, "", 0, [], {}, None)
_INT64 = range(-(2**63), 2**63)
# An object's own type is that of its version, which a new and an old object have in common.
_TYPE_OF_OBJECT = ("apiVersion", "kind")


class Level:
    """A compiled schema of one value, in its JSON form.

    ``any_format``: a format that Kubernetes does not know bears on the type, too, and what may be an integer or a
    string may be anything, as it is for defaults.
    """

    def __init__(self, source: Source, *, any_format: bool = False) -> None:
        def inner(part: Any) -> Level | None:
            return Level(part, any_format=any_format) if isinstance(part, Mapping) else None

        if any_format:
            source = {name: value for name, value in source.items() if name != "x-kubernetes-int-or-string"}
        form = format_of(source, any_format=any_format)
        self._type = TypeCheck(source, form)
        self._choices = Choices(source, functools.partial(Level, any_format=any_format))
        self._texts, self._format = text_rules(source), format_rule(form)
        self._bounds = bounds(source, types_of(source), form)
        self._enum = enumeration(source)
        fields = source.get("properties") or {}
        self._fields = {name: Level(each, any_format=any_format) for name, each in fields.items()}
        self._others, self._items = inner(source.get("additionalProperties")), inner(source.get("items"))
        self._required: tuple[str, ...] = tuple(source.get("required") or ())
        self._properties: tuple[int | None, int | None] = (source.get("minProperties"), source.get("maxProperties"))
        self._lengths: tuple[int | None, int | None] = (source.get("minItems"), source.get("maxItems"))
        self.tests = _tests(self)

    def is_valid(self, value: Any) -> bool:
        """Tell whether a value is valid, quickly; for types that JSON does not have, as a number too long, slowly."""
        test = self.tests.get(type(value), self._is_valid)
        return test is None or test(value)

    def _is_valid(self, value: Any) -> bool:
        return not self.check(value, "").errors

    def check(self, value: Any, path: str, correlation: Correlation | None = None) -> Findings:
        """Say what is wrong with a value; ``correlation`` is with its old one, if an object is updated."""
        found = self._checked(_as_go(value), path, correlation)
        if found.errors and correlation is not None and correlation.is_equal():
            return Findings(matches=found.matches)
        return found

    def _checked(self, value: Any, path: str, correlation: Correlation | None) -> Findings:
        if value is None:
            found = self._check_type(None, path)
            found.merge(_broken(self._enum, path, value))
            return found
        found = Findings(matches=1)
        for part in self._parts(value, path, correlation):
            found.merge(part)
            found.matches += 1
        return found

    def _parts(self, value: Any, path: str, correlation: Correlation | None) -> Iterator[Findings]:
        """Yield what each check says that kube-openapi makes of such a value, in its order."""
        if self._type.applies:
            yield self._check_type(value, path)
        yield self._choices.check(value, path)
        if isinstance(value, str):
            yield from self._check_text(value, path)
        elif isinstance(value, list):
            yield self._check_list(value, path, correlation)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield Findings(self._bounds.faults(path, value), matches=1)
        yield _broken(self._enum, path, value)
        if isinstance(value, dict):
            yield self._check_object(value, path, correlation)

    def _check_type(self, value: Any, path: str) -> Findings:
        fault = self._type.fault(path, value)
        return Findings([fault]) if fault else Findings(matches=1)

    def _check_text(self, value: str, path: str) -> Iterator[Findings]:
        broken = next((complain(path, value) for test, complain in self._texts if not test(value)), None)
        yield Findings([broken] if broken else [])
        if self._format is not None:
            yield _broken(self._format, path, value)

    def _check_list(self, value: list[Any], path: str, correlation: Correlation | None) -> Findings:
        found = Findings(matches=1)
        if self._items is not None:
            for place, item in enumerate(value):
                old = correlation.index(place) if correlation is not None else None
                found.merge(self._items.check(item, f"{path}[{place}]", old))
        found.add(*_count_faults(path, len(value), self._lengths, "items"))
        return found

    def _check_object(self, value: dict[str, Any], path: str, correlation: Correlation | None) -> Findings:
        found = Findings(_count_faults(path, len(value), self._properties, "properties"))
        for key, item in value.items():
            field = self._fields.get(key)
            inner = field or self._others
            if inner is not None:
                where = key if field is not None and not path else f"{path}.{key}"
                is_own_type = not path and key in _TYPE_OF_OBJECT
                old = None if correlation is None or is_own_type else correlation.key(key)
                found.merge(inner.check(item, where, old))
        found.add(*(faults.missing(path, name) for name in self._required if name not in value))
        return found

    def tests_of(self, sample: Any) -> list[Test]:
        """Return the quick tests for values of the type of ``sample``, whose type is right."""
        tests: list[Test] = [self._enum[0]] if self._enum else []
        if sample is not None and not self._choices.is_empty:
            tests.append(self._choices.is_valid)
        if isinstance(sample, str):
            tests += [test for test, _ in self._texts] + ([self._format[0]] if self._format else [])
        elif isinstance(sample, list):
            tests += _list_tests(self._items, self._lengths)
        elif isinstance(sample, dict):
            tests.append(_object_test(self._fields, self._others, self._required, self._properties))
        elif isinstance(sample, int) and not isinstance(sample, bool):
            tests.append(self._bounds.test_of_integers())
        return tests

    def has_type_of(self, sample: Any) -> bool:
        """Tell whether values of the type of ``sample`` have the right one."""
        return self._type.misfit(sample) is None


def _tests(level: Level) -> Tests:
    tests: Tests = {}
    for sample in _SAMPLES:
        tests[type(sample)] = _together(level.tests_of(sample)) if level.has_type_of(sample) else _fails
    return tests


def _together(tests: list[Test]) -> Test | None:
    if not tests:
        return None
    first, *others = tests
    second = _together(others)
    return first if second is None else lambda value: first(value) and second(value)


def _fails(value: Any) -> bool:
    return False


def _list_tests(items: Level | None, lengths: tuple[int | None, int | None]) -> list[Test]:
    tests: list[Test] = []
    if lengths != (None, None):
        least, most = _range(lengths)
        tests.append(lambda value: least <= len(value) <= most)
    if items is not None:
        is_valid = items.is_valid
        tests.append(lambda value: all(map(is_valid, value)))
    return tests


def _object_test(
    fields: Mapping[str, Level], others: Level | None, required: tuple[str, ...], counts: tuple[int | None, int | None]
) -> Test:
    least, most = _range(counts)
    needed = frozenset(required)
    known = {name: level.tests for name, level in fields.items()}
    slow = {name: level.is_valid for name, level in fields.items()}
    is_valid = others.is_valid if others is not None else None

    def test(value: Any) -> bool:
        if not needed <= value.keys() or not least <= len(value) <= most:
            return False
        for key, item in value.items():
            tests = known.get(key)
            if tests is None:
                if is_valid is not None and not is_valid(item):
                    return False
                continue
            passes = tests.get(type(item), slow[key])
            if passes is not None and not passes(item):
                return False
        return True

    return test


def _range(counts: tuple[int | None, int | None]) -> tuple[float, float]:
    least, most = counts
    return (float("-inf") if least is None else least, float("inf") if most is None else most)


def _count_faults(path: str, count: int, counts: tuple[int | None, int | None], unit: str) -> Iterator[Fault]:
    least, most = counts
    if least is not None and count < least:
        yield faults.bad(path, count, f"should have at least {least} {unit}")
    if most is not None and count > most:
        yield faults.many(path, count, most, unit)


def _broken(rule: Rule | None, path: str, value: Any) -> Findings:
    """Complain of a value that does not pass the test of a rule, if there is one."""
    return Findings() if rule is None or rule[0](value) else Findings([rule[1](path, value)])


def _as_go(value: Any) -> Any:
    """Return a value in one of the types that JSON has in Go: a number of more than 64 bits is not whole."""
    if isinstance(value, float) or (type(value) is int and value not in _INT64):
        return float(value)
    return dict(value) if isinstance(value, dict) and type(value) is not dict else value
