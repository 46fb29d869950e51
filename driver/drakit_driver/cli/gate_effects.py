"""What an API server makes of slices whose features are off there.

Fields of a feature that is off are dropped without a word, and what is left may mean something else, or be refused.
Who asks for the slices of an older Kubernetes should hear of that before they are published.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from copy import deepcopy
from typing import TYPE_CHECKING

from drakit_api.kubernetes_objects import Object
from drakit_api.objects.gated_fields import drop_slice_fields
from drakit_driver.publishing.slice_comparison import canonical, dropped_fields, suspected_gates

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates

_COUNTERS = "spec.devices[].consumesCounters"


def gate_effects(slices: Iterable[Object], gates: FeatureGates) -> tuple[list[str], list[str]]:
    """List what is dropped of the slices (v1), one line for each gate; and what of the rest is refused.

    Only slices that lose something are judged: whole ones are known to be valid.
    """
    dropped: dict[str, set[str]] = defaultdict(set)
    refused: dict[str, None] = {}
    for each in slices:
        left = deepcopy(each)
        drop_slice_fields(left, None, gates)
        if left == each:
            continue
        lost = [field.partition(" ")[0] for field in dropped_fields(canonical(each["spec"]), canonical(left["spec"]))]
        for field in lost:
            for gate in suspected_gates([field]):
                dropped[gate].add(field)
        refused |= dict.fromkeys(_refusals(left, gates))
    effects = [_effect(gate, fields, stored=not refused) for gate, fields in sorted(dropped.items())]
    return effects, list(refused)


def _effect(gate: str, fields: set[str], *, stored: bool) -> str:
    then = ": partitions are allocated side by side" if stored and _COUNTERS in fields else ""
    return f"{gate} is off in this Kubernetes, the API server drops {', '.join(sorted(fields))}{then}"


def _refusals(left: Object, gates: FeatureGates) -> list[str]:
    # Imported here, as it takes long and is needed for old versions only.
    from drakit_api.validation import validate_create

    named = {**left, "metadata": {"name": "slice"}}
    return [
        f"the API server refuses what is left: {error}" for error in validate_create("resourceslices", named, gates)
    ]
