"""DRAFractionalCapacityRange (KEP-5075): shares of a device in steps of less than one."""

from __future__ import annotations

from collections.abc import Iterator

from drakit_kind.manifests import Object, claim, request
from e2e.matrix.stage import Stage

_DRIVER = "fraction.example.com"
_DEVICES = f"""
driver: {_DRIVER}
devices:
- name: core-0
  allowMultipleAllocations: true
  capacity: {{cores: {{value: 2, requestPolicy: {{default: 500m, validRange: {{min: 250m, step: 250m}}}}}}}}
"""


def _part(name: str, cores: str) -> Object:
    return claim(name, request("device", _DRIVER, capacity={"requests": {"cores": cores}}))


def _consumed(stage: Stage, name: str) -> str:
    (result,) = stage.results(name)
    cores: str = result["consumedCapacity"]["cores"]
    return cores


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler, which rounds up to whole numbers; on again."""
    stage.layout(_DEVICES)
    stage.runs(_part("part", "300m"))
    assert _consumed(stage, "part") == "500m"
    yield

    stage.runs(_part("rounded", "300m"))
    assert _consumed(stage, "rounded") == "1"
    yield

    stage.runs(_part("again", "200m"))
    assert _consumed(stage, "again") == "250m"
