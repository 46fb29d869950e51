"""resource.k8s.io: where ``drakit_api`` decides what is valid, and this module only says when it is asked.

After k8s.io/kubernetes/pkg/registry/resource/*/strategy.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from drakit_embedded.apiserver.bodies import MetadataShape
from drakit_embedded.apiserver.registry.strategies import Cluster, Object, Strategy

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates

_GROUP = "resource.k8s.io"


class SpecShape(msgspec.Struct):
    """What all kinds of the group have."""

    metadata: MetadataShape | None = None
    spec: dict[str, Any] | None = None
    status: dict[str, Any] | None = None


def _start_claim(obj: Object, cluster: Cluster) -> None:
    obj["status"] = {}


def _prepare_claim_status(new: Object, old: Object, cluster: Cluster) -> None:
    """dropDeallocatedStatusDevices: device statuses go with the allocation that they belong to."""
    status = new.setdefault("status", {})
    if not status.get("allocation"):
        if (old.get("status") or {}).get("allocation"):
            status.pop("devices", None)
        return


def strategies(gates: FeatureGates) -> dict[tuple[str, str], Strategy]:
    """Rule sets of the group."""
    return {
        (_GROUP, "resourceslices"): Strategy(
            shape=SpecShape,
            fields=("spec.nodeName", "spec.driver", "spec.pool.name"),
            generation=True,
            returns_deleted=True,
        ),
        (_GROUP, "resourceclaims"): Strategy(
            shape=SpecShape,
            prepare_create=_start_claim,
            prepare_status=_prepare_claim_status,
            status_keeps_metadata=True,
            returns_deleted=True,
        ),
        (_GROUP, "resourceclaimtemplates"): Strategy(shape=SpecShape, returns_deleted=True),
        (_GROUP, "deviceclasses"): Strategy(shape=SpecShape, generation=True, returns_deleted=True),
        (_GROUP, "devicetaintrules"): Strategy(shape=SpecShape, generation=True, status_keeps_metadata=True),
    }
