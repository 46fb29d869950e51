"""PersistentVolumes and claims for them: what a new one gets, and when a volume came into its phase.

After strategy.go of pkg/registry/core/{persistentvolume,persistentvolumeclaim} in k8s.io/kubernetes, and
pkg/api/persistentvolumeclaim/util.go.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy
from drakit_embedded.apiserver.scheme import metadata

_IN_PHASE_SINCE = "lastPhaseTransitionTime"
_SOURCES_OF_OLD = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def _start_volume(obj: Object, cluster: Cluster) -> None:
    obj["status"][_IN_PHASE_SINCE] = metadata.timestamp()


def _update_volume_status(new: Object, old: Object, cluster: Cluster) -> None:
    """Date a change of phase, unless the client did (persistentvolumeStatusStrategy.PrepareForUpdate)."""
    status, before = new.setdefault("status", {}), old.get("status") or {}
    if status.get("phase") != before.get("phase") and status.get(_IN_PHASE_SINCE) == before.get(_IN_PHASE_SINCE):
        status[_IN_PHASE_SINCE] = metadata.timestamp()


def _start_claim(obj: Object, cluster: Cluster) -> None:
    """Complete data sources (DropDisabledFields, EnforceDataSourceBackwardsCompatibility, NormalizeDataSources)."""
    spec = obj["spec"]
    if (spec.get("dataSourceRef") or {}).get("namespace"):
        # The gate CrossNamespaceVolumeDataSource is off in every version.
        del spec["dataSourceRef"]
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if reference is None and source is not None:
        if (source.get("apiGroup") or "", source["kind"]) in _SOURCES_OF_OLD:
            spec["dataSourceRef"] = dict(source)
        else:
            del spec["dataSource"]
    elif reference is not None and source is None:
        spec["dataSource"] = {key: value for key, value in reference.items() if key != "namespace"}


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "persistentvolumes"): Strategy(
        prepare_create=_start_volume, prepare_status=_update_volume_status, returns_deleted=True
    ),
    ("", "persistentvolumeclaims"): Strategy(prepare_create=_start_claim, returns_deleted=True),
}
