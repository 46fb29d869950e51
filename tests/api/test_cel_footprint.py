"""What expressions read: what is found out for typical ones, and that nothing else ever matters."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from drakit_api.cel import CelCompileError, CelRuntimeError, compile_selector, device_view
from drakit_api.cel.footprint import EVERYTHING, Footprint
from drakit_api.kubernetes_objects import Object
from tests.vectors import recordings

_VECTORS = Path(__file__).parent.parent / "vectors" / "cel"
_D = 'device.attributes["d"]'


def _reads(*names: tuple[str, str], domains: tuple[str, ...] = (), **more: bool) -> Footprint:
    return Footprint(frozenset(names), frozenset(domains), **more)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("true", _reads(), id="nothing"),
        pytest.param('device.driver == "d"', _reads(), id="the driver is the same for all"),
        pytest.param(f"{_D}.x == 1", _reads(("d", "x")), id="attribute"),
        pytest.param(f'{_D}["x"] == 1 && {_D}.y', _reads(("d", "x"), ("d", "y")), id="key"),
        pytest.param(f"{_D}.?x.orValue(true)", _reads(("d", "x")), id="optional selection"),
        pytest.param(f'{_D}[?"x"].hasValue()', _reads(("d", "x")), id="optional key"),
        pytest.param('device.attributes[?"d"].?x.orValue(true)', _reads(("d", "x")), id="optional domain"),
        pytest.param("device.attributes.d.x == 1", _reads(("d", "x")), id="domain as a field"),
        pytest.param(f'"x" in {_D}', _reads(("d", "x")), id="in a domain"),
        pytest.param('"d" in device.attributes', _reads(domains=("d",)), id="whether there is a domain"),
        pytest.param(f"has({_D}.x)", _reads(("d", "x")), id="has"),
        pytest.param("has(device.attributes.d)", _reads(domains=("d",)), id="has a domain"),
        pytest.param(f"cel.bind(a, {_D}, a.x == 1)", _reads(("d", "x")), id="bound domain"),
        pytest.param("cel.bind(a, device.attributes, a.d.x == 1)", _reads(("d", "x")), id="bound attributes"),
        pytest.param(f"cel.bind(a, {_D}, cel.bind(a, a.x, a == 1))", _reads(("d", "x")), id="bound twice"),
        pytest.param(f"{_D}.all(a, a == 'x')", _reads(domains=("d",)), id="comprehension"),
        pytest.param(f"['x'].exists(a, a in {_D})", _reads(domains=("d",)), id="computed key"),
        pytest.param(f"{_D}[device.driver] == 1", _reads(domains=("d",)), id="computed index"),
        pytest.param("device.attributes[device.driver].x == 1", _reads(all_attributes=True), id="computed domain"),
        pytest.param("device.attributes.size() > 1", _reads(all_attributes=True), id="number of domains"),
        pytest.param("device.allowMultipleAllocations", _reads(capacity=True), id="sharing"),
        pytest.param('device.capacity["d"].m.isGreaterThan(quantity("1"))', _reads(capacity=True), id="capacity"),
        pytest.param("[device].exists(d, d.attributes.d.x == 1)", EVERYTHING, id="the device in a list"),
        pytest.param("cel.bind(a, device, a.attributes.d.x == 1)", _reads(("d", "x")), id="bound device"),
        pytest.param("[1].all(device, device == 1)", EVERYTHING, id="hidden device"),
        pytest.param(f"{_D}.?x.optMap(v, v == 1).orValue(false)", _reads(("d", "x")), id="optMap"),
    ],
)
def test_what_is_read(expression: str, expected: Footprint) -> None:
    assert compile_selector(expression).footprint == expected


def _rows() -> list[tuple[str, str, Object]]:
    """Recorded expressions with a driver and a device on which they mean something."""
    plain = "gpu.example.com", msgspec.json.decode((_VECTORS / "device.json").read_bytes())
    rows = {}
    for name in ("language", "devices"):
        for line in recordings.lines(f"cel/{name}"):
            row = msgspec.json.decode(line)
            rows[row["expression"]] = (row["driver"], row["device"]) if "device" in row else plain
    return [(expression, *where) for expression, where in sorted(rows.items())]


_VALUES: list[Object] = [{"int": 1}, {"string": "x"}, {"bool": True}, {"version": "1.2.3"}, {"ints": [1, 2]}]
_NAMES = ("x", "type", "n", "gpu.example.com/v", "other.io/x", "a.io/b", "index")


def _changed(random: Random, driver: str, device: Object, reads: Footprint) -> Object:
    """The device with other values for all that is not read."""
    attributes = dict(device.get("attributes") or {})
    for name in {*attributes, *_NAMES}:
        domain, slash, identifier = name.partition("/")
        if not reads.reads(*((domain, identifier) if slash else (driver, name))):
            attributes.pop(name, None)
            if random.random() < 0.5:
                attributes[name] = random.choice(_VALUES)
    other = {**device, "attributes": attributes}
    if not reads.capacity:
        other["capacity"] = {"memory": {"value": str(random.randrange(9))}}
        other["allowMultipleAllocations"] = random.random() < 0.5
    return other


def _outcome(expression: str, driver: str, device: Object) -> Any:
    try:
        return compile_selector(expression).matches(device_view(driver, device))
    except CelRuntimeError as error:
        return str(error)


@pytest.mark.slow
def test_nothing_else_matters() -> None:
    random, compared = Random(1), 0
    for expression, driver, device in _rows():
        try:
            reads = compile_selector(expression).footprint
        except CelCompileError:
            continue
        expected = _outcome(expression, driver, device)
        for _ in range(4):
            other = _changed(random, driver, device, reads)
            assert _outcome(expression, driver, other) == expected, (expression, other)
        compared += reads != EVERYTHING
    assert compared > 300
