"""Values in the errors of expressions, and what expressions cost."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.cel import admission
from drakit_api.cel.admission import Meter
from drakit_api.cel.errors import CelRuntimeError

KNOWN = admission.environment(params=False, authorizer=False)


def program(expression: str) -> admission.Program:
    return admission.compile(expression, KNOWN)


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("true", "true"),
        ("1u", "1"),
        ("1e30", "1e+30"),
        ("null", "0"),
        ("'a'", "a"),
        ("int", "int"),
        ("duration('90s')", "1m30s"),
        ("duration('-1h')", "-1h0m0s"),
        ("duration('1.5ms')", "1.5ms"),
        ("duration('0s')", "0s"),
        ("timestamp(0)", "1970-01-01 00:00:00 +0000 UTC"),
        ("timestamp('2020-02-29T12:00:00.5Z')", "2020-02-29 12:00:00.5 +0000 UTC"),
        ("ip('::1')", "::1"),
    ],
)
def test_a_key_that_is_there_already(key: str, shown: str) -> None:
    with pytest.raises(CelRuntimeError) as caught:
        program(f"[1, 2].transformMapEntry(i, x, {{{key}: x}})").evaluate({}, Meter(admission.POLICY_BUDGET))
    assert str(caught.value) == f"insert failed: key {shown} already exists"


LIST, TEXT = ["a", "b", "c"], "abcdefghij" * 9


@pytest.mark.parametrize(
    ("expression", "cost"),
    [
        # Where several overloads fit, upstream does not look at the sizes.
        ("object.text + object.text == ''", 5),
        ("string(object.text) + object.text == ''", 23),
        ("object.text < object.text", 5),
        ("'z' in object.list", 3),
        ("object.list.sort() == []", 3),
        ("cidr('fe80::/10').containsIP(ip('::1'))", 3),
        # The first step of a path is free in a branch.
        ("(object.yes ? object.text : 'a') == ''", 3),
        ("(object.yes ? [object.text] : [object.text])[0] == ''", 15),
        # A list of one constant costs nothing.
        ("object.list.map(x, 1) == [1]", 10),
    ],
)
def test_what_counts(expression: str, cost: int) -> None:
    """The costs are those that the libraries of Kubernetes 1.37 counted."""
    meter = Meter(admission.POLICY_BUDGET)
    values: dict[str, Any] = {"object": {"text": TEXT, "list": LIST, "yes": True}}
    program(expression).evaluate(values, meter)
    assert admission.POLICY_BUDGET - meter.left == cost
