"""The single statements of an explanation: why one device cannot be had, or a pool, or a claim on any node.

Each kind is a type with its particulars, so that whoever reads the JSON form can check it against the objects. Equal
reasons of several devices are equal objects. Amounts are quantities as Kubernetes prints them; a claim is named
``namespace/name``, a pool ``driver/pool``, a device ``driver/pool/device``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from drakit_api.cel.readings import Condition, Reading

Owner = Literal["class", "request"]


@dataclass(frozen=True, slots=True)
class PatchedReading(Reading):
    """Something of a device that is so, or is not there, because of ResourceSlicePatches."""

    patches: tuple[str, ...] = ()


class Reason(msgspec.Struct, frozen=True, tag_field="kind", rename="camel"):
    """Base of all reasons; ``kind`` in the JSON form says which one it is."""


class Holder(msgspec.Struct, frozen=True, rename="camel"):
    """A claim that holds a device which draws an amount from a counter or a capacity."""

    claim: str
    device: str
    amount: str


class SelectorFalse(Reason, frozen=True, tag="selector"):
    """A selector is false: number ``number`` of the class or request ``owner``; ``failed`` are the parts that are."""

    owner_kind: Owner
    owner: str
    number: int
    expression: str
    failed: tuple[Condition, ...]


class SelectorFails(Reason, frozen=True, tag="selectorError"):
    """A selector cannot be evaluated, which ends the allocation as soon as it comes to the device."""

    owner_kind: Owner
    owner: str
    number: int
    expression: str
    message: str
    read: tuple[Reading, ...]


class InUse(Reason, frozen=True, tag="inUse"):
    """Other claims hold the device."""

    holders: tuple[str, ...]


class ShortCounter(msgspec.Struct, frozen=True, rename="camel"):
    """A counter with less left than a device draws."""

    counter_set: str
    counter: str
    needed: str
    free: str
    total: str
    holders: tuple[Holder, ...]


class CountersShort(Reason, frozen=True, tag="counters"):
    """Too little is left of shared counters, because of the devices that others hold."""

    pool: str
    short: tuple[ShortCounter, ...]


class CounterOverdrawn(Reason, frozen=True, tag="overdrawn"):
    """More is drawn from a counter than there is.

    Kubernetes then gives out no device of the pool that draws from counters; without that defect, none that draws from
    this counter set: ``blocks``.
    """

    pool: str
    counter_set: str
    counter: str
    free: str
    total: str
    holders: tuple[Holder, ...]
    blocks: Literal["pool", "counterSet"] = "pool"


class GroupsDiffer(Reason, frozen=True, tag="compatibilityGroups"):
    """The allocated devices on a counter set have no compatibility group in common with the device's ``groups``."""

    pool: str
    counter_set: str
    groups: tuple[str, ...]
    holders: tuple[str, ...]


class CapacityShort(Reason, frozen=True, omit_defaults=True, tag="capacity"):
    """Too little is left of a capacity that claims share; ``patch`` is the ResourceSlicePatch that sets it, if any."""

    capacity: str
    needed: str
    free: str
    total: str
    holders: tuple[str, ...]
    patch: str = ""


class CapacityMissing(Reason, frozen=True, tag="capacityMissing"):
    """The device has no capacity of a name that the request asks for."""

    capacity: str


class CapacityRefused(Reason, frozen=True, tag="capacityPolicy"):
    """The device's request policy has no amount for what the request asks for; an error if there is a ``message``.

    ``broken``: what makes no sense about the policy, if the device is passed over for that. ``patches``: the
    ResourceSlicePatches that set the requested capacities.
    """

    requested: tuple[tuple[str, str], ...]
    message: str = ""
    broken: str = ""
    patches: tuple[str, ...] = ()


class Tainted(Reason, frozen=True, omit_defaults=True, tag="taint"):
    """A taint that the request does not tolerate: of the slice, or of the rule or patch ``name``.

    A rule is a DeviceTaintRule, a patch a ResourceSlicePatch. ``others`` are more such taints of the same device.
    """

    key: str
    value: str
    effect: str
    source: Literal["slice", "rule", "patch"]
    name: str = ""
    others: tuple[Tainted, ...] = ()


class WrongNode(Reason, frozen=True, tag="nodeSelection"):
    """The device is for other nodes; ``selection`` is its nodeName, or its nodeSelector as JSON."""

    selection: str


class AttributeMissing(Reason, frozen=True, omit_defaults=True, tag="attributeMissing"):
    """The device lacks the attribute that constraint number ``constraint`` of the claim compares.

    ``patch`` is the ResourceSlicePatch that has removed it, if one has.
    """

    constraint: int
    attribute: str
    patch: str = ""


class DerivedFails(Reason, frozen=True, tag="derivedAttributeError"):
    """The expression of a derived attribute, which a constraint compares, cannot be evaluated; an error as well."""

    constraint: int
    attribute: str
    message: str


class FeatureOff(Reason, frozen=True, tag="featureOff"):
    """The device needs something that this version with these gates, or this node, does not have."""

    gates: tuple[str, ...]
    need: str


DeviceReason = (
    SelectorFalse
    | SelectorFails
    | InUse
    | CountersShort
    | CounterOverdrawn
    | GroupsDiffer
    | CapacityShort
    | CapacityMissing
    | CapacityRefused
    | Tainted
    | WrongNode
    | AttributeMissing
    | DerivedFails
    | FeatureOff
)


class PoolIncomplete(Reason, frozen=True, omit_defaults=True, tag="incompletePool"):
    """A pool says that it has ``expected`` slices of its newest generation, and has others.

    ``ignored`` are slices that are there, but do not count while the feature ``gates`` are off.
    """

    pool: str
    generation: int
    expected: int
    slices: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()


class PoolInvalid(Reason, frozen=True, tag="invalidPool"):
    """The slices of a pool contradict each other."""

    pool: str
    message: str


class PoolHidden(Reason, frozen=True, omit_defaults=True, tag="hiddenPool"):
    """A slice for this node does not count: there is a newer generation elsewhere, or feature ``gates`` are off."""

    pool: str
    slices: tuple[str, ...]
    message: str
    gates: tuple[str, ...] = ()


PoolReason = PoolIncomplete | PoolInvalid | PoolHidden


class MissingClass(Reason, frozen=True, tag="missingClass"):
    """A request names a DeviceClass that does not exist."""

    claim: str
    request: str
    device_class: str
    known: tuple[str, ...]


class ResultLimit(Reason, frozen=True, tag="resultLimit"):
    """A claim asks for more devices than one claim can hold."""

    claim: str
    devices: int
    limit: int


class Failure(Reason, frozen=True, omit_defaults=True, tag="error"):
    """Anything else that ends the allocation, in the words of Kubernetes' allocator.

    ``gates`` are feature gates that are off, and without which that is so.
    """

    message: str
    gates: tuple[str, ...] = ()


ClaimReason = MissingClass | ResultLimit | Failure
