"""Claims, slices, devices and metadata as JSON has them, field by field, so that a type checker knows their names.

Fields are those of ``resource.k8s.io/v1`` and ``meta/v1``, and classes are called as in Go. A field that Go leaves out
when it is empty, or that clients may leave out, may be missing; quantities and times are texts. What is read may have
more fields than are known here, and is written back with them: at run time, all of these are plain dicts.

An object whose kind is known only when the program runs is an ``Object`` (``kubernetes_objects``).
"""

from typing import NotRequired, TypedDict, cast

from drakit_api.kubernetes_objects import Object, ReadOnlyObject


class OwnerReference(TypedDict):
    """Who an object belongs to."""

    apiVersion: str
    kind: str
    name: str
    uid: str
    controller: NotRequired[bool]
    blockOwnerDeletion: NotRequired[bool]


class ObjectMeta(TypedDict, total=False):
    """What every object says of itself; before it is created it may have no name yet."""

    name: str
    generateName: str
    namespace: str
    selfLink: str
    uid: str
    resourceVersion: str
    generation: int
    creationTimestamp: str
    deletionTimestamp: str
    deletionGracePeriodSeconds: int
    labels: dict[str, str]
    annotations: dict[str, str]
    ownerReferences: list[OwnerReference]
    finalizers: list[str]
    managedFields: list[Object]


class CELDeviceSelector(TypedDict):
    """An expression that is true for the devices that are wanted."""

    expression: str


class DeviceSelector(TypedDict, total=False):
    """A requirement on devices; each must meet all that its class and request have."""

    cel: CELDeviceSelector


class DeviceToleration(TypedDict, total=False):
    """Which taints of devices a request puts up with."""

    key: str
    operator: str
    value: str
    effect: str
    tolerationSeconds: int


class CapacityRequirements(TypedDict, total=False):
    """How much of a device's capacity is wanted, by name."""

    requests: dict[str, str]


class DeviceDerivedAttribute(TypedDict):
    """An attribute of a device that an expression computes."""

    name: str
    expression: str


class ExactDeviceRequest(TypedDict):
    """Devices of one class."""

    deviceClassName: str
    selectors: NotRequired[list[DeviceSelector]]
    allocationMode: NotRequired[str]
    count: NotRequired[int]
    adminAccess: NotRequired[bool]
    tolerations: NotRequired[list[DeviceToleration]]
    capacity: NotRequired[CapacityRequirements]
    derivedAttributes: NotRequired[list[DeviceDerivedAttribute]]


class DeviceSubRequest(TypedDict):
    """One alternative of a prioritized list."""

    name: str
    deviceClassName: str
    selectors: NotRequired[list[DeviceSelector]]
    allocationMode: NotRequired[str]
    count: NotRequired[int]
    tolerations: NotRequired[list[DeviceToleration]]
    capacity: NotRequired[CapacityRequirements]
    derivedAttributes: NotRequired[list[DeviceDerivedAttribute]]


class DeviceRequest(TypedDict):
    """Devices of one class, or the first of several alternatives."""

    name: str
    exactly: NotRequired[ExactDeviceRequest]
    firstAvailable: NotRequired[list[DeviceSubRequest]]


class DeviceConstraint(TypedDict, total=False):
    """What the devices of several requests must have, or must not have, in common."""

    requests: list[str]
    matchAttribute: str
    distinctAttribute: str


class OpaqueDeviceConfiguration(TypedDict):
    """Parameters that only the driver understands."""

    driver: str
    parameters: Object


class DeviceClaimConfiguration(TypedDict, total=False):
    """Parameters for the devices of some requests."""

    requests: list[str]
    opaque: OpaqueDeviceConfiguration


class DeviceClaim(TypedDict, total=False):
    """The requests of a claim, what their devices must have in common, and parameters for them."""

    requests: list[DeviceRequest]
    constraints: list[DeviceConstraint]
    config: list[DeviceClaimConfiguration]


class ResourceClaimSpec(TypedDict, total=False):
    """What a claim wants; it never changes."""

    devices: DeviceClaim


class DeviceRequestAllocationResult(TypedDict):
    """One device, or a share of it, that a request got."""

    request: str
    driver: str
    pool: str
    device: str
    adminAccess: NotRequired[bool]
    tolerations: NotRequired[list[DeviceToleration]]
    bindingConditions: NotRequired[list[str]]
    bindingFailureConditions: NotRequired[list[str]]
    shareID: NotRequired[str]
    consumedCapacity: NotRequired[dict[str, str]]
    skipNodeOperations: NotRequired[list[str]]


class DeviceAllocationConfiguration(TypedDict):
    """Parameters for allocated devices, and whether class or claim has them (``FromClass``, ``FromClaim``)."""

    source: str
    requests: NotRequired[list[str]]
    opaque: NotRequired[OpaqueDeviceConfiguration]


class DeviceAllocationResult(TypedDict, total=False):
    """The devices of an allocation, with their parameters."""

    results: list[DeviceRequestAllocationResult]
    config: list[DeviceAllocationConfiguration]


class NodeSelectorRequirement(TypedDict):
    """What a label or field of a node must be."""

    key: str
    operator: str
    values: NotRequired[list[str]]


class NodeSelectorTerm(TypedDict, total=False):
    """Requirements that a node must satisfy together."""

    matchExpressions: list[NodeSelectorRequirement]
    matchFields: list[NodeSelectorRequirement]


class NodeSelector(TypedDict):
    """Terms, of which a node must satisfy one."""

    nodeSelectorTerms: list[NodeSelectorTerm]


