"""Which kubelet is simulated: what a version and its feature gates change for DRA plugins and for pod statuses.

Sources, k8s.io/kubernetes 1.34 to 1.37: ``pkg/kubelet/cm/dra/plugin`` (which services a kubelet knows and picks),
``pkg/kubelet/kubelet_pods.go`` (``allocatedResourcesStatus``), and k8s.io/component-helpers ``nodedeclaredfeatures``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from drakit_api.features import FeatureGates
from drakit_api.kubelet import wire

_NEGOTIATES_HEALTH_SINCE = (1, 37)
# What a kubelet declares in its node's status, for the scheduler and the API server to know.
_DECLARED = ("DRANodeAllocatableResources", "DRAOptionalNodeOperations", "ExtendWebSocketsToKubelet")


@dataclass(frozen=True)
class Release:
    """The kubelet to simulate: its version ("1.37.1") and feature gates."""

    version: str = "1.37.1"
    gates: FeatureGates = field(default_factory=FeatureGates)

    def health_version(self, offered: Sequence[str]) -> str | None:
        """Choose the health service to call of those that a plugin offers; None if none is known, or without the gate.

        Kubelets before 1.37 know one version only and call it without looking at what is offered.
        """
        if not self.gates.enabled("ResourceHealthStatus"):
            return None
        if self._minor < _NEGOTIATES_HEALTH_SINCE:
            return wire.HEALTH_V1ALPHA1
        return next((known for known in (wire.HEALTH_V1, wire.HEALTH_V1ALPHA1) if known in offered), None)

    @property
    def reports_health(self) -> bool:
        """Whether pod statuses have ``allocatedResourcesStatus``."""
        return self.gates.enabled("ResourceHealthStatus")

    @property
    def reports_health_messages(self) -> bool:
        """Whether that status has the driver's message."""
        return self.gates.enabled("ResourceHealthStatusMessage")

    @property
    def knows_skipped_operations(self) -> bool:
        """Whether claims can skip node operations of a driver (KEP-5945)."""
        return self.gates.enabled("DRAOptionalNodeOperations")

    @property
    def declared_features(self) -> list[str]:
        """``status.declaredFeatures`` of the node."""
        if not self.gates.enabled("NodeDeclaredFeatures"):
            return []
        return [name for name in _DECLARED if self.gates.enabled(name)]

    @property
    def _minor(self) -> tuple[int, int]:
        major, _, minor = self.gates.emulated_version.partition(".")
        return int(major), int(minor)
