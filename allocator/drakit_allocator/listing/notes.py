"""What is told of patches beside a list of devices: which of them apply to none, and why."""

from __future__ import annotations

from collections.abc import Iterator

from drakit_allocator.explanation.phrases import faulty_patch_text, patches_text, silenced_patch_text
from drakit_allocator.explanation.report import FaultyPatch, SilencedPatch
from drakit_allocator.listing.listing import Listing
from drakit_allocator.listing.reach import KnownNames
from drakit_api.slice_patches.patch import PatchFault


def patch_notes(found: Listing) -> list[str]:
    """Return lines about patches: those that are chosen, else all, of which those that are just idle are no news."""
    chosen = {one.patch.name for one in found.reaches}
    faults = [one for one in found.snapshot.overlay.faults if not chosen or one.patch.name in chosen]
    lines = [*(_of_chosen(found, faults) if chosen else _with_unknown_names(found))]
    silenced = SilencedPatch.of(one for one in found.snapshot.overlay.patches if not chosen or one.name in chosen)
    return [*lines, *map(silenced_patch_text, silenced), *(faulty_patch_text(FaultyPatch.of(one)) for one in faults)]


def _of_chosen(found: Listing, faults: list[PatchFault]) -> Iterator[str]:
    """Yield lines about chosen patches that do nothing; a fault of the whole patch says itself that it does not."""
    told = {one.patch.name for one in faults if not one.device}
    known = KnownNames(found.snapshot.slices.slices())
    for one in found.reaches:
        name = one.patch.name
        if name not in found.reached and name not in told:
            reason = known.lacks(one.patch.filter) or known.lacks_device(one.patch.filter)
            yield f"{patches_text((name,))} applies to no device{f': {reason}' if reason else ''}"
        elif name in found.reached and one.is_idle and not one.patch.silenced:
            yield f"{patches_text((name,))} says nothing of the devices to which it applies"


def _with_unknown_names(found: Listing) -> Iterator[str]:
    """Yield lines about patches for a driver or a pool that is not there: most likely, their names are misspelt."""
    known = KnownNames(found.snapshot.slices.slices())
    for patch in sorted(found.snapshot.overlay.patches, key=lambda one: one.name):
        if reason := known.lacks(patch.filter):
            yield f"{patches_text((patch.name,))} applies to no device: {reason}"
