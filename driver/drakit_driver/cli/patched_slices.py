"""Slices as the ResourceSlicePatches of files make them look: what a scheduler that follows patches sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from drakit_api.features import PATCHES_GATE, FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts import mixins
from drakit_api.slice_patches.merging import PatchedSlices, patched
from drakit_api.slice_patches.patch import PatchFault, SlicePatch, in_order
from drakit_client.manifests.documents import ManifestError
from drakit_client.manifests.files import Manifests, read_manifests

_USED = ("ResourceSlicePatch", "DeviceClass")


@dataclass(frozen=True, slots=True)
class Patches:
    """The patches of files, in the order in which they win, and classes that their filters may name."""

    patches: tuple[SlicePatch, ...]
    classes: tuple[Object, ...]
    notes: tuple[str, ...]

    @staticmethod
    def read(files: Sequence[str], gates: FeatureGates) -> Patches:
        """Read files; ``gates`` say whether lists and taints count. Raises ``ManifestError``."""
        manifests = read_manifests(files, FeatureGates(overrides={PATCHES_GATE: True}))
        lists, taints = gates.enabled("DRAListTypeAttributes"), gates.enabled("DRADeviceTaints")
        found = [SlicePatch.of(one, lists=lists, taints=taints) for one in manifests.of("ResourceSlicePatch")]
        if not found:
            raise ManifestError([f"there is no ResourceSlicePatch in {', '.join(files)}"])
        return Patches(tuple(in_order(found)), tuple(manifests.of("DeviceClass")), tuple(_notes(manifests)))

    def applied_to(self, slices: Sequence[Object], classes: Sequence[Object]) -> PatchedSlices:
        """Merge the patches into v1 slices; ``classes`` are those that the files do not have."""
        return patched([mixins.applied_to(one) for one in slices], self.patches, [*classes, *self.classes])


def _notes(manifests: Manifests) -> Iterator[str]:
    yield from (f"{name} replaces the one before it" for name in manifests.replaced)
    others = {kind: len(objects) for kind, objects in manifests.by_kind.items() if kind not in _USED}
    others |= manifests.ignored
    if others:
        yield f"ignored: {', '.join(f'{count} {kind}' for kind, count in sorted(others.items()))}"


def effects(patches: Patches, found: PatchedSlices) -> Iterator[str]:
    """Yield a line for each patch: to how many devices it applies; and one for each cause for which it does not."""
    for patch in patches.patches:
        count = sum(patch in applied for applied in found.applied.values())
        if count:
            yield f"patch {patch.name}: applies to {count} of {len(found.applied)} devices"
        yield from (f"patch {patch.name}: says {one.text}" for one in patch.silenced)
        faults = [fault for fault in found.faults if fault.patch is patch]
        if not count and not any(not fault.device for fault in faults):
            yield f"patch {patch.name}: applies to no device"
        yield from (f"patch {patch.name}: {line}" for line in _causes(faults))


def _causes(faults: Sequence[PatchFault]) -> Iterator[str]:
    alike: dict[tuple[str, str], list[PatchFault]] = {}
    for fault in faults:
        alike.setdefault((fault.expression, fault.error), []).append(fault)
    for same in alike.values():
        yield same[0].line(len(same) - 1)
