"""What may be written into the status of a pod.

After ValidatePodStatusUpdate and below in k8s.io/kubernetes/pkg/apis/core/validation/validation.go, and the declared
rules of pkg/apis/core/v1/zz_generated.validations.go.
"""

from __future__ import annotations

import ipaddress

from drakit_api import formats
from drakit_api.core.containers import LASTING, containers_of
from drakit_api.core.pod_resources import is_of_pods
from drakit_api.kubernetes_objects import Object
from drakit_api.quantity import ZERO, Quantity
from drakit_api.validation import names
from drakit_api.validation.errors import (
    Errors,
    duplicate,
    forbidden,
    internal,
    invalid,
    invalid_constant,
    not_supported,
    required,
    too_long,
)
from drakit_embedded.apiserver.registry.podspec.network_rules import address
from drakit_embedded.apiserver.registry.podspec.pod_update_rules import annotation_changes

# Status fields that kubelets may not write, and their names in NodeRestriction's messages.
CLAIM_FIELDS = {
    "resourceClaimStatuses": "resource claim statues",
    "extendedResourceClaimStatus": "extended resource claim status",
    "nodeAllocatableResourceClaimStatuses": "node allocatable resource claim statuses",
}
# The lists of containers in the spec, and those of their statuses.
CONTAINER_STATUSES = {
    "containers": "containerStatuses",
    "initContainers": "initContainerStatuses",
    "ephemeralContainers": "ephemeralContainerStatuses",
}
_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_HEALTH = ("Healthy", "Unhealthy", "Unknown")
_LONGEST_MESSAGE = 1024
_HIGHEST_USER, _HIGHEST_GROUP = 2**32 - 1, 2**31 - 1
_NO_CLAIM = (
    "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when "
    "container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"
)
_NO_REQUEST = (
    "must match the extended resource name of an entry in "
    "spec.initContainers.resources.requests or spec.containers.resources.requests"
)
_NO_CONTAINER = "must match the name of an entry in spec.initContainers.name or spec.containers.name"


def status_errors(new: Object, old: Object) -> Errors:
    """Validate a pod whose status was written, but for the metadata that all kinds have."""
    spec, status, was = new.get("spec") or {}, new.get("status") or {}, old.get("status") or {}
    yield from annotation_changes(new, old)
    yield from _conditions(status.get("conditions") or [])
    yield from _nominated(status.get("nominatedNodeName") or "", was.get("nominatedNodeName") or "", spec)
    if (status.get("observedGeneration") or 0) < 0:
        yield invalid("status.observedGeneration", status["observedGeneration"], "must be a non-negative integer")
    if (quality := status.get("qosClass")) != was.get("qosClass"):
        yield invalid_constant("status.qosClass", quality, "field is immutable")
    yield from _transitions(spec, status, was)
    yield from _claims(status.get("resourceClaimStatuses") or [], spec)
    if (extended := status.get("extendedResourceClaimStatus")) is not None:
        yield from _extended(extended, spec)
    yield from _allocatable(status, spec)
    yield from _addresses(status, was)
    for sort, field in CONTAINER_STATUSES.items():
        for index, each in enumerate(status.get(field) or ()):
            at = f"status.{field}[{index}]"
            yield from _user(each.get("user") or {}, f"{at}.user", spec)
            yield from _devices(each, at, sort, spec, status)


def _conditions(conditions: list[Object]) -> Errors:
    for index, condition in enumerate(conditions):
        at, generation = f"status.conditions[{index}]", condition.get("observedGeneration") or 0
        if generation < 0:
            yield invalid(f"{at}.observedGeneration", generation, "must be a non-negative integer")
        if condition.get("type") not in _SYSTEM_CONDITIONS:
            yield from names.label_key(condition.get("type") or "", f"{at}.Type")


def _nominated(node: str, was: str, spec: Object) -> Errors:
    if not node or node == was:
        return
    path = "status.nominatedNodeName"
    yield from names.dns_subdomain(node, path)
    if spec.get("nodeName"):
        yield forbidden(path, "may not be set on pods that are already bound to a node")


def _transitions(spec: Object, status: Object, was: Object) -> Errors:
    """Check that no container runs again that has terminated for good."""
    rules = [rule for container in containers_of(spec, LASTING) for rule in container.get("restartPolicyRules") or ()]
    all_restart = any(rule.get("action") == "RestartAllContainers" for rule in rules)
    for sort, field in CONTAINER_STATUSES.items():
        if all_restart and sort != "ephemeralContainers":
            continue
        states = {}
        for each in reversed(status.get(field) or ()):
            states[each.get("name")] = each.get("state") or {}
        for index, each in enumerate(was.get(field) or ()):
            ended, state = (each.get("state") or {}).get("terminated"), states.get(each.get("name"))
            if ended is None or state is None or state.get("terminated") is not None:
                continue
            if sort == "ephemeralContainers" or not _restarts(spec, sort, each, ended.get("exitCode") or 0):
                detail = "may not be transitioned to non-terminated state"
                yield forbidden(f"status.{field}[{index}].state", detail)


