"""A ResourceSlicePatch, read once: whom it is about, and what it says of them.

What a patch says, which of two wins, and under which name an attribute is found are rules of the API (KEP-5027, first
text), so they are here, for the scheduler and for whoever prints devices. Where the text is silent, ``docs/patches.md``
says what was decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from drakit_api.cel.errors import CelCompileError
from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_api.objects.device_attributes import LIST_VALUES
from drakit_api.objects.device_selectors import expressions_of

Attribute = Mapping[str, Any]  # a v1 DeviceAttribute
Capacity = Mapping[str, Any]  # a v1 DeviceCapacity
Taint = Mapping[str, Any]  # a v1 DeviceTaint

_NEVER = float("inf")


class FilterFault(Exception):
    """A filter that selects no device, whatever there is; the message says why."""


@dataclass(frozen=True, slots=True)
class DeviceFilter:
    """Which devices a patch is about: those that satisfy all that is set; ``expressions`` are its CEL selectors.

    None among the expressions stands for a selector of another, future type.
    """

    device_class: str | None = None
    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    expressions: tuple[str | None, ...] = ()

    @staticmethod
    def of(published: Mapping[str, Any] | None) -> DeviceFilter:
        """Read ``spec.devices.filter``; none, or an empty one, is about every device."""
        published = published or {}
        return DeviceFilter(
            published.get("deviceClassName"),
            published.get("driver"),
            published.get("pool"),
            published.get("device"),
            tuple(expressions_of(published.get("selectors"))),
        )

    def criteria(self, classes: Mapping[str, ReadOnlyObject]) -> tuple[str, ...]:
        """Return the expressions that a device must satisfy, in the order in which they are asked: the class's first.

        Raises ``FilterFault`` where they cannot be known; the patch then applies to no device.
        """
        every = self.expressions
        if self.device_class is not None:
            device_class = classes.get(self.device_class)
            if device_class is None:
                raise FilterFault(f"there is no DeviceClass {self.device_class}")
            every = (*expressions_of(device_class["spec"].get("selectors")), *every)
        known = tuple([one for one in every if one is not None])
        if len(known) < len(every):
            raise FilterFault("a selector is of no known type: cel is not set")
        return known

    def may_concern(self, driver: str, pool: str) -> bool:
        """Tell whether there may be such devices in a pool."""
        return self.driver in (None, driver) and self.pool in (None, pool)


class Silenced(NamedTuple):
    """Something that a patch says in vain, as a feature gate is off."""

    part: Literal["lists", "taints"]
    gate: str

    @property
    def text(self) -> str:
        """What it is and why, as users read it; completes "patch x says ..."."""
        return f"{self.part} in vain: they need the feature gate {self.gate}, which is off"


@dataclass(slots=True, eq=False)
class SlicePatch:
    """What one object says; compared by identity.

    ``obj`` may be replaced by a later version that says the same, of which only metadata is different. ``attributes``
    and ``capacity`` are by fully qualified name; None removes the attribute. ``silenced``: what else it says.
    """

    obj: ReadOnlyObject
    filter: DeviceFilter
    attributes: Mapping[str, Attribute | None]
    capacity: Mapping[str, Capacity]
    taints: tuple[Taint, ...]
    silenced: tuple[Silenced, ...] = ()

    @staticmethod
    def of(obj: ReadOnlyObject, *, lists: bool = True, taints: bool = True) -> SlicePatch:
        """Read a patch. Without ``lists`` (DRAListTypeAttributes), ``taints`` (DRADeviceTaints) these do not count."""
        devices: Mapping[str, Any] = obj["spec"].get("devices") or {}
        published: Mapping[str, Attribute] = devices.get("attributes") or {}
        said = {name: one for name, one in published.items() if lists or not _is_list(one)}
        silenced = [Silenced("lists", "DRAListTypeAttributes")] if len(said) < len(published) else []
        if devices.get("taints") and not taints:
            silenced.append(Silenced("taints", "DRADeviceTaints"))
        return SlicePatch(
            obj,
            DeviceFilter.of(devices.get("filter")),
            {name: None if one.get("null") is not None else one for name, one in said.items()},
            {name: _capacity(one) for name, one in (devices.get("capacity") or {}).items()},
            tuple(devices.get("taints") or ()) if taints else (),
            tuple(silenced),
        )

    @property
    def name(self) -> str:
        """metadata.name."""
        return str(self.obj["metadata"].get("name", ""))

    @property
    def precedence(self) -> tuple[int, float, str]:
        """The sort key in whose order patches win: the highest priority, then the oldest, then the first name.

        One without a creation time, such as one in a file, is not created yet, and the youngest.
        """
        priority = (self.obj["spec"].get("devices") or {}).get("priority") or 0
        return -priority, _seconds(self.obj["metadata"].get("creationTimestamp")), self.name


def _is_list(published: Attribute) -> bool:
    return any(published.get(kind) is not None for kind in LIST_VALUES)


def _capacity(published: Capacity) -> Capacity:
    """Return a DeviceCapacity as a slice would have it: of a kind with a definition, quantities may be numbers."""
    policy = published.get("requestPolicy")
    text = {"value": str(published.get("value", "0"))}
    return {**published, **text} if policy is None else {**published, **text, "requestPolicy": _policy(policy)}


def _policy(published: Mapping[str, Any]) -> Mapping[str, Any]:
    policy = dict(published)
    if "default" in policy:
        policy["default"] = str(policy["default"])
    if "validValues" in policy:
        policy["validValues"] = [str(one) for one in policy["validValues"]]
    if "validRange" in policy:
        policy["validRange"] = {name: str(one) for name, one in policy["validRange"].items()}
    return policy


def _seconds(timestamp: object) -> float:
    try:
        return datetime.fromisoformat(timestamp).timestamp() if isinstance(timestamp, str) else _NEVER
    except ValueError:
        return _NEVER


def in_order(patches: Iterable[SlicePatch]) -> list[SlicePatch]:
    """Sort patches: of those that say something of the same attribute or capacity, the first one counts."""
    return sorted(patches, key=lambda patch: patch.precedence)


class PatchFault(NamedTuple):
    """Why a patch does not apply to ``device`` (driver/pool/device), or where that is empty, to any.

    ``expression`` is the selector that fails, empty if it is something else.
    """

    patch: SlicePatch
    device: str
    expression: str
    error: str

    @staticmethod
    def of_selector(patch: SlicePatch, device: str, expression: str, error: Exception) -> PatchFault:
        """Describe why a selector cannot be evaluated for a device; one that does not compile can be for none."""
        if isinstance(error, CelCompileError):
            return PatchFault(patch, "", expression, f"CEL compile error: {error}")
        return PatchFault(patch, device, expression, str(error))

    @property
    def text(self) -> str:
        """The fault as users read it."""
        return fault_text(self.device, self.expression, self.error)

    def line(self, others: int = 0) -> str:
        """Return the fault in one line; ``others``: on how many devices more it is the same."""
        return fault_line(self.device, self.expression, self.error, others)


def fault_line(device: str, expression: str, error: str, others: int = 0) -> str:
    """Return a fault in one line: an expression may have several, and so may what a compiler says of it."""
    devices = f"{device} and {others} more" if device and others else device
    return fault_text(devices, " ".join(expression.split()), error.splitlines()[0])


def fault_text(device: str, expression: str, error: str) -> str:
    """Say why a patch does not apply to a device, or without one, to any; completes "patch x ..."."""
    what = f"does not apply to device {device}" if device else "applies to no device"
    return f"{what}: selector {expression}: {error}" if expression else f"{what}: {error}"