class AllocationResult(TypedDict, total=False):
    """What a claim got, and on which nodes it can be used."""

    devices: DeviceAllocationResult
    nodeSelector: NodeSelector
    allocationTimestamp: str


class ResourceClaimConsumerReference(TypedDict):
    """Who may use a claim."""

    apiGroup: NotRequired[str]
    resource: str
    name: str
    uid: str


class Condition(TypedDict):
    """One condition of a status."""

    type: str
    status: str
    observedGeneration: NotRequired[int]
    lastTransitionTime: str
    reason: str
    message: str


class NetworkDeviceData(TypedDict, total=False):
    """What a driver tells of a network device."""

    interfaceName: str
    ips: list[str]
    hardwareAddress: str


class AllocatedDeviceStatus(TypedDict):
    """What a driver tells of an allocated device."""

    driver: str
    pool: str
    device: str
    shareID: NotRequired[str]
    conditions: NotRequired[list[Condition]]
    data: NotRequired[Object]
    networkData: NotRequired[NetworkDeviceData]


class ResourceClaimStatus(TypedDict, total=False):
    """What a claim got, and who uses it."""

    allocation: AllocationResult
    reservedFor: list[ResourceClaimConsumerReference]
    devices: list[AllocatedDeviceStatus]


class ResourceClaim(TypedDict):
    """A claim to devices."""

    kind: NotRequired[str]
    apiVersion: NotRequired[str]
    metadata: ObjectMeta
    spec: ResourceClaimSpec
    status: NotRequired[ResourceClaimStatus]


class ResourcePool(TypedDict):
    """The pool that a slice is part of, at one generation of it."""

    name: str
    generation: int
    resourceSliceCount: int


# The functional form, as the names of two fields are those of types.
DeviceAttribute = TypedDict(  # noqa: UP013
    "DeviceAttribute",
    {
        "int": int,
        "bool": bool,
        "string": str,
        "version": str,
        "ints": list[int],
        "bools": list[bool],
        "strings": list[str],
        "versions": list[str],
    },
    total=False,
)
"""One property of a device, of one of these types."""


class CapacityRequestPolicyRange(TypedDict, total=False):
    """The amounts that may be consumed, from least to most in steps."""

    min: str
    max: str
    step: str


class CapacityRequestPolicy(TypedDict, total=False):
    """Which amounts of a capacity may be consumed."""

    default: str | None
    validValues: list[str]
    validRange: CapacityRequestPolicyRange


class DeviceCapacity(TypedDict):
    """How much a device has of something."""

    value: str
    requestPolicy: NotRequired[CapacityRequestPolicy]


class Counter(TypedDict):
    """An amount of something that devices share."""

    value: str


class DeviceCounterConsumption(TypedDict):
    """What a device draws from a counter set."""

    counterSet: str
    counters: NotRequired[dict[str, Counter]]
    compatibilityGroups: NotRequired[list[str]]


class DeviceTaint(TypedDict):
    """Why a device is not to be used, or no longer."""

    key: str
    value: NotRequired[str]
    effect: str
    timeAdded: NotRequired[str]


class NodeAllocatableMapping(TypedDict, total=False):
    """How a capacity of a device counts as a resource of its node."""

    capacityKey: str
    capacityMultiplier: str
    deviceMultiplier: str


class NodeAllocatableOverhead(TypedDict, total=False):
    """What a device takes of its node besides."""

    perPod: str
    perContainer: str


class NodeAllocatableResource(TypedDict, total=False):
    """What a device takes of a resource of its node."""

    mapping: NodeAllocatableMapping
    overhead: NodeAllocatableOverhead


class Device(TypedDict):
    """A device that a driver publishes."""

    name: str
    attributes: NotRequired[dict[str, DeviceAttribute]]
    capacity: NotRequired[dict[str, DeviceCapacity]]
    consumesCounters: NotRequired[list[DeviceCounterConsumption]]
    nodeName: NotRequired[str]
    nodeSelector: NotRequired[NodeSelector]
    allNodes: NotRequired[bool]
    taints: NotRequired[list[DeviceTaint]]
    bindsToNode: NotRequired[bool]
    bindingConditions: NotRequired[list[str]]
    bindingFailureConditions: NotRequired[list[str]]
    allowMultipleAllocations: NotRequired[bool]
    nodeAllocatableResources: NotRequired[dict[str, NodeAllocatableResource]]


class CounterSet(TypedDict):
    """Amounts that some devices of a pool share."""

    name: str
    counters: NotRequired[dict[str, Counter]]


class ResourceSliceSpec(TypedDict):
    """Some devices of a pool, or counter sets of it, and where they can be reached."""

    driver: str
    pool: ResourcePool
    nodeName: NotRequired[str]
    nodeSelector: NotRequired[NodeSelector]
    allNodes: NotRequired[bool]
    devices: NotRequired[list[Device]]
    perDeviceNodeSelection: NotRequired[bool]
    sharedCounters: NotRequired[list[CounterSet]]
    partitionTypeAttribute: NotRequired[str]
    skipNodeOperations: NotRequired[list[str]]


class ResourceSlice(TypedDict):
    """A part of a pool as its driver publishes it."""

    kind: NotRequired[str]
    apiVersion: NotRequired[str]
    metadata: ObjectMeta
    spec: ResourceSliceSpec


def as_claim(obj: ReadOnlyObject) -> ResourceClaim:
    """Take an object for a claim, where it was read as one."""
    return cast("ResourceClaim", obj)


def as_slice(obj: ReadOnlyObject) -> ResourceSlice:
    """Take an object for a slice, where it was read as one."""
    return cast("ResourceSlice", obj)