def _restarts(spec: Object, sort: str, status: Object, code: int) -> bool:
    """Check whether a container is restarted (ContainerShouldRestart of pkg/api/v1/pod/util.go)."""
    for container in spec.get(sort) or ():
        if container.get("name") == status.get("name"):
            policy = container.get("restartPolicy")
            if policy and any(_applies(rule, code) for rule in container.get("restartPolicyRules") or ()):
                return True
            policy = policy or spec.get("restartPolicy")
            return policy == "Always" or (policy == "OnFailure" and code != 0)
    return False


def _applies(rule: Object, code: int) -> bool:
    codes = rule.get("exitCodes") or {}
    among = code in (codes.get("values") or ())
    return among if codes.get("operator") == "In" else codes.get("operator") == "NotIn" and not among


def _claims(statuses: list[Object], spec: Object) -> Errors:
    """Validate ``resourceClaimStatuses`` (validatePodResourceClaimStatuses)."""
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for index, status in enumerate(statuses):
        at, name = f"status.resourceClaimStatuses[{index}]", status.get("name") or ""
        if name not in known:
            yield invalid(f"{at}.name", name, "must match the name of an entry in `spec.resourceClaims`")
        if name in seen:
            yield duplicate(f"{at}.name", name)
        seen.add(name)
        if (claim := status.get("resourceClaimName")) is not None:
            for problem in formats.dns_subdomain(claim, "characters"):
                yield invalid_constant(f"{at}.resourceClaimName", claim, problem)


def _extended(status: Object, spec: Object) -> Errors:
    """Validate ``extendedResourceClaimStatus`` (validatePodExtendedResourceClaimStatus)."""
    path = "status.extendedResourceClaimStatus"
    containers = {each["name"]: each for each in containers_of(spec, LASTING)}
    if not status.get("requestMappings"):
        yield required(f"{path}.requestMappings", "at least one request mapping is required")
    seen: list[tuple[str, ...]] = []
    for index, mapping in enumerate(status.get("requestMappings") or ()):
        at = f"{path}.requestMappings[{index}]"
        fields = ("containerName", "resourceName", "requestName")
        key = container, resource, request = tuple(mapping.get(field) or "" for field in fields)
        if container not in containers:
            yield invalid(f"{at}.containerName", container, _NO_CONTAINER)
        elif resource not in ((containers[container].get("resources") or {}).get("requests") or {}):
            yield invalid(f"{at}.resourceName", resource, _NO_REQUEST)
        yield from names.dns_label(request, f"{path}.requestName")
        if key in seen:
            yield from (duplicate(f"{at}.{field}", value) for field, value in zip(fields, key, strict=True))
        seen.append(key)
    claim = status.get("resourceClaimName") or ""
    at = f"{path}.resourceClaimName"
    yield from names.dns_subdomain(claim, at) if claim else [required(at)]


def _allocatable(status: Object, spec: Object) -> Errors:
    """Validate ``nodeAllocatableResourceClaimStatuses``, by hand-written and declarative rules."""
    path = "status.nodeAllocatableResourceClaimStatuses"
    claims = {
        claim.get("resourceClaimName")
        for claim in (*(spec.get("resourceClaims") or ()), *(status.get("resourceClaimStatuses") or ()))
    }
    seen: set[str] = set()
    for index, each in enumerate(status.get("nodeAllocatableResourceClaimStatuses") or ()):
        at, claim = f"{path}[{index}]", each.get("resourceClaimName") or ""
        if claim in seen:
            yield duplicate(at, each)
        seen.add(claim)
        if not claim:
            yield required(f"{at}.resourceClaimName")
            continue
        if claim not in claims:
            yield invalid(f"{at}.resourceClaimName", claim, "no mapping found in pod reference")
        yield from _unique(each, "containers", at)
        yield from _mapped(each, at)
        yield from _overhead(each, at)


def _unique(each: Object, field: str, path: str) -> Errors:
    items = each.get(field) or []
    for index, item in enumerate(items):
        if item in items[:index]:
            yield duplicate(f"{path}.{field}[{index}]", item)


def _mapped(each: Object, path: str) -> Errors:
    items = each.get("mapping") or []
    for index, item in enumerate(items):
        at = f"{path}.mapping[{index}]"
        yield from _resource(items, index, at)
        if item.get("quantity") is None:
            yield required(f"{at}.quantity")
        yield from _not_negative(item, "quantity", at)


def _overhead(each: Object, path: str) -> Errors:
    items = each.get("overhead") or []
    for index, item in enumerate(items):
        at = f"{path}.overhead[{index}]"
        yield from _resource(items, index, at)
        if item.get("perPod") is None and item.get("perContainer") is None:
            yield invalid(at, "", "at least one of perPod or perContainer must be set")
        yield from _not_negative(item, "perPod", at)
        yield from _not_negative(item, "perContainer", at)


def _resource(items: list[Object], index: int, path: str) -> Errors:
    """Check that a resource is one that nodes have themselves, and is listed once."""
    name = items[index].get("name") or ""
    if name in (item.get("name") for item in items[:index]):
        yield duplicate(path, items[index])
    if not name:
        yield required(f"{path}.name")
    if not is_of_pods(name):
        yield invalid_constant(f"{path}.name", name, "must be a node allocatable resource name")


