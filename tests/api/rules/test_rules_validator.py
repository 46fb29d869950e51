"""Rules of custom resources at a write: what is evaluated, what is said or only warned of, and what it may cost."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.rules.validator import Validator
from drakit_api.structural.schema import structural

INT, TEXT = {"type": "integer"}, {"type": "string", "maxLength": 100}


def spec(schema: dict[str, Any], **more: Any) -> Validator:
    return Validator(structural({"type": "object", "properties": {"spec": schema}, **more}))


def ruled(schema: dict[str, Any], *rules: Any) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]}


def found(validator: Validator, new: Any, old: Any = None, **options: Any) -> list[tuple[str, str]]:
    before = None if old is None else {"spec": old}
    return [(fault.field, fault.message) for fault in validator.faults({"spec": new}, before, **options)]


def test_without_rules_there_is_nothing_to_do() -> None:
    assert not spec(INT).has_rules
    assert not spec({"allOf": [ruled(INT, "false")], "type": "integer"}).has_rules
    assert spec(INT).faults({"spec": 1}) == []


@pytest.mark.parametrize(
    ("schema", "rule", "value", "message"),
    [
        (INT, "self > 1", 1, "Invalid value: 1: failed rule: self > 1"),
        (INT, {"rule": "self > 1", "message": " more "}, 1, "Invalid value: 1: more"),
        ({"type": "number"}, "self > 1", 0.5, "Invalid value: 0.5: failed rule: self > 1"),
        ({"type": "boolean"}, "!self", True, "Invalid value: true: failed rule: !self"),
        (TEXT, {"rule": "self == ''", "reason": "FieldValueForbidden"}, "a", "Forbidden: failed rule: self == ''"),
        (TEXT, {"rule": "self == ''", "reason": "FieldValueRequired"}, "a", "Required value: failed rule: self == ''"),
        (TEXT, {"rule": "self == ''", "reason": "FieldValueDuplicate"}, "a", 'Duplicate value: "a"'),
        (TEXT, {"rule": "self != 'a'", "reason": "FieldValueInvalid", "message": "m"}, "a", 'Invalid value: "a": m'),
        ({"type": "array", "items": INT}, "self == []", [1], "Invalid value: failed rule: self == []"),
        (INT, {"rule": "self > 1", "messageExpression": "'not %d'.format([self])"}, 1, "Invalid value: 1: not 1"),
        (INT, {"rule": "self > 1", "message": "m", "messageExpression": "' '"}, 1, "Invalid value: 1: m"),
        (INT, {"rule": "self > 1", "message": "m", "messageExpression": "'a\\nb'"}, 1, "Invalid value: 1: m"),
        (INT, {"rule": "self > 1", "messageExpression": "[''][self]"}, 1, "Invalid value: 1: failed rule: self > 1"),
        (INT, "1 / self == 1", 0, 'Invalid value: "integer": division by zero evaluating rule: 1 / self == 1'),
        ({"x-kubernetes-int-or-string": True}, "self > 1", "a",
         "Invalid value: \"\": 'no such overload': call arguments did not match a supported operator, function or "
         "macro signature for rule: self > 1"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_rule_that_does_not_hold(schema: dict[str, Any], rule: Any, value: Any, message: str) -> None:
    assert found(spec(ruled(schema, rule)), value) == [("spec", message)]


def test_where_it_is_said() -> None:
    rule = {"rule": "false", "fieldPath": ".a['b']", "message": "m"}
    validator = spec(ruled({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": INT}}}}, rule))
    assert found(validator, {}) == [("spec.a.b", "Invalid value: m")]
    root = Validator(structural(ruled({"type": "object"}, {"rule": "false", "message": "m"})))
    assert [fault.field for fault in root.faults({})] == ["<nil>"]
    items = ruled(INT, "self > 1")
    assert [field for field, _ in found(spec({"type": "array", "items": items}), [1, 2, 0])] == ["spec[0]", "spec[2]"]
    values = spec({"type": "object", "additionalProperties": items})
    assert [field for field, _ in found(values, {"x": 1})] == ["spec[x]"]


STANDARD = "+/=="  # base64, but not in its form for URLs
BYTES = {"type": "string", "format": "byte"}
ILLEGAL = f"Invalid byte formatted string {STANDARD}: illegal base64 data at input byte 0 evaluating rule"


@pytest.mark.parametrize(
    ("schema", "rule", "value", "message"),
    [
        (BYTES, "self == b''", STANDARD, f'Invalid value: "string": {ILLEGAL}: self == b\'\''),
        (BYTES, "true || self == b''", STANDARD, None),
        ({"x-kubernetes-int-or-string": True}, "self == 1", 1.5,
         'Invalid value: "": invalid data, expected XIntOrString value to be either a string or integer evaluating '
         "rule: self == 1"),
        (BYTES, "false", STANDARD, f'Invalid value: "{STANDARD}": failed rule: false'),
        ({"type": "array", "items": BYTES}, "self[1] == b'a'", [STANDARD, "YQ=="], None),
        ({"type": "array", "items": BYTES}, "self.exists(x, x == b'b')", [STANDARD, "YQ=="],
         f'Invalid value: "array": {ILLEGAL}: self.exists(x, x == b\'b\')'),
    ],
)  # fmt: skip
def test_what_cannot_be_made_fails_where_it_is_used(
    schema: dict[str, Any], rule: str, value: Any, message: str | None
) -> None:
    assert found(spec(ruled(schema, rule)), value) == ([("spec", message)] if message else [])


def test_null_has_no_rules() -> None:
    validator = spec({"type": "array", "items": ruled({**INT, "nullable": True}, "false")})
    assert found(validator, [None, 1]) == [("spec[1]", "Invalid value: 1: failed rule: false")]


def test_names_are_seen_at_the_root_and_no_other_metadata() -> None:
    rules = ("self.metadata.name.startsWith('a')", "!('labels' in dyn(self.metadata))", "self.kind == 'K'")
    root = Validator(structural(ruled({"type": "object"}, *rules)))
    assert root.faults({"kind": "K", "metadata": {"name": "a", "labels": {"a": "b"}}}) == []


@pytest.mark.parametrize(
    ("schema", "rule", "value"),
    [
        ({"type": "object", "properties": {"a": {**INT, "nullable": True}}}, "!has(self.a)", {"a": None}),
        ({"type": "object", "properties": {"a-b": INT}}, "self.a__dash__b == 1", {"a-b": 1}),
        ({"type": "object", "properties": {"t": {"type": "string", "format": "date-time"}}},
         "self.t.getFullYear() == 2024", {"t": "2024-01-02T03:04:05Z"}),
        ({"type": "string", "format": "date"}, "self == timestamp('2024-01-02T00:00:00Z')", "2024-01-02"),
        ({"type": "string", "format": "duration"}, "self == duration('36h')", "1d12h"),
        ({"type": "string", "format": "byte"}, "self == b'hello'", "aGVsbG8="),
        ({"type": "number"}, "type(self) == double && self == 2.0", 2),
        ({"type": "array", "items": {"type": "number"}}, "self.all(x, type(x) == double)", [1, 2.5]),
        ({"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
         "self == ['b', 'a'] && (self + ['a', 'c']).size() == 3", ["a", "b"]),
        ({"type": "array", "items": TEXT}, "self != ['b', 'a'] && (self + ['a']).size() == 3", ["a", "b"]),
        ({"type": "object", "additionalProperties": {"type": "string", "format": "duration"}},
         "self.all(k, self[k] == duration('1s')) && self == {'a': duration('1s')} && size(self) == 1", {"a": "1s"}),
        ({"type": "object", "properties": {"a": INT}, "x-kubernetes-preserve-unknown-fields": True},
         "self.a == 1 && !('b' in dyn(self))", {"a": 1, "b": 2}),
    ],
)  # fmt: skip
def test_what_expressions_see(schema: dict[str, Any], rule: str, value: Any) -> None:
    assert found(spec(ruled(schema, rule)), value) == []


MAP = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": {"type": "object", "properties": {"k": TEXT, "v": INT}},
}


@pytest.mark.parametrize(
    ("rule", "new", "old"),
    [
        ("self == oldSelf", [{"k": "a"}, {"k": "b"}], [{"k": "b"}, {"k": "a"}]),
        ("self != oldSelf", [{"k": "a", "v": 1}, {"k": "b"}], [{"k": "b"}, {"k": "a", "v": 2}]),
        ("(oldSelf + self)[0].v == 2 && (oldSelf + self).size() == 2", [{"k": "a", "v": 2}], [{"k": "a"}, {"k": "b"}]),
    ],
)
def test_lists_with_keys_have_no_order(rule: str, new: Any, old: Any) -> None:
    assert found(spec(ruled(MAP, rule)), new, old) == []


def test_transition_rules_need_an_old_value() -> None:
    validator = spec(ruled(INT, {"rule": "self >= oldSelf", "message": "grows"}))
    assert found(validator, 1) == []
    assert found(validator, 1, 1) == []
    assert found(validator, 1, 2) == [("spec", "Invalid value: 1: grows")]


def test_an_old_value_can_be_optional() -> None:
    validator = spec(ruled(INT, {"rule": "oldSelf.orValue(5) <= self", "optionalOldSelf": True, "message": "m"}))
    assert found(validator, 5) == []
    assert found(validator, 4) == [("spec", "Invalid value: 4: m")]
    assert found(validator, 4, 4) == []


def test_items_with_keys_have_their_own_old_value() -> None:
    items = ruled(MAP["items"], {"rule": "self.v >= oldSelf.v", "message": "grows"})  # type: ignore[arg-type]
    validator = spec({**MAP, "items": items})
    old = [{"k": "a", "v": 1}, {"k": "b", "v": 5}]
    assert found(validator, [{"k": "b", "v": 4}, {"k": "c", "v": 0}, {"k": "a", "v": 2}], old) == [
        ("spec[0]", "Invalid value: grows")
    ]


def test_what_has_not_changed_is_only_warned_of() -> None:
    validator = spec({"type": "object", "properties": {"a": ruled(INT, "self > 1"), "b": ruled(INT, "self > oldSelf")}})
    warnings: list[str] = []
    assert found(validator, {"a": 1, "b": 1}, {"a": 1, "b": 1}, warn=warnings.append) == [
        ("spec.b", "Invalid value: 1: failed rule: self > oldSelf")
    ]
    assert warnings == ["spec.a: Invalid value: 1: failed rule: self > 1"]
    assert len(found(validator, {"a": 0}, {"a": 1}, warn=warnings.append)) == 1
    assert len(found(validator, {"a": 1, "b": 1}, {"a": 1, "b": 1}, ratchets=False)) == 2


def test_a_part_of_a_resource_has_no_names() -> None:
    part = structural(ruled({"type": "object"}, "self.metadata.name != ''"))
    assert Validator(part).faults({"metadata": {"name": "a"}}) == []
    problem = Validator(part, is_resource=False).faults({})[0].message
    assert problem.startswith('Invalid value: "object": rule compile error: compilation failed: ERROR: <input>:1:5:')


def test_rules_in_all_of_hold_as_well() -> None:
    validator = spec({**ruled(INT, "self > 0"), "allOf": [ruled({}, "self > 1")]})
    assert found(validator, 1) == [("spec", "Invalid value: 1: failed rule: self > 1")]


def test_an_expensive_rule_is_the_last_one() -> None:
    long = {"type": "array", "items": INT}
    rule = "self.all(x, self.all(y, x + y >= 0))"
    cancelled = (
        "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost"
    )
    assert found(spec(ruled(long, rule, "false")), [1] * 1000) == [
        ("spec", f'Invalid value: "array": {cancelled} exceeds limit for rule: {rule}')
    ]


def test_all_rules_have_one_budget() -> None:
    spent = "validation failed due to running out of cost budget, no further validation rules will be run"
    validator = spec(ruled(INT, "self > 0", "self > 0", "self < 0"))
    assert found(validator, 1, budget=5) == [
        ("spec", 'Invalid value: "integer": ' + spent),
    ]
    assert found(validator, 1, budget=6) == [("spec", "Invalid value: 1: failed rule: self < 0")]
    items = spec({"type": "array", "items": ruled(INT, "self > 0")})
    assert found(items, [1, 1, 1], budget=4) == [("spec[2]", 'Invalid value: "integer": ' + spent)]


def test_values_of_a_wrong_type_are_errors_of_the_rule() -> None:
    """They are in objects that were stored before their definition was changed."""
    validator = spec(ruled({"type": "object", "properties": {"a": {"type": "number"}}}, "self.a > 1.0"))
    assert found(validator, "text")[0][1].endswith("evaluating rule: self.a > 1.0")
    assert "no such overload" in found(validator, {"a": "text"})[0][1]
