"""DRADeviceCompatibilityGroups (KEP-5963): partitions of different kinds that must not be on one GPU together."""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_kind.clusters.manifests import claim, request
from e2e.matrix.stage import Stage

_DRIVER = "grouped.example.com"


def _device(name: str, group: str) -> str:
    consumes = f"{{counterSet: gpu-0, counters: {{memory: {{value: 1}}}}, compatibilityGroups: [{group}]}}"
    return f"- {{name: {name}, attributes: {{mode: {{string: {group}}}}}, consumesCounters: [{consumes}]}}"


_DEVICES = "\n".join(
    [
        f"driver: {_DRIVER}",
        "sharedCounters: [{name: gpu-0, counters: {memory: {value: 4}}}]",
        "devices:",
        *(_device(f"mig-{index}", "mig") for index in range(3)),
        *(_device(f"vgpu-{index}", "vgpu") for index in range(2)),
    ]
)
_NOTHING_FITS = "cannot allocate all claims"


def _one(name: str, mode: str) -> Object:
    return claim(name, request("device", _DRIVER, f"device.attributes['{_DRIVER}'].mode == '{mode}'"))


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler; off in the API server too, and the kubelet wipes the slices; on everywhere."""
    driver = stage.layout(_DEVICES)
    assert stage.runs(_one("first", "mig")) == ["mig-0"]
    stage.waits(_one("other", "vgpu"), _NOTHING_FITS)
    yield

    # A scheduler that cannot keep them apart gives out none of them.
    stage.waits(_one("second", "mig"), _NOTHING_FITS)
    yield

    line = stage.told(
        driver, f"pool {stage.node}: the API server dropped spec.devices[].consumesCounters[].compatibilityGroups (5)"
    )
    assert line.endswith("disabled features there: DRADeviceCompatibilityGroups")
    assert (stage.started("second"), stage.started("other")) == (["mig-1"], ["vgpu-0"])
    yield

    stage.told(driver, f"pool {stage.node}: the API server keeps all fields now")
    # Those that should not be together stay, and nothing joins them.
    stage.waits(_one("third", "mig"), _NOTHING_FITS)
    stage.ends("other")
    assert stage.started("third") == ["mig-2"]
