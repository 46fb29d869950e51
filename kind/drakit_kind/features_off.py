"""Whether a story about a feature can be run at all with the versions and gates that were asked for."""

from __future__ import annotations

from collections.abc import Sequence

from drakit_api.features import NEWEST_EMULATED, FeatureGateError, FeatureGates, parse_gates
from drakit_kind.cluster import minor_version


def missing_gate(needed: Sequence[str], version: str | None, gates: str) -> str:
    """Why a story that needs these gates is not run, or "". Gates that only Kubernetes knows are left to it."""
    minor = minor_version(version) if version else NEWEST_EMULATED
    try:
        on = FeatureGates(minor, parse_gates(gates))
    except FeatureGateError:
        return ""  # the cluster refuses to start, and says why
    off = [gate for gate in needed if not on.enabled(gate)]
    return f"needs feature gate {off[0]}, which is off in Kubernetes {minor} as it is configured here" if off else ""
