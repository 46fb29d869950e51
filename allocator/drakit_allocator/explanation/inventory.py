"""The objects that decide about allocations, as the API has them.

Explanations vary them (this counter larger, that taint gone) and look up what the allocator has no more use for, such
as the slices of a pool that is incomplete; so they start from objects and not from the allocator's index.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.devices.devices import PoolID
from drakit_allocator.features import Features
from drakit_allocator.snapshot import Snapshot
from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_api.objects.allocations import results


@dataclass(frozen=True)
class Inventory:
    """v1 objects: slices (mixins applied), classes, taint rules, claims of which the allocated ones count.

    ``patches`` are the ResourceSlicePatches that a scheduler with their feature gate follows.
    """

    features: Features
    slices: tuple[ReadOnlyObject, ...] = ()
    classes: tuple[ReadOnlyObject, ...] = ()
    taint_rules: tuple[ReadOnlyObject, ...] = ()
    claims: tuple[ReadOnlyObject, ...] = ()
    patches: tuple[ReadOnlyObject, ...] = ()

    @staticmethod
    def of(
        features: Features,
        *,
        slices: Iterable[ReadOnlyObject] = (),
        classes: Iterable[ReadOnlyObject] = (),
        taint_rules: Iterable[ReadOnlyObject] = (),
        claims: Iterable[ReadOnlyObject] = (),
        patches: Iterable[ReadOnlyObject] = (),
    ) -> Inventory:
        """Make an inventory of any collections; claims without devices are left out."""
        held = tuple(claim for claim in claims if results(claim))
        return Inventory(features, tuple(slices), tuple(classes), tuple(taint_rules), held, tuple(patches))

    def snapshot(self) -> Snapshot:
        """Make the allocator's snapshot of the devices."""
        return Snapshot(
            self.features,
            slices=self.slices,
            classes=self.classes,
            taint_rules=self.taint_rules,
            patches=self.patches,
        )

    def allocated(self) -> AllocatedState:
        """Make the allocator's state of the allocations."""
        return AllocatedState.of(self.claims, self.features)

    @cached_property
    def slices_by_pool(self) -> Mapping[PoolID, list[ReadOnlyObject]]:
        """All slices of each pool, of any generation."""
        found: dict[PoolID, list[ReadOnlyObject]] = {}
        for one in self.slices:
            found.setdefault(pool_of(one), []).append(one)
        return found

    @cached_property
    def claims_by_pool(self) -> Mapping[PoolID, list[ReadOnlyObject]]:
        """The claims that hold devices of each pool."""
        found: dict[PoolID, list[ReadOnlyObject]] = {}
        for claim in self.claims:
            for pool in dict.fromkeys((result["driver"], result["pool"]) for result in results(claim)):
                found.setdefault(pool, []).append(claim)
        return found

    @cached_property
    def _pools_by_node(self) -> Mapping[str, list[PoolID]]:
        """Pools by the node that their slices name; under "" those with slices that name none."""
        found: dict[str, dict[PoolID, None]] = {}
        for one in self.slices:
            found.setdefault(one["spec"].get("nodeName") or "", {})[pool_of(one)] = None
        return {name: list(pools) for name, pools in found.items()}

    def pools_near(self, node_name: str) -> list[PoolID]:
        """List the pools with slices that may be for the node: they name it, or no node."""
        return list(dict.fromkeys([*self._pools_by_node.get(node_name, ()), *self._pools_by_node.get("", ())]))

    def newest(self, pool: PoolID) -> list[ReadOnlyObject]:
        """List the slices of a pool's newest generation, by name."""
        slices = self.slices_by_pool.get(pool, [])
        newest = max((generation_of(one) for one in slices), default=0)
        return sorted((one for one in slices if generation_of(one) == newest), key=name_of)


def pool_of(resource_slice: ReadOnlyObject) -> PoolID:
    """Return driver and pool of a slice."""
    return resource_slice["spec"]["driver"], resource_slice["spec"]["pool"]["name"]


def generation_of(resource_slice: ReadOnlyObject) -> int:
    """Return the generation of the pool that a slice belongs to; 0 if it has none."""
    return int(resource_slice["spec"]["pool"].get("generation") or 0)


def name_of(obj: ReadOnlyObject) -> str:
    """Return metadata.name; empty if there is none."""
    return str(obj["metadata"].get("name", ""))
