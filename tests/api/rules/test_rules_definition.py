"""The rules of a definition: their form, types, costs, and whether there is an old value to compare with."""

from __future__ import annotations

import re
from typing import Any

import pytest

from drakit_api.rules import definition
from drakit_api.rules.definition import Stored
from drakit_api.structural.schema import structural

PATH = "p"
INT, TEXT = {"type": "integer"}, {"type": "string", "maxLength": 10}


def obj(properties: dict[str, Any] | None = None, /, **more: Any) -> dict[str, Any]:
    return {"type": "object", **({"properties": properties} if properties else {}), **more}


def ruled(schema: dict[str, Any], rule: str, **more: Any) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": [{"rule": rule, **more}]}


def found(source: dict[str, Any], **options: Any) -> list[tuple[str, str]]:
    faults = definition.faults(structural(source), PATH, **options)
    return [(fault.field, re.sub(r"selfType\d+", "T", fault.message)) for fault in faults]


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({"rule": " "}, ("rule", "Required value: rule is not specified")),
        ({"rule": "true", "message": " "}, ("message", 'Invalid value: " ": must be non-empty if specified')),
        ({"rule": "true", "message": "a\nb"}, ("message", 'Invalid value: "a\\nb": must not contain line breaks')),
        ({"rule": "true\n&&true"},
         ("message", "Required value: message must be specified if rule contains line breaks")),
        ({"rule": "true", "messageExpression": " "},
         ("messageExpression", "Required value: messageExpression must be non-empty if specified")),
        ({"rule": "true", "reason": "Invalid"},
         ("reason", 'Unsupported value: "Invalid": supported values: "FieldValueDuplicate", "FieldValueForbidden", '
                    '"FieldValueInvalid", "FieldValueRequired"')),
        ({"rule": "true", "fieldPath": ".b"}, ("fieldPath", 'Invalid value: ".b": must be a valid path')),
        ({"rule": "true\n&& true", "message": "a", "reason": "FieldValueForbidden", "fieldPath": ".a"}, None),
    ],
)  # fmt: skip
def test_the_form_of_a_rule(rule: dict[str, Any], problem: tuple[str, str] | None) -> None:
    schema = structural(obj({"a": INT}, **{"x-kubernetes-validations": [rule]}))
    faults = [(fault.field, fault.message) for fault in definition.form_faults(schema, PATH)]
    assert faults == ([(f"p.x-kubernetes-validations[0].{problem[0]}", problem[1])] if problem else [])


SHOWN = '{"Rule":"%s","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}'


@pytest.mark.parametrize(
    ("schema", "rule", "problem"),
    [
        (INT, "self + 1", "cel expression must evaluate to a bool"),
        (INT, "self == 'a'", "1:6: found no matching overload for '_==_' applied to '(int, string)'"),
        (obj({"a": INT}), "self.b == 1", "1:5: undefined field 'b'"),
        (obj({"a": INT}), "self == 1", "1:6: found no matching overload for '_==_' applied to '(T, int)'"),
        (obj({"a": obj({"b": INT})}), "self.a == 1",
         "1:8: found no matching overload for '_==_' applied to '(T.a, int)'"),
        (obj({"a": {"type": "array", "maxItems": 2, "items": obj({"b": INT})}}), "self.a[0] == 1",
         "1:11: found no matching overload for '_==_' applied to '(T.a.@idx, int)'"),
        (obj(additionalProperties=obj({"b": INT}), maxProperties=2), "self['x'] == 1",
         "1:11: found no matching overload for '_==_' applied to '(T.@elem, int)'"),
        (obj({"a": obj(**{"x-kubernetes-preserve-unknown-fields": True})}), "self.a.b == 1",
         "1:7: undefined field 'b'"),
        (obj({"a": {"x-kubernetes-preserve-unknown-fields": True}}), "self.a == 1", "1:5: undefined field 'a'"),
        (INT, "[self].includes(1)", "1:16: undeclared reference to 'includes' (in container '')"),
        (TEXT, "math.abs(1) == 1", "1:1: undeclared reference to 'math' (in container '')"),
    ],
)  # fmt: skip
def test_the_types_of_a_schema(schema: dict[str, Any], rule: str, problem: str) -> None:
    detail = problem if problem.startswith("cel ") else f"compilation failed: ERROR: <input>:{problem}"
    ((field, message),) = found(ruled(schema, rule))
    assert field == "p.x-kubernetes-validations[0].rule"
    assert message.startswith(f"Invalid value: {SHOWN % rule}: {detail}")


@pytest.mark.parametrize(
    ("schema", "rule"),
    [
        ({"x-kubernetes-int-or-string": True}, "type(self) == int || self == '5%'"),
        ({"type": "string", "format": "date-time"}, "self > timestamp('2020-01-01T00:00:00Z')"),
        ({"type": "string", "format": "date"}, "self.getFullYear() > 2000"),
        ({"type": "string", "format": "duration"}, "self < duration('1h')"),
        ({"type": "string", "format": "byte", "maxLength": 10}, "self == b'a'"),
        ({"type": "number"}, "self > 1.5 && self > 1"),
        (obj({"a-b": INT, "if": INT, "x__y": INT}), "self.a__dash__b + self.__if__ + self.x__underscores__y > 0"),
        (obj({"a": obj(**{"x-kubernetes-embedded-resource": True})}), "self.a.metadata.name + self.a.kind == 'xy'"),
        (obj({"a": TEXT}), "self.metadata.generateName == '' && self.apiVersion == 'v1'"),
        (TEXT, "self == oldSelf"),
        ({"type": "array", "maxItems": 3, "items": TEXT}, "self.all(i, x, i < 3) && self.transformList(i, x, x) != []"),
        (TEXT, "strings.quote(self) == '' && ip.isCanonical(self) && format.named('uri').hasValue()"),
    ],
)  # fmt: skip
def test_what_expressions_see_of_a_schema(schema: dict[str, Any], rule: str) -> None:
    assert found(ruled(schema, rule)) == []


