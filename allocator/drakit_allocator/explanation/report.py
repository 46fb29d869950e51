"""How an explanation is put together, and its JSON form.

Field names in the JSON form are those here in camelCase; fields with their default are left out. The form is stable:
kinds of reasons and fields may be added.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from drakit_allocator.explanation.reasons import ClaimReason, DeviceReason, PoolReason
from drakit_api.slice_patches.patch import PatchFault, SlicePatch

# fits; does not fit; an error for this node alone; an error that ends the allocation; no answer in the time given
Outcome = Literal["fits", "doesNotFit", "nodeError", "error", "timeout"]


class _Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of the parts of an explanation."""


class RuledOut(_Part, frozen=True):
    """Devices that one reason rules out."""

    reason: DeviceReason
    devices: tuple[str, ...]


class RequestExplanation(_Part, frozen=True):
    """One request, or one alternative of a prioritized list, as if it were alone on the node.

    ``wanted`` is None where it wants all that match. ``usable`` are the devices that it could get; ``enough`` says
    whether those satisfy it, and is no more than a count: that it cannot get them is what conflicts are about.
    """

    request: str
    wanted: int | None
    devices: int
    enough: bool
    usable: tuple[str, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()


class ClaimExplanation(_Part, frozen=True):
    """The requests of one claim on one node."""

    claim: str
    requests: tuple[RequestExplanation, ...]


class RequestName(_Part, frozen=True):
    """A request of a claim; of a prioritized list, all of it."""

    claim: str
    request: str


class PatchedValue(_Part, frozen=True):
    """How many devices have a value from a ResourceSlicePatch; without ``value`` it has removed the attribute."""

    patch: str
    devices: int
    value: str | None = None


class AttributeValues(_Part, frozen=True):
    """How many of the devices that a request could get have which value; ``missing`` have none.

    ``patched``: which of them it is that patches have given it to, or removed it from.
    """

    request: str
    wanted: int | None
    values: tuple[tuple[str, int], ...]
    missing: int = 0
    patched: tuple[PatchedValue, ...] = ()


class ConstraintName(_Part, frozen=True):
    """A constraint of a claim, by its position, and the values that it compares."""

    claim: str
    constraint: int
    match: bool
    attribute: str
    requests: tuple[AttributeValues, ...] = ()


class CounterName(_Part, frozen=True):
    """A counter of a pool."""

    pool: str
    counter_set: str
    counter: str


class Conflict(_Part, frozen=True):
    """Requests and constraints that cannot be satisfied together, while they can without any one of them.

    ``counters``: if these were large enough, they could; no smaller set of counters would do.
    """

    requests: tuple[RequestName, ...]
    constraints: tuple[ConstraintName, ...] = ()
    counters: tuple[CounterName, ...] = ()


class ReleaseClaims(_Part, frozen=True, tag_field="kind", tag="release"):
    """The claims would fit if these gave back their devices; all of them are needed for that."""

    claims: tuple[str, ...]


class RemoveTaint(_Part, frozen=True, tag_field="kind", tag="removeTaint"):
    """The claims would fit without this taint, or if they tolerated it.

    ``patches``: the ResourceSlicePatches that give it to devices of the node.
    """

    key: str
    value: str
    effect: str
    patches: tuple[str, ...] = ()


class ChangePatches(_Part, frozen=True, tag_field="kind", tag="changePatches"):
    """The claims would fit without these ResourceSlicePatches; all of them are in the way."""

    patches: tuple[str, ...]


class CompletePool(_Part, frozen=True, tag_field="kind", tag="completePool"):
    """The claims would fit if what is published of this pool were all of it."""

    pool: str


class RepairPool(_Part, frozen=True, tag_field="kind", tag="repairPool"):
    """The claims would fit if this invalid pool were not in the way."""

    pool: str


class EnableGates(_Part, frozen=True, tag_field="kind", tag="enableGates"):
    """The claims would fit with these feature gates on; all of them are needed for that."""

    gates: tuple[str, ...]


Remedy = ReleaseClaims | RemoveTaint | ChangePatches | CompletePool | RepairPool | EnableGates


class EffectPlace(_Part, frozen=True):
    """Where a defect matters: devices of a pool, the counter set that they draw from, and who holds it, or them."""

    pool: str
    devices: tuple[str, ...] = ()
    counter_set: str = ""
    holders: tuple[str, ...] = ()


class DefectEffect(_Part, frozen=True):
    """A defect of Kubernetes' allocator that makes a difference to claims on a node.

    ``upstream`` is what becomes of them there with all of its defects, ``safe`` with none; if they fit either way, with
    other devices. ``message`` is that of an error upstream. ``together``: other defects, without which this one makes
    no difference. ``claims`` are those whose devices are others.
    """

    defect: str
    node: str
    text: str
    upstream: Outcome
    safe: Outcome
    message: str = ""
    claims: tuple[str, ...] = ()
    places: tuple[EffectPlace, ...] = ()
    together: tuple[str, ...] = ()


class FaultyPatch(_Part, frozen=True):
    """A ResourceSlicePatch that does not apply to ``device`` because of an error; without one, to no device.

    ``expression`` is the selector that fails; other devices may fail in the same way.
    """

    patch: str
    error: str
    device: str = ""
    expression: str = ""

    @staticmethod
    def of(fault: PatchFault) -> FaultyPatch:
        """Describe a fault."""
        return FaultyPatch(fault.patch.name, fault.error, fault.device, fault.expression)


class SilencedPatch(_Part, frozen=True):
    """A ResourceSlicePatch of which a ``part`` does not count, as the feature gate for it is off."""

    patch: str
    part: Literal["lists", "taints"]
    gate: str

    @staticmethod
    def of(patches: Iterable[SlicePatch]) -> tuple[SilencedPatch, ...]:
        """Describe what patches say in vain, in the order of their names."""
        named = sorted(patches, key=lambda patch: patch.name)
        return tuple(SilencedPatch(patch.name, *one) for patch in named for one in patch.silenced)


class NodeExplanation(_Part, frozen=True):
    """One node. ``unfinished`` says what was left out because it took too long."""

    node: str
    outcome: Outcome
    message: str = ""
    pools: tuple[PoolReason, ...] = ()
    claims: tuple[ClaimExplanation, ...] = ()
    limits: tuple[ClaimReason, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    defects: tuple[DefectEffect, ...] = ()
    unfinished: tuple[str, ...] = ()


class GivenDevice(_Part, frozen=True):
    """A device that a request gets."""

    request: str
    device: str


class GivenClaim(_Part, frozen=True):
    """What a claim gets."""

    claim: str
    devices: tuple[GivenDevice, ...]


class ExcludedNode(_Part, frozen=True):
    """A node on which the claims were not tried, for reasons that have nothing to do with its devices."""

    node: str
    message: str


class ExtendedResource(_Part, frozen=True):
    """An extended resource that a pod requests.

    Devices of ``device_class`` are behind it, with these ``requests`` of the claim that kube-scheduler would make; if
    that is empty, a device plugin has to offer it.
    """

    resource: str
    amount: int
    device_class: str = ""
    requests: tuple[str, ...] = ()


class Explanation(_Part, frozen=True):
    """Why claims do not fit, or that they do: then there is a ``node`` and what they get there.

    If claims that do not fit have a node with outcome "fits", an error on a node before it ended the attempt.
    ``defects`` are those without which they would get other devices on ``node``, or none.
    ``errors`` hold on every node. ``best`` are remedies on ``best_node``: no other node that was looked at needs less.
    ``faulty_patches`` and ``silenced_patches`` are those that may concern devices of the nodes.
    """

    claims: tuple[str, ...]
    fits: bool
    node: str = ""
    given: tuple[GivenClaim, ...] = ()
    defects: tuple[DefectEffect, ...] = ()
    errors: tuple[ClaimReason, ...] = ()
    nodes: tuple[NodeExplanation, ...] = ()
    excluded: tuple[ExcludedNode, ...] = ()
    best_node: str = ""
    best: tuple[Remedy, ...] = ()
    extended_resources: tuple[ExtendedResource, ...] = ()
    faulty_patches: tuple[FaultyPatch, ...] = ()
    silenced_patches: tuple[SilencedPatch, ...] = ()


def explanation_json(explanation: Explanation | DefectEffect) -> dict[str, Any]:
    """Convert an explanation to its stable JSON form."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(explanation))
    return plain
