"""Which writes bring the stored slices of a pool to the desired ones, so that nobody ever sees a wrong whole pool.

Consumers use only the highest generation of a pool, and only when all of its ``resourceSliceCount`` slices are there.
So a change that needs more than one write gets a new generation: until the last write the pool is incomplete, never
complete and wrong. Obsolete slices go first, because a device that the driver no longer has must not be allocated even
if the new slices are refused. As ``syncPool`` in k8s.io/dynamic-resource-allocation/resourceslice/
resourceslicecontroller.go, including the index at the front of each slice's name, by which slices are matched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_api.layouts.slice_names import slice_index
from drakit_api.typed_objects import ResourceSlice
from drakit_driver.publishing.slice_comparison import Spec, canonical

# Fields that the plan sets for the whole pool, or that the first slice fixes.
_OF_THE_POOL = ("pool",)
# The largest generation: the API has an int64.
_NO_HIGHER_GENERATION = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Desired:
    """One slice to publish: its spec, and what the server is known to store for it (canonical, without the pool)."""

    spec: Spec
    stored_as: Spec

    @classmethod
    def of(cls, spec: Spec) -> Desired:
        """Expect the server to keep every field."""
        return cls(spec, comparable(spec))


@dataclass(frozen=True, slots=True)
class Plan:
    """Writes in the order in which they must be made: ``delete``, then ``update``, then ``create``."""

    generation: int
    delete: list[ResourceSlice]
    update: list[tuple[int, ResourceSlice]]
    create: list[int]

    @property
    def empty(self) -> bool:
        """Whether the pool is as desired."""
        return not (self.delete or self.update or self.create)


def comparable(spec: ReadOnlyObject) -> Spec:
    """Return the canonical spec without the pool's name, generation and count, which the plan compares by itself."""
    return {key: value for key, value in canonical(spec).items() if key not in _OF_THE_POOL}


def plan(desired: Sequence[Desired], existing: Sequence[ResourceSlice]) -> Plan:
    """Compare desired slices with all stored slices of the same pool (any generation, v1 form)."""
    generation = max((_generation(slice_) for slice_ in existing), default=0)
    if generation >= _NO_HIGHER_GENERATION:
        # Somebody else wrote it; only the removal of all slices allows a lower generation.
        return Plan(1, list(existing), [], list(range(len(desired))))
    matched, obsolete = _match(desired, existing, generation)
    missing = [index for index in range(len(desired)) if index not in matched]
    changed = {
        index
        for index, slice_ in matched.items()
        if int(slice_["spec"]["pool"].get("resourceSliceCount", 0)) != len(desired)
        or comparable(slice_["spec"]) != desired[index].stored_as
    }
    if missing or len(changed) > 1:
        generation += 1
        changed = set(matched)
    return Plan(generation, obsolete, [(index, matched[index]) for index in sorted(changed)], missing)


def _match(
    desired: Sequence[Desired], existing: Sequence[ResourceSlice], generation: int
) -> tuple[dict[int, ResourceSlice], list[ResourceSlice]]:
    matched: dict[int, ResourceSlice] = {}
    obsolete = []
    for slice_ in existing:
        index = slice_index(slice_["metadata"]["name"], len(desired))
        fits = (
            index is not None
            and index not in matched
            and _generation(slice_) == generation
            # spec.nodeName is immutable: a slice of another placement can only be replaced.
            and slice_["spec"].get("nodeName") == desired[index].spec.get("nodeName")
        )
        if fits and index is not None:
            matched[index] = slice_
        else:
            obsolete.append(slice_)
    return matched, obsolete


def _generation(slice_: ResourceSlice) -> int:
    return int(slice_["spec"]["pool"].get("generation", 0))
