"""ResourceSlicePatches, whose fields exist only while the gates of their features are on, as those of slices do.

A definition knows no gates: a real kube-apiserver keeps all fields, and schedulers decide what takes effect.
"""

from __future__ import annotations

from dataclasses import replace

from drakit_api.kubernetes_objects import Object
from drakit_api.objects.gated_fields import drop_patch_fields
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy
from drakit_embedded.apiserver.scheme.kinds import Kind

# Not from ``drakit_api.slice_patches``, which would load the engine of rules with the first definition of any kind.
_GROUP, _KIND = "resource.drakit.dev", "ResourceSlicePatch"


def gated(strategy: Strategy, kind: Kind) -> Strategy:
    """Add the dropping of disabled fields to the rules of patches; return those of other kinds as they are."""
    if (kind.group, kind.kind) != (_GROUP, _KIND):
        return strategy

    def prepare_create(obj: Object, cluster: Cluster) -> None:
        drop_patch_fields(obj, None, cluster.gates)
        strategy.prepare_create(obj, cluster)

    def prepare_update(new: Object, old: Object, cluster: Cluster) -> None:
        drop_patch_fields(new, old, cluster.gates)
        strategy.prepare_update(new, old, cluster)

    return replace(strategy, prepare_create=prepare_create, prepare_update=prepare_update)
