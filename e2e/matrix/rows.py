"""The rows: data only. A story is named after what happens in it; what the phases are is said here.

Where the name of a row ends with a version, all components are of that version: Kubernetes' own, or ours behaving like
that minor version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from drakit_api.features import PATCHES_GATE
from drakit_kind.cluster import Component
from e2e.matrix import (
    binding_conditions,
    compatibility_groups,
    consumable_capacity,
    derived_attributes,
    device_taints,
    fractional_capacity,
    list_attributes,
    mixins,
    node_allocatable,
    older_gates,
    optional_operations,
    partitionable,
    pool_status,
    prioritized_list,
    refusals,
    resource_health,
    skew,
    slice_patches,
    workload_claims,
)
from e2e.matrix.phases import back, in_the_scheduler, in_the_server, off, rollout, to
from e2e.matrix.row import Change, NotYet, Phase, Row
from e2e.matrix.rule_followers import ByTheControllers, ByTheScheduler, RuleFollower


def _at(version: str, row: Row) -> Row:
    return replace(row, name=f"{row.name}-{version}", version=version)


def _emulating(version: str, row: Row) -> Row:
    return replace(row, name=f"{row.name}-emulating-{version}", emulated_version=version)


_PRIORITIZED_LIST = Row(
    name="prioritized-list",
    feature="DRAPrioritizedList",
    source="KEP-4816 (seeds 000, 001), Were upgrade and rollback tested?",
    story=prioritized_list.rollout,
    gates={"DRAPrioritizedList": True},
    phases=[
        Phase(name="on"),
        Phase(name="scheduler off", changes=off("scheduler", gates=["DRAPrioritizedList"])),
        Phase(
            name="API server and controllers off too",
            changes=off("apiserver", "controllers", gates=["DRAPrioritizedList"]),
        ),
        Phase(name="scheduler on", changes=back("scheduler")),
        Phase(name="all on again", changes=back("apiserver", "controllers")),
    ],
)
_PARTITIONABLE = Row(
    name="partitionable-devices",
    feature="DRAPartitionableDevices",
    source="KEP-4815 (seed 004), Feature Enablement and Rollback",
    story=partitionable.rollout,
    gates={"DRAPartitionableDevices": True},
    phases=rollout("DRAPartitionableDevices"),
)
_NOT_SERVED = "the server could not find the requested resource"
_BOTH_TAINT_GATES = ("DRADeviceTaints", "DRADeviceTaintRules")
_TAINTS = Row(
    name="device-taints",
    feature="DRADeviceTaints",
    source="KEP-5055, Feature Enablement and Rollback",
    story=device_taints.rollout,
    phases=rollout(*_BOTH_TAINT_GATES, controllers=True),
)
_TAINT_RULES = replace(
    _TAINTS,
    name="device-taint-rules",
    feature="DRADeviceTaintRules",
    story=device_taints.rules,
    phases=in_the_scheduler("DRADeviceTaintRules"),
)
_EVICTION = replace(
    _TAINTS,
    name="device-taint-eviction",
    feature="DRADeviceTaintRules",
    story=device_taints.eviction,
    phases=[
        Phase(name="on"),
        Phase(name="rules off in the controllers", changes=off("controllers", gates=["DRADeviceTaintRules"])),
        Phase(name="all taints off there", changes=off("controllers", gates=_BOTH_TAINT_GATES)),
        Phase(name="on again", changes=back("controllers")),
    ],
)
# Of a version that has no rules by default.
_SLICE_EVICTION = replace(
    _TAINTS,
    name="device-taint-eviction",
    story=device_taints.eviction_by_slices,
    phases=[
        Phase(name="on"),
        Phase(name="controllers off", changes=off("controllers", gates=["DRADeviceTaints"])),
        Phase(name="on again", changes=back("controllers")),
    ],
)
_CONSUMABLE_CAPACITY = Row(
    name="consumable-capacity",
    feature="DRAConsumableCapacity",
    source="KEP-5075, Feature Enablement and Rollback",
    story=consumable_capacity.rollout,
    gates={"DRAConsumableCapacity": True},
    phases=rollout("DRAConsumableCapacity"),
)
_BINDING_CONDITIONS = replace(
    _CONSUMABLE_CAPACITY,
    name="binding-conditions",
    feature="DRADeviceBindingConditions",
    source="KEP-5007, Feature Enablement and Rollback",
    story=binding_conditions.rollout,
    gates={"DRADeviceBindingConditions": True},
    phases=rollout("DRADeviceBindingConditions"),
)
_BINDING_RESTART = replace(
    _BINDING_CONDITIONS,
    name="binding-conditions-restart",
    source="KEP-5007, scheduler restarts",
    story=binding_conditions.restart,
    phases=[Phase(name="waiting"), Phase(name="scheduler restarted", changes=back("scheduler"))],
)
_GROUPS = Row(
    name="compatibility-groups",
    feature="DRADeviceCompatibilityGroups",
    source="KEP-5963",
    story=compatibility_groups.rollout,
    gates={"DRADeviceCompatibilityGroups": True},
    phases=rollout("DRADeviceCompatibilityGroups"),
)
_LISTS = Row(
    name="list-attributes",
    feature="DRAListTypeAttributes",
    source="KEP-5491",
    story=list_attributes.rollout,
    gates={"DRAListTypeAttributes": True},
    phases=rollout("DRAListTypeAttributes"),
)
_DERIVED = Row(
    name="derived-attributes",
    feature="DRADerivedAttributes",
    source="KEP-6080",
    story=derived_attributes.rollout,
    gates={"DRADerivedAttributes": True},
    phases=rollout("DRADerivedAttributes"),
)
_OPTIONAL_OPERATIONS = Row(
    name="optional-operations",
    feature="DRAOptionalNodeOperations",
    source="KEP-5945",
    story=optional_operations.rollout,
    gates={"DRAOptionalNodeOperations": True},
    phases=[
        Phase(name="on"),
        Phase(name="scheduler off", changes=off("scheduler", gates=["DRAOptionalNodeOperations"])),
        Phase(
            name="kubelet off, scheduler on",
            changes=[*off("kubelet", gates=["DRAOptionalNodeOperations"]), *back("scheduler")],
        ),
        Phase(
            name="API server and scheduler off too, slices wiped",
            changes=off("scheduler", "apiserver", "kubelet", gates=["DRAOptionalNodeOperations"]),
        ),
        Phase(name="all on again", changes=back("apiserver", "scheduler", "kubelet")),
    ],
)
_NODE_ALLOCATABLE = Row(
    name="node-allocatable",
    feature="DRANodeAllocatableResources",
    source="KEP-5517",
    story=node_allocatable.rollout,
    gates={"DRANodeAllocatableResources": True},
    phases=rollout("DRANodeAllocatableResources"),
    not_yet=NotYet(
        reason="the scheduler does not count what devices take of their node",
        phase="on",
        message="of the claims of pod first, none is counted",
    ),
)
_PARTITION_TYPES = Row(
    name="partition-types",
    feature="DRAPartitionableDevicesType",
    source="KEP-5677",
    story=pool_status.partition_types,
    gates={"DRAPartitionableDevicesType": True, "DRAResourcePoolStatus": True},
    phases=[
        Phase(name="on"),
        Phase(
            name="API server off, slices wiped",
            changes=[*off("apiserver", gates=["DRAPartitionableDevicesType"]), *back("kubelet")],
        ),
        Phase(name="on again", changes=back("apiserver")),
    ],
)
_POOL_STATUS = Row(
    name="pool-status",
    feature="DRAResourcePoolStatus",
    source="KEP-5677",
    story=pool_status.rollout,
    gates={"DRAPartitionableDevicesType": True, "DRAResourcePoolStatus": True},
    runtime_config={"resource.k8s.io/v1alpha3": "true"},
    phases=[
        Phase(name="on"),
        Phase(
            name="controllers off",
            changes=off("controllers", gates=["DRAPartitionableDevicesType", "DRAResourcePoolStatus"]),
        ),
        Phase(name="on again", changes=back("controllers")),
    ],
    not_yet=NotYet(
        reason="no controller answers ResourcePoolStatusRequests",
        phase="on",
        message="nothing acts on it: no controller",
    ),
)


_ADMIN_ACCESS = Row(
    name="admin-access",
    feature="DRAAdminAccess",
    source="KEP-5018",
    story=older_gates.admin_access,
    gates={"DRAAdminAccess": True},
    phases=[
        Phase(name="on"),
        Phase(name="scheduler off", changes=off("scheduler", gates=["DRAAdminAccess"])),
        Phase(
            name="API server off, scheduler on",
            changes=[*off("apiserver", gates=["DRAAdminAccess"]), *back("scheduler")],
        ),
        Phase(name="on again", changes=back("apiserver")),
    ],
)
_DEVICE_STATUS = Row(
    name="device-status",
    feature="DRAResourceClaimDeviceStatus",
    source="KEP-4817",
    story=older_gates.device_status,
    gates={"DRAResourceClaimDeviceStatus": True},
    # The others depend on it.
    phases=in_the_server(
        "DRAResourceClaimDeviceStatus", "DRADeviceBindingConditions", "DRAResourceClaimGranularStatusAuthorization"
    ),
)
_EXTENDED_RESOURCE = Row(
    name="extended-resource",
    feature="DRAExtendedResource",
    source="KEP-5004, and the feature gate cycle of Kubernetes' test/e2e_dra",
    story=older_gates.extended_resource,
    gates={"DRAExtendedResource": True},
    phases=in_the_server("DRAExtendedResource", others=["controllers", "scheduler", "kubelet"]),
    not_yet=NotYet(
        reason="the scheduler does not back extended resources with devices",
        phase="on",
        message="nodes are available: 1 Insufficient example.com/older",
    ),
)
_WORKLOAD_CLAIMS = Row(
    name="workload-claims",
    feature="DRAWorkloadResourceClaims",
    source="KEP-5729, and the feature gate cycle of Kubernetes' test/e2e_dra",
    story=workload_claims.rollout,
    gates={"GenericWorkload": True, "DRAWorkloadResourceClaims": True},
    runtime_config={"scheduling.k8s.io/v1beta1": "true"},
    phases=in_the_server("DRAWorkloadResourceClaims", others=["controllers", "scheduler", "kubelet"]),
    containers=True,  # of the kubelets, only the real one knows pod groups
    not_yet=NotYet(reason="PodGroups are not served", phase="on", message=_NOT_SERVED),
)
_FRACTIONAL_CAPACITY = Row(
    name="fractional-capacity",
    feature="DRAFractionalCapacityRange",
    source="KEP-5075",
    story=fractional_capacity.rollout,
    gates={"DRAFractionalCapacityRange": True},
    phases=[
        Phase(name="on"),
        Phase(name="scheduler off", changes=off("scheduler", gates=["DRAFractionalCapacityRange"])),
        Phase(name="API server off too", changes=off("apiserver", gates=["DRAFractionalCapacityRange"])),
        Phase(name="all on again", changes=back("apiserver", "scheduler")),
    ],
)
_LOCKED_GATES = Row(
    name="locked-gates",
    feature="Feature gates",
    source="Kubernetes, component-base/featuregate",
    story=refusals.locked,
    phases=[Phase(name="as started; each component of the control plane is asked to restart with each gate")],
)
_NEWER_GATES = replace(_LOCKED_GATES, name="newer-gates", story=refusals.newer)
_HEALTH_GATES = ("ResourceHealthStatus", "ResourceHealthStatusMessage")
_RESOURCE_HEALTH = Row(
    name="resource-health",
    feature="ResourceHealthStatus",
    source="KEP-4680",
    story=resource_health.rollout,
    phases=[
        Phase(name="on"),
        Phase(name="API server off", changes=off("apiserver", gates=_HEALTH_GATES)),
        Phase(name="kubelet off, API server on", changes=[*off("kubelet", gates=_HEALTH_GATES), *back("apiserver")]),
        Phase(name="all on again", changes=back("kubelet")),
    ],
    containers=True,
)
_MIXINS = Row(
    name="mixins",
    feature="DRAResourceSliceMixins",
    source="KEP-4815's alpha text (seed 004), KEP-5234",
    story=mixins.rollout,
    gates={"DRAResourceSliceMixins": True},
    phases=rollout("DRAResourceSliceMixins"),
    own_gate=True,
)
_FLATTENED_MIXINS = replace(
    _MIXINS,
    name="mixins-flattened",
    story=mixins.flattened,
    gates={},
    phases=[Phase(name="first"), Phase(name="slices wiped", changes=back("kubelet"))],
    own_gate=False,
)
_PATCHES = Row(
    name="slice-patches",
    feature=PATCHES_GATE,
    source="KEP-5027's first text (seed 002), Feature Enablement and Rollback",
    story=slice_patches.rollout,
    gates={PATCHES_GATE: True},
    phases=rollout(PATCHES_GATE),
    own_gate=True,
)
_KNOWS_PATCHES = [Change(component="scheduler", gates={PATCHES_GATE: True})]
# A real API server does not know the gate and keeps all fields: the scheduler decides alone.
_PATCHES_IN_THE_SCHEDULER = replace(
    _PATCHES,
    name="slice-patches-in-the-scheduler",
    story=slice_patches.in_the_scheduler,
    gates={PATCHES_GATE: True, "DRADeviceTaints": True},
    phases=in_the_scheduler(PATCHES_GATE),
    ours=frozenset({"scheduler"}),
)
_PATCH_SKEW = replace(
    _PATCHES_IN_THE_SCHEDULER,
    name="slice-patches-unknown-to-the-scheduler",
    source="KEP-5027's first text (seed 002), Version Skew Strategy",
    story=slice_patches.unknown_to_the_scheduler,
    gates={"DRADeviceTaints": True},
    phases=[
        Phase(name="kind installed, scheduler does not know it"),
        Phase(name="scheduler knows it", changes=_KNOWS_PATCHES),
        Phase(name="scheduler does not know it again", changes=back("scheduler")),
    ],
)
_PATCHES_NOT_INSTALLED = replace(
    _PATCH_SKEW,
    name="slice-patches-not-installed",
    story=slice_patches.not_installed,
    phases=[
        Phase(name="scheduler does not know the kind"),
        Phase(name="scheduler knows it; installed, removed, installed again", changes=_KNOWS_PATCHES),
    ],
)


def _steps(
    name: str,
    source: str,
    phases: Sequence[Phase],
    *,
    plugin_versions: Sequence[str] = (),
    follower: type[RuleFollower] | None = None,
    **options: Any,
) -> Row:
    story = partial(skew.steps, phases=len(phases), plugin_versions=plugin_versions, follower=follower)
    return Row(name=name, feature="Version skew", source=source, story=story, phases=phases, **options)


_SKEW_POLICY = "Kubernetes, version skew policy"
_KUBELET_SKEW = [
    _steps(
        f"kubelet-{older}",
        f"{_SKEW_POLICY}: a kubelet may be {distance} older than kube-apiserver",
        [
            Phase(name=f"kubelet {older}"),
            Phase(name="kubelet 1.37.1", changes=to("1.37.1", "kubelet")),
            Phase(name=f"kubelet {older} again", changes=to(older, "kubelet")),
        ],
        versions={"kubelet": older},
        containers=True,
    )
    for older, distance in (("1.36.3", "one minor version"), ("1.34.3", "three minor versions"))
]
_OLDER_BY_ONE: tuple[tuple[Component, str, type[RuleFollower]], ...] = (
    ("scheduler", "kube-scheduler", ByTheScheduler),
    ("controllers", "kube-controller-manager", ByTheControllers),
)
_CONTROL_PLANE_SKEW = [
    _steps(
        f"{component}-1.36.3",
        f"{_SKEW_POLICY}: {program} may be one minor version older than kube-apiserver; KEP-4815 (seed 004)",
        [
            Phase(name=f"{component} 1.36.3"),
            Phase(name=f"{component} 1.37.1", changes=to("1.37.1", component)),
            Phase(name=f"{component} 1.36.3 again", changes=to("1.36.3", component)),
        ],
        versions={component: "1.36.3"},
        follower=follower,
    )
    for component, program, follower in _OLDER_BY_ONE
]
_UPGRADE = _steps(
    "upgrade-1.36.3-1.37.1",
    "Kubernetes' test/e2e_dra, upgrade and downgrade",
    [
        Phase(name="1.36.3"),
        Phase(name="control plane 1.37.1", changes=to("1.37.1", "apiserver", "controllers", "scheduler")),
        Phase(name="kubelet 1.37.1", changes=to("1.37.1", "kubelet")),
        Phase(name="kubelet 1.36.3", changes=to("1.36.3", "kubelet")),
        Phase(name="control plane 1.36.3", changes=to("1.36.3", "scheduler", "controllers", "apiserver")),
    ],
    version="1.36.3",
    containers=True,
)
_DRIVERS = [
    _steps(
        f"driver-{version}-only",
        "KEP-4381, the kubelet's plugin protocol",
        [
            Phase(name="kubelet 1.34.3"),
            *(
                Phase(name=f"kubelet {kubelet}", changes=to(kubelet, "kubelet"))
                for kubelet in ("1.35.4", "1.36.3", "1.37.1")
            ),
        ],
        plugin_versions=[version],
        versions={"kubelet": "1.34.3"},
        containers=True,
    )
    for version in ("v1", "v1beta1")
]

ROWS: list[Row] = [
    _emulating("1.36", _PRIORITIZED_LIST),
    *(_at(version, _PRIORITIZED_LIST) for version in ("1.36.3", "1.35.4", "1.34.3")),
    *(_at(version, _PARTITIONABLE) for version in ("1.37.1", "1.36.3", "1.35.4", "1.34.3")),
    *(_at(version, _TAINTS) for version in ("1.37.1", "1.36.3")),
    _at("1.36.3", _SLICE_EVICTION),
    _at("1.37.1", _TAINT_RULES),
    _at("1.37.1", _EVICTION),
    *(_at(version, _CONSUMABLE_CAPACITY) for version in ("1.37.1", "1.36.3")),
    *(_at(version, _BINDING_CONDITIONS) for version in ("1.37.1", "1.36.3")),
    _at("1.37.1", _BINDING_RESTART),
    *(_at("1.37.1", row) for row in (_GROUPS, _LISTS, _DERIVED, _OPTIONAL_OPERATIONS)),
    *(_at("1.37.1", row) for row in (_NODE_ALLOCATABLE, _PARTITION_TYPES, _POOL_STATUS)),
    *(_at("1.37.1", row) for row in (_WORKLOAD_CLAIMS, _FRACTIONAL_CAPACITY, _LOCKED_GATES)),
    _emulating("1.36", _NEWER_GATES),
    _emulating("1.35", _ADMIN_ACCESS),
    _emulating("1.36", _DEVICE_STATUS),
    _emulating("1.36", _EXTENDED_RESOURCE),
    _at("1.37.1", _RESOURCE_HEALTH),
    _at("1.37.1", _MIXINS),
    _at("1.37.1", _FLATTENED_MIXINS),
    *(_at(version, _PATCHES) for version in ("1.37.1", "1.34.3")),
    *(_at(version, _PATCHES_IN_THE_SCHEDULER) for version in ("1.37.1", "1.34.3")),
    *(_at("1.37.1", row) for row in (_PATCH_SKEW, _PATCHES_NOT_INSTALLED)),
    *_KUBELET_SKEW,
    *_CONTROL_PLANE_SKEW,
    *_DRIVERS,
    _UPGRADE,
]
