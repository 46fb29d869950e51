"""Which gates of a cluster drakit's own components know: those of Dynamic Resource Allocation.

A cluster of Kubernetes' own components may have any gate of Kubernetes switched.
"""

from __future__ import annotations

from collections.abc import Mapping

from drakit_api.features import FeatureGates

_OF_MANY = {"AllAlpha", "AllBeta"}


def known_gates(gates: Mapping[str, bool]) -> dict[str, bool]:
    """Those that some version of drakit's components knows."""
    known = _OF_MANY | {gate.name for gate in FeatureGates().known()}
    return {name: on for name, on in gates.items() if name in known}
