"""The cells of a table of devices: everything about a device in as few characters as it takes.

Nodes with the same hardware have the same values, so each is printed once, however many devices have it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from drakit_allocator.devices.columns import AttributeValue, Column
from drakit_allocator.devices.devices import Device, PublishedSlice
from drakit_allocator.devices.traits import Capacity
from drakit_allocator.explanation.phrases import taint_text
from drakit_allocator.explanation.provenance import patches_of
from drakit_allocator.listing.patch_effects import PatchEffect, patch_effects
from drakit_api.core.node_selectors import listed_nodes
from drakit_api.slice_patches.patch import SlicePatch

NOTHING = "-"
# Values that would be taken for several columns, or several entries.
_AMBIGUOUS = re.compile(r"[\s,\"]")


def fitting(entries: Sequence[str], width: int, rest: str = "+{}") -> str:
    """Join as many entries as fit into a width, the first one in any case, and say how many more there are.

    ``rest`` is how that is said, with a place for the number.
    """
    if not entries:
        return NOTHING
    shown = 1
    length = len(entries[0])
    while shown < len(entries) and length + 1 + len(entries[shown]) <= width:
        length += 1 + len(entries[shown])
        shown += 1
    more = len(entries) - shown
    return ",".join(entries[:shown]) + (f",{rest.format(more)}" if more else "")


def value_text(value: Mapping[str, Any]) -> str:
    """Print the value of an attribute; in quotes if it has spaces, commas or quotes itself."""
    content = next(iter(value.values()), None)
    if isinstance(content, list):
        return f"[{' '.join(map(_scalar_text, content))}]"
    return _scalar_text(content)


def _scalar_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or _AMBIGUOUS.search(text) else text


def own_name(name: str, driver: str) -> str:
    """Leave out the domain of a name where it is the driver's."""
    return name.removeprefix(f"{driver}/")


class Cells:
    """Prints what is in the columns of a table; a cell is wider than allowed only if a single entry is.

    Of the attributes, those come first that tell kinds of devices apart, unlike constants and identifiers; then the
    short ones, of which more fit. Of the capacities, those come first that patches have set; then the large amounts.
    """

    def __init__(self, devices: Sequence[Device]) -> None:
        self._values: dict[AttributeValue, str] = {}
        self._capacities: dict[tuple[Capacity, str, tuple[SlicePatch, ...]], list[str]] = {}
        self._nodes: dict[PublishedSlice, str] = {}
        self._effects: dict[tuple[SlicePatch, ...], tuple[PatchEffect, ...]] = {}
        self._order = self._ordered(devices)

    def _ordered(self, devices: Sequence[Device]) -> dict[str, tuple[bool, int, str]]:
        """Return a sort key for each attribute."""
        columns: dict[tuple[str, Column[AttributeValue | None]], None] = {}
        for one in dict.fromkeys(device.slice for device in devices):
            named = zip(one.schema.names, one.columns, strict=True)
            columns |= dict.fromkeys((own_name(name, one.pool[0]), column) for name, column in named)
        values: dict[str, set[str]] = {}
        for name, column in columns:
            texts = ("" if one is None else self._value(one) for one in set(column.values))
            values.setdefault(name, set()).update(texts)
        return {
            name: (not 1 < len(every) <= len(devices) / 2, len(name) + max(map(len, every)), name)
            for name, every in values.items()
        }

    def _value(self, value: AttributeValue) -> str:
        found = self._values.get(value)
        if found is None:
            found = self._values[value] = value_text(value.published)
        return found

    def attributes(self, device: Device, width: int) -> str:
        """Print ``name=value``, names without the driver's domain."""
        driver = device.id[0]
        named = [(own_name(name, driver), value) for name, value in device.content.attributes.items()]
        named.sort(key=lambda one: self._order[one[0]])
        return fitting([f"{name}={self._value(value)}" for name, value in named], width)

    def capacity(self, device: Device, width: int) -> str:
        """Print ``name=amount``, names without the driver's domain."""
        capacity, driver, patches = device.content.traits.capacity, device.id[0], tuple(patches_of(device))
        key = (capacity, driver, patches)
        found = self._capacities.get(key)
        if found is None:
            patched = {own_name(name, driver) for patch in patches for name in patch.capacity}
            amounts = [(own_name(name, driver), str(one.get("value"))) for name, one in capacity.spec.items()]
            amounts.sort(key=lambda one: (one[0] not in patched, -len(one[1]), one[0]))
            found = self._capacities[key] = [f"{name}={amount}" for name, amount in amounts]
        return fitting(found, width)

    def taints(self, device: Device, width: int) -> str:
        """Print taints as kubectl does."""
        every = (*device.content.taints, *device.added_taints)
        return fitting([_taint(one) for one in every], width)

    def node(self, device: Device) -> str:
        """Print the node that can reach the device, the nodes that a selector lists, or what else it is."""
        if device.slice.is_selected_per_device:
            return _node(*device.node_selection())
        found = self._nodes.get(device.slice)
        if found is None:
            found = self._nodes[device.slice] = _node(*device.node_selection())
        return found

    def patches(self, device: Device, width: int) -> str:
        """Print the patches that apply, the strongest first, each with what it changes."""
        patches = tuple(patches_of(device))
        found = self._effects.get(patches)
        if found is None:
            found = self._effects[patches] = tuple(patch_effects(patches))
        return " ".join(_effect(one, device.id[0], width) for one in found) or NOTHING


def _taint(taint: Mapping[str, Any]) -> str:
    return taint_text(*(str(taint.get(field) or "") for field in ("key", "value", "effect")))


def _node(name: str | None, all_nodes: bool, selector: Mapping[str, Any] | None) -> str:
    if name:
        return name
    if all_nodes:
        return "<all>"
    names = [one for term in (selector or {}).get("nodeSelectorTerms") or () for one in listed_nodes(term)]
    return fitting(names, 20) if names else "<selector>"


def _effect(effect: PatchEffect, driver: str, width: int) -> str:
    said = [
        f"{own_name(name, driver)}={value_text(value)}" if value is not None else f"-{own_name(name, driver)}"
        for name, value in effect.attributes.items()
    ]
    said += [f"{own_name(name, driver)}={one.get('value')}" for name, one in effect.capacity.items()]
    said += [f"+{_taint(taint)}" for taint in effect.taints]
    said += [f"{own_name(name, driver)}:overridden" for name in effect.overridden]
    # Here + is for taints.
    return f"{effect.patch.name}({fitting(said, width, '{} more')})"
