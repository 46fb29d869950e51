"""Which devices are listed, in which order, and who holds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from drakit_allocator.allocated import claim_name
from drakit_allocator.devices.columns import bits
from drakit_allocator.devices.devices import Device, DeviceID, PoolID, PublishedSlice, node_selection
from drakit_allocator.errors import AllocationError
from drakit_allocator.explanation.inventory import Inventory, name_of
from drakit_allocator.listing.reach import Reach
from drakit_allocator.nodes import Node, is_reachable
from drakit_allocator.pools.pools import SliceIndex
from drakit_allocator.snapshot import Snapshot
from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_api.objects.allocations import results

# Called with the number of slices that were looked at, and of all slices.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which devices are wanted: those for which all holds that is given; ``node`` is one that can reach them.

    ``patches`` are names of ResourceSlicePatches, of which one must apply. With ``is_patched`` devices are as the
    scheduler sees them, else as their drivers have published them.
    """

    drivers: frozenset[str] = frozenset()
    pools: frozenset[str] = frozenset()
    nodes: tuple[Node, ...] = ()
    patches: frozenset[str] = frozenset()
    is_patched: bool = False

    def has_pool(self, pool: PoolID) -> bool:
        """Tell whether devices of a pool may be wanted."""
        return (not self.drivers or pool[0] in self.drivers) and (not self.pools or pool[1] in self.pools)

    def has_node(self, name: str | None, all_nodes: bool, selector: Mapping[str, Any] | None) -> bool:
        """Tell whether one of the nodes can reach devices with this node selection."""
        return not self.nodes or any(_reaches(node, name or "", all_nodes, selector) for node in self.nodes)


def _reaches(node: Node, name: str, all_nodes: bool, selector: Mapping[str, Any] | None) -> bool:
    try:
        return is_reachable(node, name, all_nodes, selector)
    except AllocationError:
        return False  # A selector that cannot be read selects nothing.


class Holding(NamedTuple):
    """A claim, as namespace/name, whose request holds a device, or a share of it."""

    claim: str
    request: str
    has_admin_access: bool = False
    share_id: str = ""


@dataclass(slots=True)
class Listing:
    """Devices in the order of drivers, pools and slices; ``total`` is how many there are altogether.

    ``patched`` is how many of those that are listed have patches that apply; ``reaches`` are of the chosen patches,
    ``reached`` names those of them that apply to any device that there is, listed or not.
    """

    snapshot: Snapshot
    holdings: Mapping[DeviceID, Sequence[Holding]]
    is_patched: bool
    reaches: Sequence[Reach] = ()
    reached: set[str] = field(default_factory=set)
    devices: list[Device] = field(default_factory=list)
    total: int = 0
    patched: int = 0


def listed(inventory: Inventory, choice: Choice, progress: Progress | None = None) -> Listing:
    """List devices of the newest generation of each pool."""
    snapshot = inventory.snapshot()
    chosen = [one for one in snapshot.overlay.patches if one.name in choice.patches]
    reaches = [Reach(one, snapshot.classes) for one in chosen]
    found = Listing(snapshot, _holdings(inventory.claims), choice.is_patched, reaches)
    names = [name_of(one) for pool in sorted(inventory.slices_by_pool) for one in inventory.newest(pool)]
    for number, name in enumerate(dict.fromkeys(names), 1):
        _add(found, snapshot.slices, name, choice)
        if progress is not None:
            progress(number, len(names))
    return found


def _add(found: Listing, index: SliceIndex, name: str, choice: Choice) -> None:
    published = index.published(name)
    found.total += len(published)
    for each in found.reaches:
        if each.patch.name not in found.reached and each.devices(published):
            found.reached.add(each.patch.name)
    if not choice.has_pool(published.pool):
        return
    seen = index.seen(name)
    patched = _patched(seen)
    shown = seen if choice.is_patched else published
    if not shown.is_selected_per_device and not choice.has_node(*node_selection(shown.spec)):
        return
    for position in _positions(published, found.reaches, choice):
        device = shown.device(position)
        if not shown.is_selected_per_device or choice.has_node(*device.node_selection()):
            found.devices.append(device)
            found.patched += patched >> position & 1


def _positions(published: PublishedSlice, reaches: Iterable[Reach], choice: Choice) -> Sequence[int]:
    if not choice.patches:
        return range(len(published))
    mask = 0
    for one in reaches:
        mask |= one.devices(published)
    return bits(mask)


def _patched(seen: PublishedSlice) -> int:
    """Return the devices to which patches apply that say something of them, as bits."""
    mask = 0
    for _, one in () if seen.change is None else seen.change.patches:
        mask |= one
    return mask


def _holdings(claims: Iterable[ReadOnlyObject]) -> dict[DeviceID, list[Holding]]:
    found: dict[DeviceID, list[Holding]] = {}
    for claim in claims:
        name = claim_name(claim)
        for one in results(claim):
            is_admin, share = bool(one.get("adminAccess")), one.get("shareID") or ""
            holding = Holding(name, one.get("request", ""), is_admin, share)
            found.setdefault((one["driver"], one["pool"], one["device"]), []).append(holding)
    return found
