"""What you may import from drakit: everything else is private, and may move or change at any time.

Each name has its docstring where it is defined, and an example in ``docs/python.md``. A name is imported when it is
first used, so that ``import drakit`` costs nothing, in each pytest of an environment for example.
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
    from drakit_allocator.explanation.defect_effects import defect_effects as defect_effects
    from drakit_allocator.features import Features as Features
    from drakit_allocator.nodes import Node as Node
    from drakit_allocator.snapshot import Snapshot as Snapshot
    from drakit_api.features import FeatureGates as FeatureGates
    from drakit_api.layouts.pools import Pool as Pool
    from drakit_api.layouts.pools import PoolError as PoolError
    from drakit_api.layouts.slices import resource_slices as resource_slices
    from drakit_api.objects.defaults import defaulted as defaulted
    from drakit_client.errors import ApiError as ApiError
    from drakit_client.resources import DEVICE_CLASSES as DEVICE_CLASSES
    from drakit_client.resources import DEVICE_TAINT_RULES as DEVICE_TAINT_RULES
    from drakit_client.resources import NODES as NODES
    from drakit_client.resources import PODS as PODS
    from drakit_client.resources import RESOURCE_CLAIM_TEMPLATES as RESOURCE_CLAIM_TEMPLATES
    from drakit_client.resources import RESOURCE_CLAIMS as RESOURCE_CLAIMS
    from drakit_client.resources import RESOURCE_SLICE_PATCHES as RESOURCE_SLICE_PATCHES
    from drakit_client.resources import RESOURCE_SLICES as RESOURCE_SLICES
    from drakit_client.resources import Resource as Resource
    from drakit_driver.profiles.reading.layout_files import load_layout as load_layout
    from drakit_kind.cluster import ClusterError as ClusterError
    from drakit_kind.cluster import ClusterSpec as ClusterSpec
    from drakit_kind.cluster import Driver as Driver
    from drakit_kind.cluster import DriverSpec as DriverSpec
    from drakit_kind.clusters.api import Api as Api
    from drakit_kind.clusters.api import WaitTimeout as WaitTimeout
    from drakit_kind.clusters.lifecycle import Cluster as Cluster
    from drakit_kind.clusters.manifests import claim as claim
    from drakit_kind.clusters.manifests import claim_template as claim_template
    from drakit_kind.clusters.manifests import deployment as deployment
    from drakit_kind.clusters.manifests import device_class as device_class
    from drakit_kind.clusters.manifests import first_available as first_available
    from drakit_kind.clusters.manifests import pod as pod
    from drakit_kind.clusters.manifests import pod_spec as pod_spec
    from drakit_kind.clusters.manifests import request as request
    from drakit_kind.clusters.manifests import subrequest as subrequest
    from drakit_kind.local.temporary_cluster import temporary_cluster as temporary_cluster

_HOMES = {
    # Clusters of tests
    "Api": "drakit_kind.clusters.api",
    "ApiError": "drakit_client.errors",
    "Cluster": "drakit_kind.clusters.lifecycle",
    "ClusterError": "drakit_kind.cluster",
    "ClusterSpec": "drakit_kind.cluster",
    "Driver": "drakit_kind.cluster",
    "DriverSpec": "drakit_kind.cluster",
    "WaitTimeout": "drakit_kind.clusters.api",
    "temporary_cluster": "drakit_kind.local.temporary_cluster",
    # Kinds of objects, for Api
    "DEVICE_CLASSES": "drakit_client.resources",
    "DEVICE_TAINT_RULES": "drakit_client.resources",
    "NODES": "drakit_client.resources",
    "PODS": "drakit_client.resources",
    "RESOURCE_CLAIMS": "drakit_client.resources",
    "RESOURCE_CLAIM_TEMPLATES": "drakit_client.resources",
    "RESOURCE_SLICES": "drakit_client.resources",
    "RESOURCE_SLICE_PATCHES": "drakit_client.resources",
    "Resource": "drakit_client.resources",
    # Objects in their shortest complete form
    "claim": "drakit_kind.clusters.manifests",
    "claim_template": "drakit_kind.clusters.manifests",
    "deployment": "drakit_kind.clusters.manifests",
    "device_class": "drakit_kind.clusters.manifests",
    "first_available": "drakit_kind.clusters.manifests",
    "pod": "drakit_kind.clusters.manifests",
    "pod_spec": "drakit_kind.clusters.manifests",
    "request": "drakit_kind.clusters.manifests",
    "subrequest": "drakit_kind.clusters.manifests",
    # Layouts
    "Pool": "drakit_api.layouts.pools",
    "PoolError": "drakit_api.layouts.pools",
    "load_layout": "drakit_driver.profiles.reading.layout_files",
    "resource_slices": "drakit_api.layouts.slices",
    # The allocator
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
    "defect_effects": "drakit_allocator.explanation.defect_effects",
    "defaulted": "drakit_api.objects.defaults",
    "explain": "drakit_allocator.explanation",
    "explanation_json": "drakit_allocator.explanation",
    "explanation_text": "drakit_allocator.explanation",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; public are {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted((*globals(), *_HOMES))
