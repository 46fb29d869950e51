"""Derived attributes against what Kubernetes 1.37.1 itself answered; how it was asked: tests/vectors/record."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api import cel
from tests.vectors import recordings

ROWS = recordings.recorded("cel/derived")


def stored(row: dict[str, Any]) -> dict[str, Any]:
    try:
        derived = cel.compile_derived_attribute(row["expression"])
        return {"attribute": derived.attribute(cel.device_view(row["driver"], row["device"]))}
    except cel.CelCompileError as error:
        return {"compileError": str(error)}
    except cel.CelRuntimeError as error:
        return {"evalError": str(error)}


def requested(row: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"maxCost": cel.check_derived_attribute(row["expression"])}
    except cel.CelCompileError as error:
        return {"compileError": str(error)}


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in ROWS if not row["new"]], ids=lambda row: row["expression"][:60])
def test_stored(row: dict[str, Any]) -> None:
    recorded = {key: value for key, value in row["answer"].items() if key not in ("cost", "maxCost")}
    if recorded.get("attribute") == {}:
        recorded["attribute"] = {"strings": []}  # an empty list, which Go leaves out
    assert stored(row) == recorded


@pytest.mark.parametrize("row", [row for row in ROWS if row["new"]], ids=lambda row: row["expression"][:60])
def test_in_a_request(row: dict[str, Any]) -> None:
    recorded = row["answer"].get("compileError")
    assert requested(row) == ({"compileError": recorded} if recorded else {"maxCost": row["answer"].get("maxCost", 0)})
