"""Which gates of a cluster drakit's own components know: those of Dynamic Resource Allocation.

A cluster of Kubernetes' own components may have any gate of Kubernetes switched, and be of any version.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from drakit_api.features import (
    MIXINS_GATE,
    NEWEST_EMULATED,
    OLDEST_EMULATED,
    PATCHES_GATE,
    FeatureGateError,
    FeatureGates,
    Gate,
)
from drakit_kind.cluster import ClusterError, ClusterSpec, Component, DriverSpec, minor_version

# component-base's own, of every version.
_OF_A_STAGE = {"AllAlpha", "AllBeta"}
# Of each gate that only drakit has, the components of which one is enough for it to have an effect: a scheduler that
# knows mixins sees none where the API server drops them, but every API server keeps patches once they are defined.
ACTING: Mapping[str, frozenset[Component]] = {
    MIXINS_GATE: frozenset({"apiserver"}),
    PATCHES_GATE: frozenset({"apiserver", "scheduler"}),
}


def gates_of(version: str) -> dict[str, Gate]:
    """Return the DRA gates of a version ("1.37.1" or "1.37") by name; none if drakit does not know the version."""
    try:
        return {gate.name: gate for gate in FeatureGates(minor_version(version)).known()}
    except FeatureGateError:
        return {}


def known_gates(gates: Mapping[str, bool], version: str = NEWEST_EMULATED) -> dict[str, bool]:
    """Return those of the gates that drakit knows in a version; in the newest it knows all that it ever knows."""
    known = gates_of(version).keys() | _OF_A_STAGE
    return {name: on for name, on in gates.items() if name in known}


def is_kit_gate_of(gate: str, ours: Collection[Component]) -> bool:
    """Tell whether a gate is one that only drakit has, and one of these components of drakit's acts by it."""
    return not ACTING.get(gate, frozenset()).isdisjoint(ours)


def driver_gates(spec: ClusterSpec, driver: DriverSpec) -> FeatureGates:
    """Return the gates of one of the cluster's drakit drivers; raise ``ClusterError`` if the driver's own are wrong.

    A drakit driver does not know all gates of real components: it gets those that drakit knows, of the nearest version.
    """
    oldest, newest = _numbers(OLDEST_EMULATED), _numbers(NEWEST_EMULATED)
    major, minor = min(max(_numbers(spec.behaves_as("kubelet")), oldest), newest)
    version = f"{major}.{minor}"
    try:
        return FeatureGates(version, known_gates(spec.gates, version) | dict(driver.gates))
    except FeatureGateError as error:
        raise ClusterError(f"driver {driver.name or driver.profile}: {error}") from None


def _numbers(version: str) -> tuple[int, int]:
    major, minor = minor_version(version).split(".")
    return int(major), int(minor)
