"""Reasons in words, for events and for the text form: names and values first, as few words as it takes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from drakit_allocator.explanation.reasons import (
    AttributeMissing,
    CapacityMissing,
    CapacityRefused,
    CapacityShort,
    ClaimReason,
    CounterOverdrawn,
    CountersShort,
    DerivedFails,
    DeviceReason,
    Failure,
    FeatureOff,
    GroupsDiffer,
    Holder,
    InUse,
    MissingClass,
    PatchedReading,
    PoolHidden,
    PoolIncomplete,
    PoolInvalid,
    PoolReason,
    ResultLimit,
    SelectorFails,
    SelectorFalse,
    Tainted,
    WrongNode,
)
from drakit_allocator.explanation.report import (
    AttributeValues,
    ChangePatches,
    CompletePool,
    Conflict,
    ConstraintName,
    CounterName,
    DefectEffect,
    EffectPlace,
    EnableGates,
    FaultyPatch,
    ReleaseClaims,
    Remedy,
    RemoveTaint,
    RepairPool,
    SilencedPatch,
)
from drakit_api.cel.readings import Reading
from drakit_api.slice_patches.patch import Silenced, fault_line
from drakit_client.processes.counts import counted

UNSELECTED = "do not match selectors"


def joined(names: Sequence[str], word: str = "and") -> str:
    """Join names as prose: ``a``, ``a and b``, ``a, b and c``."""
    return f" {word} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def some_of(names: Sequence[str], limit: int = 3) -> str:
    """List the first few names, and how many more there are."""
    shown = list(names[:limit])
    return ", ".join(shown) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def category(reason: DeviceReason) -> str:
    """Say what devices with such a reason have in common; completes "2 devices ..."."""
    return _CATEGORIES[type(reason)]


_CATEGORIES: Mapping[type[DeviceReason], str] = {
    SelectorFalse: UNSELECTED,
    SelectorFails: "fail a selector",
    InUse: "are in use",
    CountersShort: "lack counters",
    CounterOverdrawn: "lack counters",
    GroupsDiffer: "are not compatible with devices in use",
    CapacityShort: "lack capacity",
    CapacityMissing: "lack capacity",
    CapacityRefused: "lack capacity",
    Tainted: "have taints that are not tolerated",
    WrongNode: "are not for this node",
    AttributeMissing: "lack an attribute of a constraint",
    DerivedFails: "lack an attribute of a constraint",
    FeatureOff: "need a feature that is off",
}


def particulars(reason: DeviceReason) -> str:
    """Say what is behind a reason, without the device."""
    match reason:
        case SelectorFalse():
            return "; ".join(f"{one.expression}: {readings_text(one.read)}" for one in reason.failed)
        case SelectorFails():
            message = reason.message.splitlines()[0]
            # A value that is not set is named in the message already.
            read = [one for one in reason.read if _adds_to(message, one)]
            return f"{message}: {readings_text(read)}" if read else message
        case InUse():
            return f"by {joined(reason.holders)}" if any(reason.holders) else ""
        case Tainted():
            taints = (reason, *reason.others)
            return joined([taint_text(one.key, one.value, one.effect) + _source_text(one) for one in taints])
        case WrongNode():
            return reason.selection
        case AttributeMissing():
            removed = f" (removed by {patches_text((reason.patch,))})" if reason.patch else ""
            return f"{reason.attribute} of constraint {reason.constraint}{removed}"
        case DerivedFails():
            return reason.message
        case FeatureOff():
            return f"{reason.need} {needs_gates(reason.gates)}"
        case _:
            return _shortage(reason)


def _shortage(
    reason: CountersShort | CounterOverdrawn | GroupsDiffer | CapacityShort | CapacityMissing | CapacityRefused,
) -> str:
    match reason:
        case CountersShort():
            return _short_counters(reason)
        case CounterOverdrawn():
            name = f"{reason.counter} of {reason.counter_set}"
            blocked = "whole pool" if reason.blocks == "pool" else "counter set"
            return f"{name} is overdrawn, which blocks the {blocked}{_held(reason.holders)}"
        case GroupsDiffer():
            groups = f"groups {joined(reason.groups)}" if reason.groups else "no groups"
            return f"{groups} on {reason.counter_set}, which {some_of(reason.holders)} uses with others"
        case CapacityShort():
            holders = f", held by {joined(reason.holders)}" if any(reason.holders) else ""
            return f"{reason.capacity}: needs {reason.needed}, free {reason.free}{_by_patches(reason.patch)}{holders}"
        case CapacityMissing():
            return f"no {reason.capacity}"
        case CapacityRefused():
            refused = reason.message or reason.broken or "the request policy does not allow the amount"
            return refused + _by_patches(*reason.patches)


def _adds_to(message: str, reading: Reading) -> bool:
    return reading.value is not None or reading.name not in message or isinstance(reading, PatchedReading)


def patches_text(names: Sequence[str]) -> str:
    """Name ResourceSlicePatches: ``patch a``, ``patches a and b``."""
    return f"patch{'' if len(names) == 1 else 'es'} {joined(names)}"


def _by_patches(*names: str) -> str:
    """Say whose word a value is, in brackets; nothing if it is the driver's."""
    known = tuple(filter(None, names))
    return f" ({patches_text(known)})" if known else ""


