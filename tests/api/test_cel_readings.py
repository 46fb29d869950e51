"""What is told of a selector that is false: the conditions that are, and the values that they read."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.cel import device_view
from drakit_api.cel.readings import Reading, conditions, failed_conditions, readings

_DEVICE = device_view(
    "gpu.example.com",
    {
        "attributes": {
            "profile": {"string": "1g.5gb"},
            "slices": {"int": 1},
            "driverVersion": {"version": "1.2.3"},
            "modes": {"strings": ["a", "b"]},
            "other.example.com/ok": {"bool": False},
        },
        "capacity": {"memory": {"value": "40Gi"}},
    },
)
_GPU = 'device.attributes["gpu.example.com"]'


def _attribute(name: str, value: Any, domain: str = "gpu.example.com") -> Reading:
    return Reading("attributes", domain, name, value)


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        pytest.param("a.b == 1", ["a.b == 1"], id="does not compile"),
        pytest.param("device.driver == 'x'", ["device.driver == 'x'"], id="one"),
        pytest.param("  true && (false && true) ", ["true", "false", "true"], id="parentheses"),
        pytest.param("((true && false))", ["true", "false"], id="parentheses around all of it"),
        pytest.param("true || true && false", ["true || true && false"], id="alternatives are one condition"),
        pytest.param("true ? true && false : false", ["true ? true && false : false"], id="a choice is one condition"),
        pytest.param('"&&" == "a" && r"\\" == \'&&\'', ['"&&" == "a"', "r\"\\\" == '&&'"], id="texts"),
        pytest.param("true // not && this\n&& false", ["true // not && this", "false"], id="comments"),
        pytest.param(
            "[1].all(x, x > 0 && x < 2) && true", ["[1].all(x, x > 0 && x < 2)", "true"], id="inside of calls"
        ),
        pytest.param("cel.bind(x, 1, x > 0 && x < 2)", ["cel.bind(x, 1, x > 0 && x < 2)"], id="variables"),
    ],
)
def test_conditions_are_what_is_joined_at_the_top(expression: str, parts: list[str]) -> None:
    assert conditions(expression) == tuple(parts)


@pytest.mark.parametrize(
    ("expression", "read"),
    [
        pytest.param("device.driver == 'x'", [Reading("driver", value="gpu.example.com")], id="driver"),
        pytest.param(
            "device.allowMultipleAllocations", [Reading("allowMultipleAllocations", value=False)], id="sharing"
        ),
        pytest.param(f'{_GPU}.profile == "x"', [_attribute("profile", "1g.5gb")], id="attribute"),
        pytest.param(f'{_GPU}["profile"] == "x"', [_attribute("profile", "1g.5gb")], id="index"),
        pytest.param(f'{_GPU}.?profile.orValue("") == "x"', [_attribute("profile", "1g.5gb")], id="optional"),
        pytest.param(
            'device.attributes[?"gpu.example.com"].?slices.orValue(0) > 1', [_attribute("slices", 1)], id="domain"
        ),
        pytest.param(f"has({_GPU}.missing)", [_attribute("missing", None)], id="has"),
        pytest.param(f'"missing" in {_GPU}', [_attribute("missing", None)], id="in"),
        pytest.param(f'"x" in {_GPU}.modes', [_attribute("modes", ("a", "b"))], id="in a list"),
        pytest.param(
            f'{_GPU}.driverVersion.isGreaterThan(semver("2.0.0"))', [_attribute("driverVersion", "1.2.3")], id="version"
        ),
        pytest.param(
            'device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0',
            [Reading("capacity", "gpu.example.com", "memory", "40Gi")],
            id="capacity",
        ),
        pytest.param(
            'device.attributes["other.example.com"].ok',
            [_attribute("ok", False, "other.example.com")],
            id="other domain",
        ),
        pytest.param(
            f"cel.bind(gpu, {_GPU}, gpu.slices > 1 && gpu.profile == 'x')",
            [_attribute("slices", 1), _attribute("profile", "1g.5gb")],
            id="bound",
        ),
        pytest.param("cel.bind(device, {'driver': 'x'}, device.driver == 'y')", [], id="hidden by a variable"),
        pytest.param(
            f'{_GPU}.slices > 1 || {_GPU}.slices < 0 || {_GPU}.profile == "x"',
            [_attribute("slices", 1), _attribute("profile", "1g.5gb")],
            id="once each",
        ),
        pytest.param(
            "device.capacity['gpu.example.com'].exists(name, name == 'x')",
            [Reading("capacity", "gpu.example.com", value=("memory",))],
            id="a whole domain",
        ),
        pytest.param("no such thing", [], id="does not compile"),
    ],
)
def test_readings_are_what_an_expression_mentions(expression: str, read: list[Reading]) -> None:
    assert list(readings(expression, _DEVICE)) == read


@pytest.mark.parametrize(
    ("expression", "failed"),
    [
        pytest.param(
            f'{_GPU}.slices == 1 && {_GPU}.profile == "x" && device.driver == "y"',
            [f'{_GPU}.profile == "x"', 'device.driver == "y"'],
            id="only those that are false",
        ),
        pytest.param(f"{_GPU}.missing == 1 && {_GPU}.slices == 2", [f"{_GPU}.slices == 2"], id="not those that fail"),
        pytest.param(f"!({_GPU}.slices == 1)", [f"!({_GPU}.slices == 1)"], id="the whole"),
    ],
)
def test_failed_conditions(expression: str, failed: list[str]) -> None:
    assert [one.expression for one in failed_conditions(expression, _DEVICE)] == failed
