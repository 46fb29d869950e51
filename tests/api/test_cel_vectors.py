"""Selectors against what Kubernetes 1.37.1 itself answered.

``admission``: expressions that a kube-apiserver was asked to store, with its complaint. ``devices``: expressions and
devices of allocation problems, evaluated by upstream's ``cel`` package. ``language``: expressions about each part of
the language, evaluated on one device. ``unknown``: new expressions about attributes, whose type is unknown unless
DRAListTypeAttributes is enabled. ``random``: what ``random_expressions`` made up about random devices, and comparisons
of all kinds of values. How they are recorded: tests/vectors/README.md. ``differences.json``
names the expressions whose answers still differ, and why; an entry that no longer differs fails.
"""

from __future__ import annotations

import contextlib
import functools
import json
from pathlib import Path
from typing import Any

import pytest

from drakit_api import cel
from drakit_api.cel.checking import devices
from drakit_api.cel.checking.checker import check
from drakit_api.cel.cost.device_sizes import of_path
from drakit_api.cel.cost.estimate import LIMIT, greatest_cost
from drakit_api.cel.cost.metered import compile_metered
from drakit_api.cel.device import LAYOUT
from drakit_api.cel.errors import CostExceeded
from drakit_api.cel.frames import COST
from drakit_api.cel.syntax.parser import parse
from tests.vectors import recordings

VECTORS = Path(__file__).parents[1] / "vectors" / "cel"
DEVICE = json.loads((VECTORS / "device.json").read_text(encoding="utf-8"))
DRIVER = "gpu.example.com"
WORDED_OTHERWISE = 18  # of the random expressions


def rows(name: str) -> tuple[dict[str, Any], ...]:
    return recordings.recorded(f"cel/{name}")


@functools.cache
def differences() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads((VECTORS / "differences.json").read_text(encoding="utf-8"))
    return found


def answer(expression: str, driver: str, device: dict[str, Any]) -> dict[str, Any]:
    try:
        selector = cel.compile_selector(expression)
    except cel.CelCompileError as error:
        return {"compileError": str(error)}
    try:
        return {"result": selector.matches(cel.device_view(driver, device))}
    except cel.CelRuntimeError as error:
        return {"evalError": str(error)}


def admitted(row: dict[str, Any]) -> str | None:
    """The complaint of a server that stores the expression; the gates are those of the recorded servers."""
    if len(row["expression"].encode()) > 10240:
        return "Too long: may not be more than 10240 bytes"
    gates = {"consumable_capacity": row["server"] != "off136", "list_attributes": row["server"] == "alpha"}
    try:
        cost = cel.check_selector(row["expression"], **gates)
    except cel.CelCompileError as error:
        return str(error)
    return "Forbidden: too complex, exceeds cost limit" if cost > LIMIT else None


def metered_cost(expression: str) -> int:
    tree = parse(expression)
    check(expression, tree, devices.stored())
    run, places = compile_metered(tree, LAYOUT)
    frame = cel.device_view(DRIVER, DEVICE).frame + [0] * places
    with contextlib.suppress(cel.CelRuntimeError, CostExceeded):
        run(frame)
    cost: int = frame[COST]
    return cost


@pytest.mark.parametrize("row", rows("admission"), ids=lambda row: f"{row['server']}-{row['expression'][:60]}")
def test_admission(row: dict[str, Any]) -> None:
    assert admitted(row) == row["message"]


@pytest.mark.parametrize("row", rows("unknown"), ids=lambda row: row["expression"][:80])
def test_attributes_of_unknown_type(row: dict[str, Any]) -> None:
    try:
        found: dict[str, Any] = {"maxCost": cel.check_selector(row["expression"])}
    except cel.CelCompileError as error:
        found = {"compileError": str(error)}
    assert found == row["answer"]


@pytest.mark.slow
def test_devices() -> None:
    for row in rows("devices"):
        recorded = {key: value for key, value in row["answer"].items() if key not in ("cost", "maxCost")}
        assert answer(row["expression"], row["driver"], row["device"]) == recorded, row["expression"]


def _verdict(answered: dict[str, Any]) -> Any:
    return answered.get("result", "refused" if "compileError" in answered else "failed")


@pytest.mark.slow
def test_random_expressions() -> None:
    """They say the same; in the words of an error some differ, ten of them where the real compiler panics."""
    differing, worded = [], 0
    for row in rows("random"):
        ours = answer(row["expression"], row["driver"], row["device"])
        if _verdict(ours) != _verdict(row["answer"]):
            differing.append(row["expression"])
        worded += ours != {key: value for key, value in row["answer"].items() if key not in ("cost", "maxCost")}
    assert not differing
    assert worded == WORDED_OTHERWISE


@pytest.mark.parametrize("row", rows("language"), ids=lambda row: row["expression"][:80])
def test_language(row: dict[str, Any]) -> None:
    recorded = {key: value for key, value in row["answer"].items() if key not in ("cost", "maxCost")}
    agrees = answer(row["expression"], DRIVER, DEVICE) == recorded
    assert agrees != (row["expression"] in differences()["answers"])


def test_every_difference_is_about_a_recorded_expression() -> None:
    recorded = {row["expression"] for row in rows("language")}
    assert {expression for kind in differences().values() for expression in kind} <= recorded


@pytest.mark.slow
def test_what_upstream_accepts_and_refuses() -> None:
    """Where messages differ the verdict must not, but for the few constructs that are listed."""
    for row in rows("language"):
        if "not supported" in differences()["answers"].get(row["expression"], ""):
            continue
        ours = answer(row["expression"], DRIVER, DEVICE)
        assert ("compileError" in ours) == ("compileError" in row["answer"]), row["expression"]


@pytest.mark.parametrize(
    "row", [row for row in rows("language") if "maxCost" in row["answer"]], ids=lambda row: row["expression"][:80]
)
def test_greatest_cost(row: dict[str, Any]) -> None:
    try:
        tree = parse(row["expression"])
        check(row["expression"], tree, devices.stored())
        agrees = greatest_cost(tree, of_path) == row["answer"]["maxCost"]
    except cel.CelCompileError:
        agrees = False
    assert agrees != (row["expression"] in differences()["greatest cost"])


@pytest.mark.parametrize(
    "row", [row for row in rows("language") if "cost" in row["answer"]], ids=lambda row: row["expression"][:80]
)
def test_actual_cost(row: dict[str, Any]) -> None:
    try:
        agrees = metered_cost(row["expression"]) == row["answer"]["cost"]
    except cel.CelCompileError:
        agrees = False
    assert agrees != (row["expression"] in differences()["actual cost"])