def _source_text(taint: Tainted) -> str:
    return f" ({taint.source} {taint.name})" if taint.name else ""


def taint_text(key: str, value: str, effect: str) -> str:
    """Print a taint as kubectl does."""
    return f"{key}={value}:{effect}"


def _short_counters(reason: CountersShort) -> str:
    """Describe the first counter, count the others, and name who holds what all of them lack."""
    first, more = reason.short[0], len(reason.short) - 1
    text = f"{first.counter} of {first.counter_set}: needs {first.needed}, free {first.free}"
    text += f", and {counted(more, 'more counter')}" if more else ""
    return text + _held(holder for short in reason.short for holder in short.holders)


def held_counter_sets(reason: CountersShort) -> tuple[str, ...]:
    """Print the counter sets that lack something, each with those who hold it."""
    sets: dict[str, list[Holder]] = {}
    for one in reason.short:
        sets.setdefault(one.counter_set, []).extend(one.holders)
    return tuple(f"{counter_set}{_held(holders)}" for counter_set, holders in sets.items())


def short_counters(reason: CountersShort) -> str:
    """Print what is needed and what is left of each counter."""
    needs = [f"{one.counter} {one.needed} (free {one.free} of {one.total})" for one in reason.short]
    return f"needs {some_of(needs, 4)}"


def _held(holders: Iterable[Holder]) -> str:
    claims = list(dict.fromkeys(holder.claim for holder in holders if holder.claim))
    return f", held by {some_of(claims)}" if claims else ""


def readings_text(read: Iterable[Reading]) -> str:
    """Print values as ``profile is "1g.5gb", memory is 5Gi``."""
    return ", ".join(map(_reading, read)) or "no attribute is read"


def _reading(reading: Reading) -> str:
    if not isinstance(reading, PatchedReading):
        return _value(reading)
    what_happened = "removed by " if reading.value is None else "" if reading.name else "changed by "
    return f"{_value(reading)} ({what_happened}{patches_text(reading.patches)})"


def _value(reading: Reading) -> str:
    name = reading.name or reading.domain or reading.field
    if reading.value is None:
        return f"{name} is not set"
    if reading.field == "capacity" and reading.name:
        return f"{name} is {reading.value}"
    if not reading.name and isinstance(reading.value, tuple):
        return f"{name} has {joined([str(one) for one in reading.value]) or 'nothing'}"
    return f"{name} is {json.dumps(reading.value)}"


def pool_text(reason: PoolReason) -> str:
    """Print a clause about a pool."""
    match reason:
        case PoolIncomplete():
            return f"pool {reason.pool} is incomplete: {_incomplete(reason)}"
        case PoolInvalid():
            return f"pool {reason.pool} is invalid: {reason.message}"
        case PoolHidden():
            return f"pool {reason.pool} is not seen: {reason.message}"


def _incomplete(reason: PoolIncomplete) -> str:
    found = len(reason.slices)
    which = f" ({some_of(reason.slices)})" if reason.slices else ""
    count = f"{found} of {reason.expected} slices of generation {reason.generation}{which}"
    if reason.gates:
        return f"{count}; ignored while the feature gate {joined(reason.gates)} is off: {some_of(reason.ignored)}"
    missing = reason.expected - found
    return f"{count}, {missing} missing" if missing >= 0 else f"{count}, {-missing} too many"


def needs_gates(gates: Sequence[str]) -> str:
    """Print ``needs the feature gate A, which is off``, which completes "the pool ..."."""
    many = len(gates) > 1
    return f"needs the feature gate{'s' if many else ''} {joined(gates)}, which {'are' if many else 'is'} off"


def switch_on(gates: Sequence[str]) -> str:
    """Say how to switch feature gates on."""
    value = ",".join(f"{gate}=true" for gate in gates)
    which = f"feature gate{'s' if len(gates) > 1 else ''} {joined(gates)}"
    return f"switch on the {which} (--feature-gates {value} of API server, scheduler and this command)"


def claim_text(reason: ClaimReason) -> str:
    """Print a clause about a claim that no node can satisfy."""
    match reason:
        case MissingClass():
            known = f"; there are {joined(reason.known)}" if reason.known else "; there are none"
            return f"{reason.claim}, request {reason.request}: there is no DeviceClass {reason.device_class}{known}"
        case ResultLimit():
            return f"{reason.claim}: asks for {reason.devices} devices, a claim can have {reason.limit}"
        case Failure(gates=gates) if gates:
            return f"{reason.message}; {switch_on(gates)}"
    return reason.message


