"""What selectors say about devices: the paths that nearly every class and claim uses."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.cel import CelCompileError, CelRuntimeError, compile_selector, device_view

DRIVER = "gpu.example.com"
DEVICE: dict[str, Any] = {
    "name": "gpu-0",
    "attributes": {
        "type": {"string": "gpu"},
        "index": {"int": 3},
        "ecc": {"bool": True},
        "driverVersion": {"version": "1.10.0-rc.1"},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:01"},
        "lanes": {"ints": [1, 2]},
    },
    "capacity": {"memory": {"value": "40Gi"}},
}
VIEW = device_view(DRIVER, DEVICE)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.driver == "gpu.example.com"', True),
        ('device.attributes["gpu.example.com"].type == "mig"', False),
        ('device.attributes["gpu.example.com"].type != "mig"', True),
        ('device.attributes["resource.kubernetes.io"].pcieRoot == "pci0000:01"', True),
        ('device.attributes["gpu.example.com"].index % 2 == 1', True),
        ('device.attributes["gpu.example.com"].index in [1, 3]', True),
        ('device.attributes["gpu.example.com"].index == 3.0', True),
        ('device.attributes["gpu.example.com"].ecc == 1', False),
        ('device.attributes["gpu.example.com"].index == true', False),
        ('device.attributes["gpu.example.com"].ecc', True),
        ('!device.attributes["gpu.example.com"].ecc', False),
        ("device.allowMultipleAllocations", False),
        ('"gpu.example.com" in device.attributes', True),
        ('"nope.example.com" in device.attributes', False),
        ('device.attributes[?"nope.example.com"].hasValue()', True),
        ('has(device.attributes["gpu.example.com"].numa)', False),
        ('"type" in device.attributes["gpu.example.com"]', True),
        ('device.attributes["gpu.example.com"].?numa.orValue(9) == 9', True),
        ('device.attributes["nope.example.com"].exists(k, k == "x")', False),
        ('device.attributes["gpu.example.com"].driverVersion.isLessThan(semver("1.10.0"))', True),
        ('device.attributes["gpu.example.com"].driverVersion.compareTo(semver("1.9.0")) > 0', True),
        ('device.attributes["gpu.example.com"].driverVersion.minor() == 10', True),
        ('device.capacity["gpu.example.com"].memory.compareTo(quantity("40960Mi")) == 0', True),
        ('device.capacity["gpu.example.com"].memory == quantity("40Gi")', True),
        ('device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))', False),
        ('device.attributes["gpu.example.com"].lanes.exists(lane, lane == 2)', True),
        ('device.attributes["gpu.example.com"].lanes.includes(3)', False),
        ('cel.bind(a, device.attributes["gpu.example.com"], a.index > 2 && a.ecc)', True),
        ("cel.bind(d, device, d.driver.endsWith('.example.com'))", True),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_verdict(expression: str, expected: bool) -> None:
    assert compile_selector(expression).matches(VIEW) is expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ('device.attributes["gpu.example.com"].numa == 1', "no such key: numa"),
        ('device.attributes["nope.example.com"].numa == 1', "no such key: numa"),
        ('device.attributes["gpu.example.com"].index', "CEL result of type int could not be converted to bool"),
        ('device.attributes["gpu.example.com"].index < "a"', "no such overload"),
        ('device.attributes["gpu.example.com"].driverVersion == "1.10.0"', "no such overload"),
        (
            'device.attributes["gpu.example.com"].index.isLessThan(semver("1.0.0"))',
            r"no such overload: isLessThan\(int, kubernetes.Semver\)",
        ),
        ("1 / 0 == 1", "division by zero"),
        ("9223372036854775807 + 1 == 0", "integer overflow"),
        ("1u - 2u == 0u", "unsigned integer overflow"),
    ],
)
def test_runtime_error(expression: str, message: str) -> None:
    selector = compile_selector(expression)
    with pytest.raises(CelRuntimeError, match=message):
        selector.matches(VIEW)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.attributes["gpu.example.com"].numa == 1 || true', True),
        ('true || device.attributes["gpu.example.com"].numa == 1', True),
        ('device.attributes["gpu.example.com"].numa == 1 && false', False),
        ("device.attributes['gpu.example.com'].index || true", True),
        ("[0, 1].exists(x, 1 / x == 1)", True),
        ("[0, 1].all(x, 1 / x == 5)", False),
    ],
)
def test_logic_absorbs_errors(expression: str, expected: bool) -> None:
    assert compile_selector(expression).matches(VIEW) is expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "device.nosuch == 1",
            "compilation failed: ERROR: <input>:1:7: undefined field 'nosuch'\n | device.nosuch == 1\n | ......^",
        ),
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
        (
            "1 == 1.0",
            "compilation failed: ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, double)'"
            "\n | 1 == 1.0\n | ..^",
        ),
    ],
)
def test_compile_error(expression: str, message: str) -> None:
    with pytest.raises(CelCompileError) as failure:
        compile_selector(expression)
    assert str(failure.value) == message


def test_attribute_without_a_value_fails_every_selector() -> None:
    view = device_view(DRIVER, {"name": "gpu-0", "attributes": {"broken": {}}})
    with pytest.raises(CelRuntimeError, match="attribute broken: unsupported attribute value"):
        compile_selector("true").matches(view)


def test_unqualified_names_win_over_qualified_ones_of_the_driver() -> None:
    entries = {"x": {"int": 2}, f"{DRIVER}/x": {"int": 1}}
    for attributes in (entries, dict(reversed(entries.items()))):
        view = device_view(DRIVER, {"attributes": attributes})
        assert compile_selector(f'device.attributes["{DRIVER}"].x == 2').matches(view)


def test_compiling_again_gives_the_same_selector() -> None:
    assert compile_selector("1 < 2") is compile_selector("1 < 2")
