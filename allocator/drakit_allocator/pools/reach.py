"""Which devices of a pool a node can reach, where each device has its own node selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from drakit_allocator.devices.columns import remember
from drakit_allocator.devices.devices import PublishedSlice
from drakit_allocator.errors import AllocationError
from drakit_allocator.nodes import Node, is_reachable

# The answer is remembered for so many nodes.
_REMEMBERED = 4096


class Reach:
    """The devices of some slices, by the nodes that they are for."""

    def __init__(self, slices: Sequence[PublishedSlice]) -> None:
        self._everywhere = 0
        self._by_name: dict[str, int] = {}
        self._by_selector: dict[bytes, tuple[Mapping[str, Any], int]] = {}
        self._known: dict[str, tuple[Mapping[str, str], tuple[int, int]]] = {}
        position = 0
        for one in slices:
            if one.is_selected_per_device:
                for offset, traits in enumerate(one.traits.values):
                    self._add(traits.spec, 1 << position + offset)
            else:
                self._everywhere |= (1 << len(one)) - 1 << position
            position += len(one)

    def _add(self, spec: Mapping[str, Any], bit: int) -> None:
        """Add a device as ``is_reachable`` looks at it: a name, or else all nodes, or else a selector."""
        name, selector = spec.get("nodeName"), spec.get("nodeSelector")
        if name:
            self._by_name[name] = self._by_name.get(name, 0) | bit
        elif spec.get("allNodes"):
            self._everywhere |= bit
        elif selector is not None:
            key = msgspec.json.encode(selector)
            _, mask = self._by_selector.get(key, (selector, 0))
            self._by_selector[key] = (selector, mask | bit)

    def masks(self, node: Node) -> tuple[int, int]:
        """Return the devices that the node can reach, and those whose node selector is broken, as bits."""
        known = self._known.get(node.name)
        if known is not None and known[0] == node.labels:
            return known[1]
        reachable, broken = self._everywhere | self._by_name.get(node.name, 0), 0
        for selector, mask in self._by_selector.values():
            try:
                if is_reachable(node, "", False, selector):
                    reachable |= mask
            except AllocationError:
                broken |= mask
        remember(self._known, node.name, (node.labels, (reachable, broken)), _REMEMBERED)
        return reachable, broken
