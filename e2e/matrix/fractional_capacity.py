"""DRAFractionalCapacityRange (KEP-5075): shares of a device in steps of less than one."""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import RESOURCE_SLICES
from drakit_kind.clusters.manifests import claim, request
from e2e.matrix.stage import Stage

_DRIVER = "fraction.example.com"
_DEVICES = f"""
driver: {_DRIVER}
devices:
- name: core-0
  allowMultipleAllocations: true
  capacity: {{cores: {{value: 2, requestPolicy: {{default: 500m, validRange: {{min: 250m, step: 250m}}}}}}}}
"""


# Rounded up to whole numbers, the default is no number of steps from the minimum.
_ODD_POLICY = {"default": "2", "validRange": {"min": "500m", "step": "1500m"}}


def _slice(node: str) -> Object:
    cores = {"value": "4", "requestPolicy": _ODD_POLICY}
    device = {"name": "odd-0", "allowMultipleAllocations": True, "capacity": {"cores": cores}}
    pool = {"name": "odd", "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "odd"},
        "spec": {"driver": _DRIVER, "nodeName": node, "pool": pool, "devices": [device]},
    }


def _takes_odd_steps(stage: Stage) -> None:
    stage.api.create(_slice(stage.node))
    stage.api.delete(RESOURCE_SLICES, "odd")


def _part(name: str, cores: str) -> Object:
    return claim(name, request("device", _DRIVER, capacity={"requests": {"cores": cores}}))


def _consumed(stage: Stage, name: str) -> str:
    (result,) = stage.results(name)
    cores: str = result["consumedCapacity"]["cores"]
    return cores


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler, which rounds up to whole numbers; off in the API server, which does too; on again."""
    stage.layout(_DEVICES)
    stage.runs(_part("part", "300m"))
    assert _consumed(stage, "part") == "500m"
    _takes_odd_steps(stage)
    yield

    stage.runs(_part("rounded", "300m"))
    assert _consumed(stage, "rounded") == "1"
    yield

    assert "value is not a multiple of a given step (1500m) from (500m)" in stage.refused(_slice(stage.node))
    yield

    stage.runs(_part("again", "200m"))
    assert _consumed(stage, "again") == "250m"
    _takes_odd_steps(stage)
