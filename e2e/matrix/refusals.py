"""Gates that cannot be set: each part of the control plane says so in the same words, and none is lost over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from drakit_kind.cluster import ClusterError, Component
from drakit_kind.clusters.manifests import claim, request
from e2e.matrix.stage import Stage

_DRIVER = "plain.example.com"
_DEVICES = f"""
driver: {_DRIVER}
devices: [{{name: device-0}}, {{name: device-1}}]
"""
_CONTROL_PLANE: tuple[Component, ...] = ("apiserver", "controllers", "scheduler")
# What is asked for -> what every component answers.
_LOCKED: dict[str, tuple[dict[str, bool], str]] = {
    name: ({name: False}, f"cannot set feature gate {name} to false, feature is locked to true")
    for name in (
        "DynamicResourceAllocation",
        "DRAPrioritizedList",
        "DRAAdminAccess",
        "DRAExtendedResource",
        "DRAResourceClaimDeviceStatus",
    )
}
_DEPENDENT: dict[str, tuple[dict[str, bool], str]] = {
    "taints": (
        {"DRADeviceTaints": False},
        "DRADeviceTaintRules is enabled, but depends on features that are disabled: [DRADeviceTaints]",
    ),
    "unknown": ({"DRATeleportation": True}, "unrecognized feature gate: DRATeleportation"),
}
_NEWER: dict[str, tuple[dict[str, bool], str]] = {
    name: (
        {name: True},
        f"cannot set feature gate {name} to true, feature is PreAlpha at emulated version 1.36, "
        "min compatibility version 1.35",
    )
    for name in ("DRADerivedAttributes", "DRADeviceCompatibilityGroups")
}


def locked(stage: Stage) -> Iterator[None]:
    """Locked gates, gates whose dependency is off, and gates that there are not."""
    yield from _refused(stage, {**_LOCKED, **_DEPENDENT})


def newer(stage: Stage) -> Iterator[None]:
    """Gates that came after the emulated version."""
    yield from _refused(stage, _NEWER)


def _refused(stage: Stage, cases: Mapping[str, tuple[dict[str, bool], str]]) -> Iterator[None]:
    stage.layout(_DEVICES)
    stage.runs(claim("first", request("device", _DRIVER)))
    for gates, message in cases.values():
        for component in _CONTROL_PLANE:
            assert message in _refusal(stage, component, gates)
    # Whoever refused runs on as before.
    stage.runs(claim("second", request("device", _DRIVER)))
    yield from ()


def _refusal(stage: Stage, component: Component, gates: dict[str, bool]) -> str:
    try:
        stage.cluster.restart(component, gates=gates)
    except ClusterError as error:
        return str(error)
    raise AssertionError(f"{component} took {gates}")
