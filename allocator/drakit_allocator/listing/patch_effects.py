"""What each of the patches that apply to a device changes about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from drakit_api.slice_patches.patch import Attribute, Capacity, SlicePatch, Taint


@dataclass(frozen=True, slots=True)
class PatchEffect:
    """What one patch decides about a device, by fully qualified name; None removes an attribute.

    ``overridden`` are names of which a stronger patch says something else.
    """

    patch: SlicePatch
    attributes: Mapping[str, Attribute | None]
    capacity: Mapping[str, Capacity]
    taints: Sequence[Taint]
    overridden: tuple[str, ...]


def patch_effects(patches: Sequence[SlicePatch]) -> Iterator[PatchEffect]:
    """Yield the effect of each patch that applies to a device; they are in the order in which they win."""
    attributes: set[str] = set()
    capacity: set[str] = set()
    for patch in patches:
        lost = (*(attributes & patch.attributes.keys()), *(capacity & patch.capacity.keys()))
        yield PatchEffect(
            patch,
            {name: value for name, value in patch.attributes.items() if name not in attributes},
            {name: value for name, value in patch.capacity.items() if name not in capacity},
            patch.taints,
            tuple(sorted(lost)),
        )
        attributes |= patch.attributes.keys()
        capacity |= patch.capacity.keys()
