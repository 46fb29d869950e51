"""DRANodeAllocatableResources (KEP-5517): devices that take CPU of their node, which the scheduler has to count."""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import NODES, PODS
from drakit_kind.clusters.manifests import claim, request
from e2e.matrix.stage import Stage

_GATE = "DRANodeAllocatableResources"
_DRIVER = "cpu.example.com"


def _devices(cores: int) -> str:
    mapping = f"nodeAllocatableResources: {{cpu: {{mapping: {{deviceMultiplier: {cores}}}}}}}"
    devices = "\n".join(f"- {{name: cores-{index}, {mapping}}}" for index in range(3))
    return f"driver: {_DRIVER}\ndevices:\n{devices}\n"


def _one(name: str) -> Object:
    return claim(name, request("device", _DRIVER))


def _mapped(stage: Stage, pod: str) -> list[Object]:
    found: list[Object] = stage.api.get(PODS, pod)["status"].get("nodeAllocatableResourceClaimStatuses") or []
    return found


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler; off in the API server too, and the kubelet wipes the slices; on everywhere."""
    cores = int(stage.api.get(NODES, stage.node)["status"]["allocatable"]["cpu"])
    driver = stage.layout(_devices(cores // 2 + 1))
    stage.runs(_one("first"))
    counted = [status["resourceClaimName"] for status in _mapped(stage, "first")]
    assert counted == ["first"], f"of the claims of pod first, {', '.join(counted) or 'none'} is counted"
    stage.waits(_one("second"), "Insufficient cpu")
    yield

    stage.started("second")
    assert _mapped(stage, "second") == []
    yield

    line = stage.told(driver, f"pool {stage.node}: the API server dropped spec.devices[].nodeAllocatableResources (3)")
    assert line.endswith(f"disabled features there: {_GATE}")
    stage.ends("second")
    yield

    stage.told(driver, f"pool {stage.node}: the API server keeps all fields now")
    stage.waits(_one("third"), "Insufficient cpu")
    stage.ends("first")
    stage.started("third")
