"""What a schema says of single values: their type, the length, pattern and format of texts, and enumerations.

Source: ``k8s.io/kube-openapi`` ``pkg/validation/validate/{type,validator,values}.go``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from drakit_api.golang import regexps
from drakit_api.structural import faults
from drakit_api.structural.faults import Fault
from drakit_api.structural.numbers import is_whole
from drakit_api.structural.same_values import same
from drakit_api.structural.string_formats import check_of, is_recognized

Source = Mapping[str, Any]
Test = Callable[[Any], bool]
# A test, and the complaint about a value, at a path, that does not pass it.
Rule = tuple[Test, Callable[[str, Any], Fault]]

# The name and the format that kube-openapi has for the type of a value.
_KINDS: Mapping[type, tuple[str, str]] = {
    bool: ("boolean", ""),
    str: ("string", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    list: ("array", ""),
    dict: ("object", ""),
}
_MOST_RUNE, _SURROGATES, _NO_RUNE = 0x10FFFF, range(0xD800, 0xE000), "\ufffd"


def types_of(source: Source) -> tuple[str, ...]:
    """Return the types that a value may have; none stands for any."""
    if source.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (source["type"],) if source.get("type") else ()


def format_of(source: Source, *, any_format: bool = False) -> str:
    """Return the format of a schema, if it is one that counts; ``any_format``: all of them do."""
    types, form = types_of(source), source.get("format") or ""
    return form if any_format or is_recognized(form, types[0] if len(types) == 1 else "") else ""


class TypeCheck:
    """The type of a value, which a format makes less strict."""

    def __init__(self, source: Source, form: str) -> None:
        self._types, self._format = types_of(source), form
        self._is_numeric = "number" in self._types or "integer" in self._types
        self._nullable = bool(source.get("nullable"))
        self._named = ",".join(self._types)
        # Whether the schema says anything of types.
        self.applies = bool(self._types or self._format)

    def fault(self, path: str, value: Any) -> Fault | None:
        """Complain of a value of the wrong type."""
        misfit = self.misfit(value)
        return None if misfit is None else faults.wrong_type(path, *misfit)

    def misfit(self, value: Any) -> tuple[str, str] | None:
        """Return the type that a value should have, and the one that it has; None if it has the right one."""
        if value is None:
            return None if self._nullable or not self._types else (self._named, "null")
        if not self.applies:
            return None
        name, form = _KINDS[type(value)]
        fits = name in self._types or self._is_other_number(name, value)
        if self._format and name not in ("string", "array"):
            return None if fits or form == self._format else (self._format, form)
        # Whatever has a format is a text; a list, too.
        return None if fits or (self._format and not self._is_numeric) else (self._named, name)

    def _is_other_number(self, name: str, value: Any) -> bool:
        if name == "integer":
            return "number" in self._types
        return name == "number" and "integer" in self._types and is_whole(value)


def text_rules(source: Source) -> list[Rule]:
    """Read what a schema says of texts: of these rules the first that is broken is reported."""
    most, least, pattern = source.get("maxLength"), source.get("minLength"), source.get("pattern")
    rules: list[Rule] = []
    if most is not None:
        rules.append((lambda text: len(text) <= most, lambda path, _: faults.long_text(path, most)))
    if least is not None:
        detail = f"should be at least {least} chars long"
        rules.append((lambda text: len(text) >= least, lambda path, text: faults.bad(path, text, detail)))
    if pattern:
        rules.append(_pattern_rule(pattern))
    return rules


def _pattern_rule(pattern: str) -> Rule:
    detail = f"should match '{pattern}'"
    test: Test = _never
    try:
        test = regexps.compile_pattern(pattern).search
    except regexps.RegexpError as error:
        detail = f"should match '{pattern}, but pattern is invalid: {error}'"
    return test, lambda path, text: faults.bad(path, text, detail)


def format_rule(form: str) -> Rule | None:
    """Make the rule of a format of texts; None if there is none."""
    check = check_of(form) if form else None
    return (check, lambda path, text: faults.wrong_type(path, form, text)) if check else None


def enumeration(source: Source) -> Rule | None:
    """Read the values that there may be; None if there may be any. Null is never one of them."""
    choices: list[Any] = source.get("enum") or []
    if not choices:
        return None
    texts = frozenset(choice for choice in choices if isinstance(choice, str))

    def test(value: Any) -> bool:
        return value in texts if isinstance(value, str) else any(_converts(value, choice) for choice in choices)

    return test, lambda path, value: faults.no_choice(path, value, choices)


def _converts(value: Any, choice: Any) -> bool:
    """Tell whether a value that is no text becomes a choice, if converted to its type as Go does."""
    if isinstance(value, bool) or choice is None or isinstance(choice, bool):
        return value is choice and choice is not None
    if isinstance(value, int) and isinstance(choice, str):
        is_rune = 0 <= value <= _MOST_RUNE and value not in _SURROGATES
        return choice == (chr(value) if is_rune else _NO_RUNE)
    if isinstance(value, int | float) and isinstance(choice, int | float):
        return (math.trunc(value) if isinstance(choice, int) else float(value)) == choice
    return same(value, choice)


def _never(value: Any) -> bool:
    return False