def conflict_text(conflict: Conflict, *, with_claims: bool) -> str:
    """Say which requests and constraints do not go together, with the values that are compared."""
    requests = [f"{one.claim} {one.request}" if with_claims else one.request for one in conflict.requests]
    if len(requests) > 1:
        text = f"requests {joined(requests)} have enough devices each, but not together"
    else:
        text = f"request {requests[0]} has enough devices, but they do not go together"
    for constraint in conflict.constraints:
        text += f"; {constraint_text(constraint)}"
    if conflict.counters:
        text += f"; too small: {counters_text(conflict.counters)}"
    return text


def counters_text(counters: Iterable[CounterName]) -> str:
    """Print counters by counter set."""
    by_set: dict[str, list[str]] = {}
    for one in counters:
        by_set.setdefault(one.counter_set, []).append(one.counter)
    return "; ".join(f"{some_of(names, 8)} of {counter_set}" for counter_set, names in by_set.items())


def constraint_text(constraint: ConstraintName) -> str:
    """Print a constraint with the values that the devices of each request have."""
    kind = "matchAttribute" if constraint.match else "distinctAttribute"
    values = "; ".join(map(_values, constraint.requests))
    return f"constraint {constraint.constraint}, {kind} {constraint.attribute}: {values}"


def _values(values: AttributeValues) -> str:
    wanted = "all" if values.wanted is None else values.wanted
    counts = [f"{count} with {value}{_patched(values, value, count)}" for value, count in values.values]
    if values.missing:
        counts.append(f"{values.missing} without it{_patched(values, None, values.missing)}")
    return f"{values.request} wants {wanted}, there are {some_of(counts, 8) or 'none'}"


def _patched(values: AttributeValues, value: str | None, count: int) -> str:
    """Say which patches have given devices a value, or removed it; and how many, if it is not all of them."""
    found = []
    for one in values.patched:
        if one.value == value:
            verb = "removed by " if value is None else ""
            some = "" if one.devices == count else f"{one.devices} {'' if verb else 'by '}"
            found.append(f"{some}{verb}{patches_text((one.patch,))}")
    return f" ({some_of(found)})" if found else ""


OUTCOMES = {
    "doesNotFit": "does not fit",
    "nodeError": "error on this node",
    "error": "error",
    "timeout": "no answer in time",
    "fits": "fits",
}


def effect_text(effect: DefectEffect) -> str:
    """Describe what Kubernetes gets wrong, where, and what comes of it."""
    places = f" ({some_of([_place_text(one) for one in effect.places])})" if effect.places else ""
    return f"{effect.text}{places}: {_difference(effect)} [{_defects(effect)}]"


def short_effect_text(effect: DefectEffect) -> str:
    """Print no more than an effect's name and what comes of it."""
    if effect.upstream != "fits" and effect.safe == "fits":
        return f"would fit but for Kubernetes' defect {_defects(effect)}"
    if effect.upstream == "fits" and effect.safe != "fits":
        return f"would fit by Kubernetes' defect {_defects(effect)}"
    return f"Kubernetes' defect {_defects(effect)}: {_difference(effect)}"


def _defects(effect: DefectEffect) -> str:
    return " and ".join((effect.defect, *effect.together))


def _difference(effect: DefectEffect) -> str:
    if effect.upstream == effect.safe == "fits":
        return "Kubernetes takes other devices than without the defect"
    upstream = OUTCOMES[effect.upstream] + (f" ({effect.message})" if effect.message else "")
    return f"{upstream} in Kubernetes, {OUTCOMES[effect.safe]} without the defect"


def _place_text(place: EffectPlace) -> str:
    devices = some_of(place.devices)
    what = f"counter set {place.counter_set} of {place.pool}" if place.counter_set else place.pool
    held = f", held by {some_of(place.holders)}" if any(place.holders) else ""
    return f"{devices}{' by ' if place.counter_set else ' of '}{what}{held}" if devices else f"{what}{held}"


def faulty_patch_text(faulty: FaultyPatch) -> str:
    """Say why a patch does not apply."""
    return f"{patches_text((faulty.patch,))} {fault_line(faulty.device, faulty.expression, faulty.error)}"


def silenced_patch_text(silenced: SilencedPatch) -> str:
    """Say what of a patch does not count."""
    return f"{patches_text((silenced.patch,))} says {Silenced(silenced.part, silenced.gate).text}"


def remedy_text(remedy: Remedy) -> str:
    """Say what to do for a remedy."""
    match remedy:
        case ReleaseClaims():
            return f"release {joined(remedy.claims)}"
        case RemoveTaint():
            taint = taint_text(remedy.key, remedy.value, remedy.effect)
            return f"remove or tolerate the taint {taint}{_by_patches(*remedy.patches)}"
        case ChangePatches():
            return f"delete or change {patches_text(remedy.patches)}"
        case CompletePool():
            return f"complete the pool {remedy.pool}"
        case RepairPool():
            return f"repair the pool {remedy.pool}"
        case EnableGates():
            return switch_on(remedy.gates)