def _not_negative(item: Object, field: str, path: str) -> Errors:
    if (amount := item.get(field)) is not None and Quantity.parse(amount) < ZERO:
        yield invalid(f"{path}.{field}", amount, "must be non-negative")


def _addresses(status: Object, was: Object) -> Errors:
    """Validate IPs (validatePodIPs, validateHostIPs); defaults have made ``podIP`` and ``podIPs`` agree."""
    for one, several in (("podIP", "podIPs"), ("hostIP", "hostIPs")):
        listed = [each.get("ip") or "" for each in status.get(several) or ()]
        before = {each.get("ip") or "" for each in was.get(several) or ()}
        if one == "hostIP" and listed and status.get(one, "") != listed[0]:
            yield invalid(f"status.{several}[0].ip", listed[0], f"must be equal to `{one}`")
        for index, text in enumerate(listed):
            if text not in before:
                yield from address(text, f"status.{several}[{index}]")
        if len(listed) > 1:
            yield from _of_both_families(listed, f"status.{several}")


def _of_both_families(listed: list[str], path: str) -> Errors:
    families = [_family(text) for text in listed]
    if None in families:
        wrong = families.index(None)
        yield internal(path, f"failed to check for dual stack with error:invalid IP[{wrong}]: {listed[wrong]}")
    if None in families or len(set(families)) < len(families):
        yield invalid(path, [{"IP": text} for text in listed], "may specify no more than one IP for each IP family")


def _family(text: str) -> int | None:
    try:
        return ipaddress.ip_address(text).version
    except ValueError:
        return None


def _user(user: Object, path: str, spec: Object) -> Errors:
    """Validate the user of a container (validateContainerStatusUsers)."""
    if (linux := user.get("linux")) is None:
        return
    at = f"{path}.linux"
    if (spec.get("os") or {}).get("name") == "windows":
        yield forbidden(at, "cannot be set for a windows pod")
        return
    yield from _identity(linux.get("uid") or 0, f"{at}.uid", _HIGHEST_USER)
    yield from _identity(linux.get("gid") or 0, f"{at}.gid", _HIGHEST_GROUP)
    for index, group in enumerate(linux.get("supplementalGroups") or ()):
        yield from _identity(group, f"{at}.supplementalGroups[{index}]", _HIGHEST_GROUP)


def _identity(number: int, path: str, highest: int) -> Errors:
    if not 0 <= number <= highest:
        yield invalid(path, number, f"must be between 0 and {highest}, inclusive")


def _devices(status: Object, path: str, sort: str, spec: Object, pod_status: Object) -> Errors:
    """Check the devices of a container's claims and resources (validateContainerStatusAllocatedResourcesStatus)."""
    allocated = status.get("allocatedResourcesStatus")
    if not allocated:
        return
    if sort == "ephemeralContainers":
        yield forbidden(f"{path}.allocatedResourcesStatus", "must not be specified in container status")
        return
    found = [container for container in spec.get(sort) or () if container.get("name") == status.get("name")]
    for index, each in enumerate(allocated):
        at, name = f"{path}.allocatedResourcesStatus[{index}]", each.get("name") or ""
        if found and not _asked_for(name, found[0], pod_status.get("extendedResourceClaimStatus") or {}):
            detail = _NO_CLAIM if name.startswith("claim:") else "must match one of the container's resource requests"
            yield invalid_constant(f"{at}.name", name, detail)
        yield from _health(each.get("resources") or [], f"{at}.resources")


def _asked_for(name: str, container: Object, extended: Object) -> bool:
    resources = container.get("resources") or {}
    requests = resources.get("requests") or {}
    if not name.startswith("claim:"):
        return name in requests
    claim, _, request = name.removeprefix("claim:").partition("/")
    claims = [f"{each.get('name')}/{each.get('request') or ''}".rstrip("/") for each in resources.get("claims") or ()]
    if name.removeprefix("claim:") in claims:
        return True
    if not claim or not request or claim != extended.get("resourceClaimName"):
        return False
    return any(
        mapping.get("containerName") == container.get("name")
        and mapping.get("requestName") == request
        and Quantity.parse(requests.get(mapping.get("resourceName"), "0")) != ZERO
        for mapping in extended.get("requestMappings") or ()
    )


def _health(resources: list[Object], path: str) -> Errors:
    seen: set[str] = set()
    for index, resource in enumerate(resources):
        at, device = f"{path}[{index}]", resource.get("resourceID") or ""
        if (health := resource.get("health") or "") not in _HEALTH:
            yield not_supported(f"{at}.health", health, _HEALTH)
        if (message := resource.get("message")) is not None:
            if not message:
                yield required(f"{at}.message", "must be non-empty if specified")
            elif len(message.encode()) > _LONGEST_MESSAGE:
                yield too_long(f"{at}.message", _LONGEST_MESSAGE)
        if device in seen:
            yield duplicate(f"{at}.resourceID", device)
        seen.add(device)