def test_stored_expressions_may_use_more_than_new_ones() -> None:
    source = ruled(INT, "[self].includes(1)", messageExpression="string([self].includes(1))")
    assert len(found(source)) == 1
    rules = definition.stored_expressions([structural(obj({"old": source}))])
    assert rules == Stored(frozenset({"[self].includes(1)"}), frozenset({"string([self].includes(1))"}))
    assert found(source, stored=rules) == []


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("self", "messageExpression must evaluate to a string"),
        ("zed", "messageExpression compilation failed: ERROR: <input>:1:1: undeclared reference to 'zed'"),
        ("'at least %d'.format([oldSelf])", None),
    ],
)  # fmt: skip
def test_message_expressions(message: str, problem: str | None) -> None:
    faults = found(ruled(INT, "self > 1", messageExpression=message))
    assert [field for field, _ in faults] == ["p.x-kubernetes-validations[0].messageExpression"] * bool(problem)
    assert all(f": {problem}" in shown for _, shown in faults)


def test_a_text_of_unknown_length_costs_too_much() -> None:
    """Upstream's estimate does not know that numbers are short."""
    fields = [field for field, _ in found(ruled(INT, "self > 1", messageExpression="'at least ' + string(self)"))]
    assert fields[0] == "p.x-kubernetes-validations[0].messageExpression"


LONG = {"type": "string"}
BOUNDS = "adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared"
ADVICE = f"(try simplifying the rule, or {BOUNDS})"


@pytest.mark.parametrize(
    ("schema", "factor"),
    [
        ({"type": "array", "items": LONG}, "more than 100x"),
        ({"type": "array", "items": LONG, "maxItems": 100}, "6.3x"),
        ({"type": "array", "items": LONG, "maxItems": 16}, "1.006635x"),
        ({"type": "array", "items": LONG, "maxItems": 15}, None),
    ],
)
def test_a_rule_costs_as_often_as_it_can_be_evaluated(schema: dict[str, Any], factor: str | None) -> None:
    source = {**schema, "items": ruled(LONG, "self.matches('^[a-z]*$')")}
    problem = f"Forbidden: estimated rule cost exceeds budget by factor of {factor} {ADVICE}"
    assert found(source)[:1] == ([("p.items.x-kubernetes-validations[0].rule", problem)] if factor else [])


def test_all_rules_together_have_a_limit() -> None:
    part = {"type": "array", "maxItems": 15, "items": ruled(LONG, "self.matches('^[a-z]*$')")}
    faults = found(obj({f"f{place:02}": part for place in range(12)}))
    contributed = "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    assert [message for _, message in faults[:-1]] == [contributed] * 4
    what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    assert faults[-1] == ("p", f"Forbidden: {what} exceeds budget by factor of 1.132465x {ADVICE}")


def test_an_unchanged_schema_may_have_expensive_rules() -> None:
    source = {"type": "array", "maxItems": 20, "items": ruled(LONG, "self.matches('^[a-z]*$')")}
    assert found(source)
    assert not found(source, is_unchanged=True)


@pytest.mark.parametrize(
    ("schema", "uncorrelated"),
    [
        ({"type": "array", "maxItems": 2, "items": ruled(TEXT, "self == oldSelf")}, "p.properties[a]"),
        ({"type": "array", "maxItems": 2, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
          "items": ruled(obj({"k": TEXT}), "self == oldSelf")}, None),
        ({"type": "array", "maxItems": 2, "items": {
            "type": "array", "maxItems": 2, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": ruled(obj({"k": TEXT}), "self == oldSelf")}}, "p.properties[a]"),
        (obj(additionalProperties=ruled(TEXT, "self == oldSelf"), maxProperties=2), None),
    ],
)  # fmt: skip
def test_transition_rules_need_an_old_value(schema: dict[str, Any], uncorrelated: str | None) -> None:
    messages = [message for _, message in found(obj({"a": schema}))]
    where = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
    assert messages == ([f'Invalid value: "self == oldSelf": {where}'] if uncorrelated else [])


def test_an_optional_old_value_must_be_used() -> None:
    assert found(ruled(INT, "oldSelf.orValue(0) <= self", optionalOldSelf=True)) == []
    problem = "Invalid value: true: may not be set if oldSelf is not used in rule"
    assert found(ruled(INT, "self > 1", optionalOldSelf=True)) == [
        ("p.x-kubernetes-validations[0].optionalOldSelf", problem)
    ]


def test_expressions_around_what_is_wrong_are_not_looked_at() -> None:
    inner, outer = ruled(INT, "self.x"), ruled(obj({"a": ruled(INT, "zed")}), "zed")
    source = obj({"a": outer, "b": inner})
    assert [field.partition(".x-")[0] for field, _ in found(source)] == [
        "p.properties[a].properties[a]",
        "p.properties[a]",
        "p.properties[b]",
    ]
    assert [field.partition(".x-")[0] for field, _ in found(source, flawed=["p.properties[a].properties[a]"])] == [
        "p.properties[b]"
    ]


def test_what_has_no_type_is_not_the_users_fault() -> None:
    problem = "internal error: failed to construct type information for x-kubernetes-validations rules"
    reason = "unable to convert structural schema to CEL declarations"
    source = ruled({"x-kubernetes-preserve-unknown-fields": True}, "true")
    assert found(source) == [("p.x-kubernetes-validations", f"Internal error: {problem}: {reason}")]
