"""Claims to devices: the structured allocator as a library, and the scheduler process around it.

Node, slices, classes, claims and what is already allocated go in; an AllocationResult per claim, or the reason why
there is none, comes out. The semantics are those of ``k8s.io/dynamic-resource-allocation/structured`` 0.37.1.

The public names are those below. Each is imported when it is first used, so that commands start fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from drakit_allocator.allocated import AllocatedState as AllocatedState
    from drakit_allocator.allocator import PodAllocation as PodAllocation
    from drakit_allocator.allocator import Solution as Solution
    from drakit_allocator.allocator import allocate as allocate
    from drakit_allocator.defects import Defect as Defect
    from drakit_allocator.errors import AllocationAborted as AllocationAborted
    from drakit_allocator.errors import AllocationError as AllocationError
    from drakit_allocator.explanation import Explanation as Explanation
    from drakit_allocator.explanation import Inventory as Inventory
    from drakit_allocator.explanation import explain as explain
    from drakit_allocator.explanation import explanation_json as explanation_json
    from drakit_allocator.explanation import explanation_text as explanation_text
    from drakit_allocator.features import Features as Features
    from drakit_allocator.nodes import Node as Node
    from drakit_allocator.snapshot import Snapshot as Snapshot
    from drakit_api.features import FeatureGates as FeatureGates
    from drakit_api.objects.defaults import defaulted as defaulted

_HOMES = {
    "AllocatedState": "drakit_allocator.allocated",
    "AllocationAborted": "drakit_allocator.errors",
    "AllocationError": "drakit_allocator.errors",
    "Defect": "drakit_allocator.defects",
    "Explanation": "drakit_allocator.explanation",
    "FeatureGates": "drakit_api.features",
    "Features": "drakit_allocator.features",
    "Inventory": "drakit_allocator.explanation",
    "Node": "drakit_allocator.nodes",
    "PodAllocation": "drakit_allocator.allocator",
    "Snapshot": "drakit_allocator.snapshot",
    "Solution": "drakit_allocator.allocator",
    "allocate": "drakit_allocator.allocator",
    "defaulted": "drakit_api.objects.defaults",
    "explain": "drakit_allocator.explanation",
    "explanation_json": "drakit_allocator.explanation",
    "explanation_text": "drakit_allocator.explanation",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; public are {', '.join(_HOMES)}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted((*globals(), *_HOMES))
