"""What upstream makes of comparing, and of using as keys, what it can neither compare nor hash."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drakit_api.cel import CelCompileError, CelError, CelRuntimeError, compile_selector, device_view
from tests.api import random_expressions

ATTRIBUTES: dict[str, Any] = {"v": {"version": "1.0.0"}, "l": {"strings": ["a"]}}
VIEW = device_view("d", {"name": "d", "attributes": ATTRIBUTES, "capacity": {"mem": {"value": "1"}}})


def evaluated(expression: str) -> bool | str:
    try:
        return compile_selector(expression).matches(VIEW)
    except (CelCompileError, CelRuntimeError) as error:
        return str(error)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.attributes["d"].v == dyn(2)', "no such overload"),
        ('device.attributes["d"].v != dyn(2)', True),
        ('device.capacity["d"].mem != dyn(1)', True),
        ('device.attributes["d"].v == null', False),
        ('dyn(ip("1.1.1.1")) != dyn(1)', True),
        ("optional.of(dyn(url('/a'))) != optional.of(dyn(null))", True),
        ("optional.of(dyn(url('/a'))) == optional.of(dyn(null))", "no such overload"),
    ],
)
def test_only_equality_itself_fails(expression: str, expected: bool | str) -> None:
    assert evaluated(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.attributes["d"].v in dyn([1, 2])', False),
        ('[dyn(semver("1.0.0")), dyn(1)].indexOf(dyn(1)) == 1', True),
        ('[dyn(1), dyn(quantity("1"))].distinct().size() == 2', True),
        ('sets.intersects([dyn(semver("1.0.0"))], [dyn(1)])', False),
        ('[dyn(1), dyn("a")].max() == 1', True),
    ],
)
def test_lists_skip_what_cannot_be_compared(expression: str, expected: bool) -> None:
    assert evaluated(expression) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('[dyn(semver("1.0.0"))] == [dyn(1)]', True),
        ('{"a": dyn(quantity("1"))} == {"a": dyn(1)}', True),
        ('dyn({"a": quantity("1")}) == device.attributes', True),
        ('[dyn(semver("1.0.0"))] + [dyn(2)] == [dyn(1), dyn(2)]', "no such overload"),
        ('[dyn(1), dyn(2)] == [dyn(semver("1.0.0"))] + [dyn(2)]', False),
    ],
)
def test_elements_that_cannot_be_compared_are_equal(expression: str, expected: bool | str) -> None:
    assert evaluated(expression) == expected


UNHASHABLE = "internal error: runtime error: hash of unhashable type {}"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.attributes["d"].l in {"a": 1}', False),
        ('device.attributes["d"].l in ["a"]', False),
        ('device.attributes["d"].v in {"a": 1}', UNHASHABLE.format("cel.Semver")),
        ('device.attributes["d"].v in ["1.0.0"]', UNHASHABLE.format("cel.Semver")),
        ('device.attributes["d"].v in {"a": 1} || true', UNHASHABLE.format("cel.Semver")),
        ('device.attributes["d"].v in device.attributes', False),
        ('dyn(b"a") in {"a": 2}', UNHASHABLE.format("types.Bytes")),
        ('dyn(b"a") in {}', False),
        ('{1: 2}[dyn(device.attributes["d"].v)] == 2', "invalid qualifier type: cel.Semver"),
        ("{1: 2}[dyn([1])] == 2", "program instantiation failed: invalid qualifier type: *types.baseList"),
    ],
)
def test_not_everything_can_be_a_key(expression: str, expected: bool | str) -> None:
    assert evaluated(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "{dyn(true): 1, dyn(1): 2, dyn(1.0): 3, dyn(1u): 4}.size() == 4",
        "{1: 2}[dyn(1u)] == 2",
        "{1: 2}[dyn(1.0)] == 2",
        "!(1 in dyn({1.0: 2}))",
        'dyn(ip("1.1.1.1")) in {dyn(ip("1.1.1.1")): 1}',
        "cel.bind(x, [1], dyn(x) in {dyn(x): 1})",
        "!(dyn([1]) in {dyn([1]): 1})",
        "dyn(9007199254740992.0) in [9007199254740993]",
        "!(1 / 0 in [])",
        "dyn(9007199254740992.0) == 9007199254740993",
        "!(9007199254740992.0 < 9007199254740993)",
    ],
)
def test_which_keys_are_one(expression: str) -> None:
    assert evaluated(expression) is True


def test_a_type_that_was_only_guessed_is_checked() -> None:
    assert evaluated('device.attributes["d"].l.last().value().isLoopback()') == "no such overload: isLoopback(string)"
    assert evaluated('device.attributes["d"].l.last().value() < 1') == "no such overload"


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(st.integers(0, 2**32))
def test_nothing_but_its_own_errors_escapes(seed: int) -> None:
    source = random.Random(seed)
    expression, device = random_expressions.expression(source), random_expressions.device(source)
    with contextlib.suppress(CelError):
        verdict = compile_selector(expression).matches(device_view(random_expressions.DRIVER, device))
        assert verdict in (True, False)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("verb", ["f", "e"])
def test_no_number_of_places_takes_all_memory(verb: str) -> None:
    assert evaluated(f'"%.99999999999{verb}".format([1.0]).contains("1.000")') is True
