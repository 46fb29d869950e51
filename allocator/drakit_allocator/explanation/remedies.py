"""What would help: claims to release, a taint or patch to remove, a pool to complete, feature gates to switch on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from drakit_allocator.allocated import claim_name
from drakit_allocator.devices.taints import identity
from drakit_allocator.explanation.minimal import smallest
from drakit_allocator.explanation.reasons import PoolIncomplete, PoolInvalid, PoolReason, Tainted
from drakit_allocator.explanation.report import (
    ChangePatches,
    CompletePool,
    EnableGates,
    ReleaseClaims,
    Remedy,
    RemoveTaint,
    RepairPool,
)
from drakit_allocator.explanation.trials import Bench
from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_api.objects import gated_fields
from drakit_api.objects.device_attributes import LIST_VALUES
from drakit_api.slice_patches.patch import SlicePatch

# Sets of claims of one size that are tried for want of a better idea; one takes about a millisecond.
_CHEAP = 1500


def remedies(
    claims: Sequence[ReadOnlyObject],
    bench: Bench,
    taints: Iterable[Tainted],
    pools: Iterable[PoolReason],
    patches: Sequence[SlicePatch],
) -> list[Remedy]:
    """List changes each of which alone makes the claims fit on the node: gates first, then pools, taints and claims.

    ``patches`` are those that apply to devices of the node.
    """
    found: list[Remedy] = []
    if (gates := _gates(claims, bench)) is not None:
        found.append(gates)
    found += [remedy for pool in pools if (remedy := _of_pool(claims, bench, pool)) is not None]
    tainting = _of_taints(claims, bench, taints, patches)
    found += tainting
    named = {name for one in tainting for name in one.patches}
    found += _of_patches(claims, bench, [one for one in patches if one.name not in named])
    released = _release(claims, bench)
    return [*found, released] if released is not None else found


def _of_pool(claims: Sequence[ReadOnlyObject], bench: Bench, pool: PoolReason) -> Remedy | None:
    if isinstance(pool, PoolIncomplete) and pool.gates:
        return None  # All of it is there.
    if isinstance(pool, PoolIncomplete):
        return CompletePool(pool.pool) if bench.trial(lambda spec: _complete(spec, pool)).fits(claims) else None
    if isinstance(pool, PoolInvalid):
        others = tuple(one for one in bench.inventory.slices if _pool_name(one["spec"]) != pool.pool)
        return RepairPool(pool.pool) if bench.trial(slices=others).fits(claims) else None
    return None


def _gates(claims: Sequence[ReadOnlyObject], bench: Bench) -> EnableGates | None:
    """Find as few feature gates as it takes, of those that are off and whose fields slices or claims have."""
    features = bench.inventory.features
    used = {gates for one in bench.inventory.slices for gates in gated_fields.slice_features(dict(one))}
    used |= {gates for claim in claims for gates in gated_fields.claim_features(claim["spec"])}
    if any(set(value).intersection(LIST_VALUES) for value in _patched_values(bench)):
        used.add(("DRAListTypeAttributes",))
    if ("DRAConsumableCapacity",) in used:
        used.add(("DRAFractionalCapacityRange",))  # What policies allow; it has no field of its own.
    off = [gates for gates in features.off if gates in used]

    def suffices(some: Sequence[tuple[str, ...]]) -> bool | None:
        on = features.with_gates(gate for gates in some for gate in gates)
        return bench.trial(features=on).fits(claims)

    for gates in off:
        if suffices([gates]):
            return EnableGates(gates)
    if len(off) < 2 or not suffices(off):
        return None
    return EnableGates(tuple(gate for gates in smallest(off, suffices, _CHEAP) for gate in gates))


def _patched_values(bench: Bench) -> Iterator[ReadOnlyObject]:
    for one in bench.inventory.patches:
        yield from ((one["spec"].get("devices") or {}).get("attributes") or {}).values()


def _complete(spec: ReadOnlyObject, pool: PoolIncomplete) -> ReadOnlyObject:
    if _pool_name(spec) != pool.pool or spec["pool"].get("generation", 0) != pool.generation:
        return spec
    return {**spec, "pool": {**spec["pool"], "resourceSliceCount": len(pool.slices)}}


def _pool_name(spec: ReadOnlyObject) -> str:
    return f"{spec['driver']}/{spec['pool']['name']}"


def _of_taints(
    claims: Sequence[ReadOnlyObject], bench: Bench, taints: Iterable[Tainted], patches: Iterable[SlicePatch]
) -> list[RemoveTaint]:
    found = []
    for taint in dict.fromkeys(RemoveTaint(one.key, one.value, one.effect) for one in taints):
        if _without_taint(bench, taint, claims):
            giving = (one.name for one in patches if any(_is(given, taint) for given in one.taints))
            found.append(msgspec.structs.replace(taint, patches=tuple(giving)))
    return found


def _without_taint(bench: Bench, taint: RemoveTaint, claims: Sequence[ReadOnlyObject]) -> bool | None:
    def remove(spec: ReadOnlyObject) -> ReadOnlyObject:
        devices = [
            {**device, "taints": [one for one in device["taints"] if not _is(one, taint)]}
            if device.get("taints")
            else device
            for device in spec.get("devices") or ()
        ]
        return {**spec, "devices": devices}

    rules = tuple(rule for rule in bench.inventory.taint_rules if not _is(rule["spec"].get("taint") or {}, taint))
    patches = tuple(_untainting(patch, taint) for patch in bench.inventory.patches)
    return bench.trial(remove, taint_rules=rules, patches=patches).fits(claims)


def _untainting(patch: ReadOnlyObject, taint: RemoveTaint) -> ReadOnlyObject:
    devices = patch["spec"].get("devices") or {}
    kept = [one for one in devices.get("taints") or () if not _is(one, taint)]
    return {**patch, "spec": {"devices": {**devices, "taints": kept}}}


def _of_patches(claims: Sequence[ReadOnlyObject], bench: Bench, patches: Sequence[SlicePatch]) -> list[ChangePatches]:
    """Find each patch without which it would fit; if there is none, the smallest set of them.

    The devices are indexed once: a patch that comes or goes is evaluated alone.
    """
    if not patches:
        return []
    trial = bench.trial()

    def suffices(some: Sequence[SlicePatch]) -> bool | None:
        for one in some:
            trial.snapshot.remove_patch(one.name)
        fits = trial.fits(claims)
        for one in some:
            trial.snapshot.put_patch(one.obj)
        return fits

    alone = [ChangePatches((one.name,)) for one in patches if suffices([one])]
    if alone or len(patches) < 2 or not suffices(patches):
        return alone
    return [ChangePatches(tuple(one.name for one in smallest(patches, suffices, _CHEAP)))]


def _is(taint: ReadOnlyObject, wanted: RemoveTaint) -> bool:
    return identity(taint) == (wanted.key, wanted.value, wanted.effect)


def _release(claims: Sequence[ReadOnlyObject], bench: Bench) -> ReleaseClaims | None:
    """Find the smallest set of allocated claims without which it would fit; None if it never does.

    The devices are indexed once: only what is allocated changes from one trial to the next.
    """
    trial, held = bench.trial(), bench.inventory.claims

    def suffices(released: Sequence[int]) -> bool | None:
        for number in released:
            trial.allocated.remove_claim(held[number])
        fits = trial.fits(claims)
        for number in released:
            trial.allocated.add_claim(held[number])
        return fits

    everything = range(len(held))
    if not held or not suffices(everything):
        return None
    return ReleaseClaims(tuple(claim_name(held[number]) for number in smallest(everything, suffices, _CHEAP)))
