"""A table of devices for people. Devices have dozens of values, so each cell has a width, and counts what is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from drakit_allocator.devices.devices import Device
from drakit_allocator.listing.cells import Cells, fitting
from drakit_allocator.listing.listing import Holding, Listing
from drakit_client.processes.text_columns import aligned


class _Widths(NamedTuple):
    """How wide cells with several entries may be; ``patch`` is for each patch."""

    attributes: int
    capacity: int
    taints: int
    claims: int
    patch: int


_NARROW, _WIDE = _Widths(32, 20, 24, 24, 32), _Widths(100, 48, 60, 60, 100)


def table(listing: Listing, *, is_wide: bool) -> str:
    """Print a line for each device; ``is_wide`` leaves less out."""
    cells, columns = Cells(listing.devices), _columns(listing, _WIDE if is_wide else _NARROW)
    rows = [[name for name, _ in columns]]
    rows += [[cell(cells, device) for _, cell in columns] for device in listing.devices]
    return "".join(f"{line}\n" for line in aligned(rows))


_Cell = Callable[[Cells, Device], str]


def _columns(listing: Listing, widths: _Widths) -> list[tuple[str, _Cell]]:
    def holders(device: Device) -> str:
        return fitting(_holders(listing.holdings.get(device.id, ())), widths.claims)

    columns: list[tuple[str, _Cell]] = [
        ("DRIVER", lambda _, device: device.id[0]),
        ("POOL", lambda _, device: device.id[1]),
        ("DEVICE", lambda _, device: device.id[2]),
        ("NODE", lambda cells, device: cells.node(device)),
        ("ATTRIBUTES", lambda cells, device: cells.attributes(device, widths.attributes)),
        ("CAPACITY", lambda cells, device: cells.capacity(device, widths.capacity)),
        ("TAINTS", lambda cells, device: cells.taints(device, widths.taints)),
        ("CLAIMS", lambda _, device: holders(device)),
    ]
    if listing.is_patched:
        columns.append(("PATCHES", lambda cells, device: cells.patches(device, widths.patch)))
    return columns


def _holders(holdings: Sequence[Holding]) -> list[str]:
    names = (f"{one.claim}(admin)" if one.has_admin_access else one.claim for one in holdings)
    return list(dict.fromkeys(names))
