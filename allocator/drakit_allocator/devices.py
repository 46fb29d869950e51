"""Devices as the search sees them: a name in a pool, and content that is prepared once and shared by all who have it.

A cluster has far fewer different devices than devices: every node of a kind publishes the same partitions. What depends
on the content alone (the CEL view, selector verdicts, attribute values, parsed quantities) therefore hangs on a content
object. It is found by a digest of the device's JSON and lives as long as some slice publishes it, so that memory grows
with the cluster and not with time.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from drakit_allocator.capacity import Limits, parse_limits
from drakit_allocator.counters import Consumption, Layout, Needs, parse_consumption
from drakit_api.cel import DeviceView, device_view

DeviceID = tuple[str, str, str]  # driver, pool, device
PoolID = tuple[str, str]  # driver, pool

_T = TypeVar("_T")

# Expressions and attribute names remembered per content. Claims repeat a handful; whoever generates a new expression
# for every claim must not fill the memory.
_REMEMBERED = 256


class DeviceContent:
    """A published device without its name, and what has been found out about it. Compared by identity."""

    def __init__(self, driver: str, spec: Mapping[str, Any]) -> None:
        self.driver = driver
        self.spec = spec
        self.is_shareable: bool = bool(spec.get("allowMultipleAllocations"))
        self.consumption: tuple[Consumption, ...] = parse_consumption(spec)
        self.taints: tuple[Mapping[str, Any], ...] = tuple(spec.get("taints") or ())
        self.verdicts: dict[str, bool | Exception] = {}
        self.attribute_values: dict[Any, Any] = {}
        self._needs: tuple[Layout, Needs] | None = None

    @cached_property
    def view(self) -> DeviceView:
        """The device as CEL expressions see it."""
        return device_view(self.driver, self.spec)

    @cached_property
    def limits(self) -> Limits:
        """Its capacities."""
        return parse_limits(self.spec)

    def needs(self, layout: Layout) -> Needs:
        """What it draws from the counters of a pool. Raises ``KeyError`` as ``Layout.needs``."""
        if self._needs is None or self._needs[0] is not layout:
            self._needs = (layout, layout.needs(self.consumption))
        return self._needs[1]


def remember(memory: dict[Any, _T], key: Any, value: _T) -> _T:
    """Store a finding about a content, forgetting the oldest when there are too many."""
    if len(memory) >= _REMEMBERED:
        memory.pop(next(iter(memory)), None)
    memory[key] = value
    return value


_CONTENTS: weakref.WeakValueDictionary[bytes, DeviceContent] = weakref.WeakValueDictionary()


def content_of(driver: str, device: Mapping[str, Any], *, hides_sharing: bool = False) -> DeviceContent:
    """The content object of a v1 device.

    ``hides_sharing`` is upstream's stable variant, for which no device allows multiple allocations.
    """
    hidden = ("name", "allowMultipleAllocations") if hides_sharing else ("name",)
    spec = {key: value for key, value in device.items() if key not in hidden}
    digest = hashlib.blake2b(msgspec.json.encode((driver, spec)), digest_size=16).digest()
    content = _CONTENTS.get(digest)
    if content is None:
        content = _CONTENTS[digest] = DeviceContent(driver, spec)
    return content


class Device:
    """One device of one slice. Compared by identity; ``id`` is what claims refer to."""

    __slots__ = ("content", "id", "rule_taints", "slice")

    def __init__(self, device_id: DeviceID, content: DeviceContent, published: PublishedSlice) -> None:
        self.id = device_id
        self.content = content
        self.slice = published
        self.rule_taints: tuple[Mapping[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """driver/pool/device, as messages print it."""
        return "/".join(self.id)

    def node_selection(self) -> tuple[str | None, bool, Mapping[str, Any] | None]:
        """``nodeName``, ``allNodes`` and ``nodeSelector`` that apply to the device: its own, or those of its slice."""
        spec = self.content.spec if self.slice.is_selected_per_device else self.slice.spec
        return spec.get("nodeName"), bool(spec.get("allNodes")), spec.get("nodeSelector")


class PublishedSlice:
    """A ResourceSlice, read once. Compared by identity: a changed slice is a new object."""

    __slots__ = ("devices", "generation", "name", "node_name", "pool", "skip_node_operations", "slice_count", "spec")

    def __init__(self, resource_slice: Mapping[str, Any], *, hides_sharing: bool = False) -> None:
        spec = resource_slice["spec"]
        pool = spec["pool"]
        self.name: str = resource_slice["metadata"].get("name", "")
        self.spec: Mapping[str, Any] = {key: value for key, value in spec.items() if key != "devices"}
        self.pool: PoolID = (spec["driver"], pool["name"])
        self.generation: int = pool.get("generation", 0)
        self.slice_count: int = pool.get("resourceSliceCount", 0)
        self.node_name: str = spec.get("nodeName") or ""
        self.skip_node_operations: tuple[str, ...] = tuple(spec.get("skipNodeOperations") or ())
        driver, pool_name = self.pool
        self.devices = tuple(
            Device((driver, pool_name, device["name"]), content_of(driver, device, hides_sharing=hides_sharing), self)
            for device in spec.get("devices") or ()
        )

    @property
    def is_selected_per_device(self) -> bool:
        """Whether each device has its own node selection."""
        return bool(self.spec.get("perDeviceNodeSelection"))

    @property
    def uses_compatibility_groups(self) -> bool:
        """Whether any of its devices declares compatibility groups."""
        return any(entry.compatibility_groups for device in self.devices for entry in device.content.consumption)
