"""Fields that belong to features which are off: new objects do not get them.

A server drops them without a word (DropDisabledFields of each strategy in k8s.io/kubernetes/pkg/registry, and
pkg/api/{pod,job}/util.go), unless an object has such a field already. Those of resource.k8s.io, which have rules of
their own, are in ``drakit_api.objects.gated_fields``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from drakit_api.kubernetes_objects import Object
from drakit_api.objects.schema import Schema, Type
from drakit_embedded.apiserver.registry.defaulting.gates import enabled
from drakit_embedded.apiserver.scheme import structures

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates


_CONTAINER = {"lifecycle.stopSignal": "ContainerStopSignals"}
# Fields with feature gates, by struct; a struct on the path to a field is dropped when it gets empty.
_GATES: dict[str, dict[str, str]] = {
    "batch/v1.JobSpec": {"scheduling": "WorkloadWithJob"},
    "coordination/v1.LeaseSpec": dict.fromkeys(("preferredHolder", "strategy"), "CoordinatedLeaderElection"),
    "core/v1.Container": _CONTAINER,
    "core/v1.EmptyDirVolumeSource": {"mode": "EmptyDirVolumeMode"},
    "core/v1.EphemeralContainer": _CONTAINER,
    "core/v1.GRPCAction": {"mode": "GRPCContainerProbeTLS"},
    "core/v1.HTTPGetAction": {"protocol": "H2CContainerProbe"},
    "core/v1.NodeSpec": {"podPreemptionPolicy": "InPlacePodVerticalScalingSchedulerPreemption"},
    "core/v1.PodSpec": {"evictionResponders": "EvictionRequestAPI", "schedulingGroup": "GenericWorkload"},
    "core/v1.VolumeMount": {"bindMountOptions": "VolumeBindMountOptions"},
    "storage/v1.CSIDriverSpec": {
        "nodeAllocatableUpdatePeriodSeconds": "MutableCSINodeAllocatableCount",
        "preventPodSchedulingIfMissing": "VolumeLimitScaling",
        "serviceAccountTokenInSecrets": "CSIServiceAccountTokenSecrets",
    },
}


class _Found(NamedTuple):
    """A gated field that is set, and the struct that has it."""

    owner: Object
    path: str

    def drop(self) -> None:
        outer, _, inner = self.path.partition(".")
        if inner:
            del self.owner[outer][inner]
        if not inner or not self.owner[outer]:
            del self.owner[outer]


Search = Callable[[Any], Iterator[_Found]]


def drop(new: Object, old: Object | None, struct: str, gates: FeatureGates) -> None:
    """Drop fields of features that are off from an object, but for those that the ``old`` one has somewhere."""
    search = _searches(gates).of(struct)
    if search is None:
        return
    found = list(search(new))
    if found:
        used = {each.path for each in search(old)} if old is not None else set()
        for each in found:
            if each.path not in used:
                each.drop()


class _Searches:
    """Functions that find gated fields in each struct; None where there are none."""

    def __init__(self, types: Schema, gates: FeatureGates) -> None:
        self._types, self._gates = types, gates
        self._made: dict[str, Search | None] = {}

    def of(self, struct: str) -> Search | None:
        if struct not in self._made:
            paths = [path for path, gate in _GATES.get(struct, {}).items() if not enabled(gate, self._gates)]
            below = [(field.name, self._below(field.type)) for field in self._types.flat_fields(struct)]
            parts = [(name, search) for name, search in below if search is not None]
            self._made[struct] = _of_struct(paths, parts) if paths or parts else None
        return self._made[struct]

    def _below(self, kind: Type) -> Search | None:
        if kind.shape == "struct":
            return self.of(kind.struct)
        inner = None if kind.item is None else self._below(kind.item)
        return None if inner is None else _of_items(inner, is_list=kind.shape == "list")


def _of_struct(paths: list[str], parts: list[tuple[str, Search]]) -> Search:
    def run(obj: Object) -> Iterator[_Found]:
        for path in paths:
            outer, _, inner = path.partition(".")
            value = obj.get(outer)
            if (value or {}).get(inner) is not None if inner else value is not None:
                yield _Found(obj, path)
        for name, search in parts:
            if value := obj.get(name):
                yield from search(value)

    return run


def _of_items(search: Search, *, is_list: bool) -> Search:
    def run(items: Any) -> Iterator[_Found]:
        for item in items if is_list else items.values():
            if item:
                yield from search(item)

    return run


@functools.lru_cache(maxsize=8)
def _searches(gates: FeatureGates) -> _Searches:
    return _Searches(structures.others(), gates)
