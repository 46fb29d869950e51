"""The account of who holds what finds a device with two holders, and a counter that is overdrawn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from drakit_client.resources import RESOURCE_SLICES, Resource
from drakit_kind.clusters.api import Api
from e2e.ledger import HeldTwice, Ledger, OverCommitted

DRIVER = "gpu.example.com"


def _device(name: str, **counters: str) -> dict[str, Any]:
    consumed = {"counterSet": "gpu-0", "counters": {key: {"value": value} for key, value in counters.items()}}
    return {"name": name, "consumesCounters": [consumed]}


def _claim(name: str, *devices: str) -> dict[str, Any]:
    found = [{"driver": DRIVER, "pool": "node-1", "device": device, "request": "mig"} for device in devices]
    return {"metadata": {"name": name}, "status": {"allocation": {"devices": {"results": found}}}}


def _ledger(*claims: dict[str, Any]) -> Ledger:
    counters = {"name": "gpu-0", "counters": {"memory": {"value": "4Gi"}, "engines": {"value": "2"}}}
    devices = [
        _device("half-0", memory="2Gi"),
        _device("half-1", memory="2Gi", engines="1"),
        _device("part", memory="1"),
    ]
    slices = [{"spec": {"pool": {"name": "node-1"}, "sharedCounters": [counters], "devices": devices}}]

    def objects(resource: Resource, **_: str) -> list[dict[str, Any]]:
        return slices if resource is RESOURCE_SLICES else list(claims)

    return Ledger(cast(Api, SimpleNamespace(objects=objects)), DRIVER)


def test_what_is_there_may_be_held_to_the_last_byte() -> None:
    _ledger(_claim("a", "half-0"), _claim("b", "half-1"), _claim("none")).check()


@pytest.mark.parametrize(
    ("claims", "error", "said"),
    [
        (
            [_claim("b", "half-0"), _claim("a", "half-0")],
            HeldTwice,
            "half-0 of pool node-1 is held by claims a and b",
        ),
        (
            [_claim("a", "half-0", "half-1"), _claim("b", "part")],
            OverCommitted,
            "memory of gpu-0 in pool node-1: 4294967296 there, 4294967297 taken",
        ),
    ],
    ids=["a device with two holders", "a counter that is overdrawn"],
)
def test_more_than_there_is(claims: list[dict[str, Any]], error: type[OverCommitted], said: str) -> None:
    with pytest.raises(OverCommitted) as caught:
        _ledger(*claims).check()
    assert (type(caught.value), str(caught.value)) == (error, said)
