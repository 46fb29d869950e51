"""Expressions in a request: the gates decide what they may use, and their greatest cost is limited."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api import validation
from drakit_api.features import FeatureGates

LISTS = {"DRADerivedAttributes": True, "DRAListTypeAttributes": True}
TENS = "[1,2,3,4,5,6,7,8,9,10]"


def exhaustive(levels: int, result: str) -> str:
    """An expression that costs 125,551 with four levels and 1,455,551 with five."""
    loops = "".join(f"{TENS}.all(x{level}, " for level in range(levels))
    return f"{loops}{'+'.join(f'x{level}' for level in range(levels))} > {result}{')' * levels}"


def claim(selector: str = "", derived: tuple[str, ...] = ()) -> dict[str, Any]:
    exactly: dict[str, Any] = {"deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 1}
    if selector:
        exactly["selectors"] = [{"cel": {"expression": selector}}]
    if derived:
        named = [{"name": f"example.com/a{index}", "expression": text} for index, text in enumerate(derived)]
        exactly["derivedAttributes"] = named
    constraints = [{"matchAttribute": f"example.com/a{index}"} for index in range(len(derived))]
    devices = {"requests": [{"name": "gpu", "exactly": exactly}], "constraints": constraints}
    return {"metadata": {"name": "c", "namespace": "default"}, "spec": {"devices": devices}}


def complaints(obj: dict[str, Any], gates: dict[str, bool] | None = None) -> list[str]:
    errors = validation.validate_create("resourceclaims", obj, FeatureGates("1.37", gates))
    return [str(error).removeprefix("spec.devices.requests[0].exactly.") for error in errors]


@pytest.mark.parametrize(
    ("expression", "gates", "expected"),
    [
        ("device.allowMultipleAllocations", {}, ""),
        ("device.allowMultipleAllocations", {"DRAConsumableCapacity": False}, "undefined field"),
        ("[1].includes(1)", LISTS, ""),
        ("[1].includes(1)", {}, "undeclared reference to 'includes'"),
        ("device.attributes.x.y", {}, ""),
        ("device.attributes.x.y", LISTS, ""),
        ("dyn(true)", LISTS, ""),
        ("dyn(true)", {}, "must evaluate to bool or the unknown type, not dyn"),
        (exhaustive(4, "0"), {}, ""),
        (exhaustive(5, "0"), {}, "Forbidden: too complex, exceeds cost limit"),
        ("'a'.find('(') == ''", {}, "Internal error: program instantiation failed: error parsing regexp: missing"),
    ],
)
def test_selector(expression: str, gates: dict[str, bool], expected: str) -> None:
    found = complaints(claim(expression), gates)
    assert len(found) == bool(expected)
    assert all(text.startswith("selectors[0].cel.expression: ") and expected in text for text in found)


@pytest.mark.parametrize(
    ("expression", "gates", "expected"),
    [
        ("device.attributes.x.y", {}, ""),
        ("device.driver + '!'", {}, ""),
        ("[device.driver]", LISTS, ""),
        (
            "[device.driver]",
            {},
            "must evaluate to a primitive scalar (string, integer, boolean, semver), not list(string)",
        ),
        (
            "quantity('1')",
            LISTS,
            "must evaluate to a primitive scalar (string, integer, boolean, semver) or a list of these scalars, "
            "not kubernetes.Quantity",
        ),
        ("device.nope", {}, "undefined field 'nope'"),
        ("'a' * 10241", {}, "found no matching overload for '_*_' applied to '(string, int)'"),
        (f"'{'a' * 10240}'", {}, "Too long: may not be more than 10240 bytes"),
    ],
)
def test_derived_attribute(expression: str, gates: dict[str, bool], expected: str) -> None:
    found = complaints(claim(derived=(expression,)), gates)
    assert len(found) == bool(expected)
    assert all(text.startswith("derivedAttributes[0].expression: ") and expected in text for text in found)


def test_derived_attributes_of_a_claim_share_a_cost_limit() -> None:
    """Each is below the limit; all together are not."""
    costly = tuple(exhaustive(4, str(index)) for index in range(8))
    assert complaints(claim(derived=costly[:7])) == []
    total = "Forbidden: too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit"
    assert complaints(claim(derived=costly)) == [f"spec.devices: {total}"]
    assert complaints(claim(derived=(exhaustive(5, "0"),))) == [
        "derivedAttributes[0].expression: Forbidden: too complex, exceeds cost limit",
        f"spec.devices: {total}",
    ]


@pytest.mark.parametrize(
    ("version", "expected"), [("1.37", []), ("1.36", ["undeclared reference to 'includes'"])], ids=["1.37", "1.36"]
)
def test_lists_have_includes_once_every_component_knows_it(version: str, expected: list[str]) -> None:
    gates = FeatureGates("1.37", min_compatibility_version=version)
    errors = list(map(str, validation.validate_create("resourceclaims", claim("[1].includes(1)"), gates)))
    assert len(errors) == len(expected)
    assert all(part in error for part, error in zip(expected, errors, strict=True))
