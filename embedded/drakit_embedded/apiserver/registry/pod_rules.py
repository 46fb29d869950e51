"""What makes a pod's spec valid: the parts of ValidatePodSpec that matter to a scheduler and to claims.

After ValidatePodSpec and below in k8s.io/kubernetes/pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from drakit_api.quantity import Quantity
from drakit_api.validation import names
from drakit_api.validation.errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from drakit_api.validation.metadata import label_map
from drakit_embedded.apiserver.registry.affinity_rules import affinity
from drakit_embedded.apiserver.registry.strategy import Object

Errors = Iterator[FieldError]
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_SOURCES = {"resourceClaimName": "ResourceClaimName", "resourceClaimTemplateName": "ResourceClaimTemplateName"}
# ValidatePodUpdate: all that may change in the spec of a pod.
_MUTABLE = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates")
_IMMUTABLE_SPEC = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def spec_errors(spec: Object, path: str, claimed_volumes: Iterable[str] = ()) -> Errors:
    """A pod's spec, or that of a template; ``claimed_volumes`` are those that a stateful set adds to it."""
    yield from _claims(spec.get("resourceClaims") or [], f"{path}.resourceClaims")
    claims = sorted({claim["name"] for claim in spec.get("resourceClaims") or () if claim.get("name")})
    if not spec.get("containers"):
        yield required(f"{path}.containers")
    volumes = {volume.get("name") or "" for volume in spec.get("volumes") or ()} | {*claimed_volumes}
    seen: set[str] = set()
    for key in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(key) or []):
            at = f"{path}.{key}[{index}]"
            yield from _container(container, at, seen)
            yield from _ports(container.get("ports") or [], f"{at}.ports")
            yield from _mounts(container.get("volumeMounts") or [], f"{at}.volumeMounts", volumes)
            yield from _pull_policy(container.get("imagePullPolicy") or "", f"{at}.imagePullPolicy")
            yield from _resources(container.get("resources") or {}, f"{at}.resources", claims)
    policy = spec.get("restartPolicy") or ""
    if policy not in _RESTART_POLICIES:
        yield not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES)
    if spec.get("nodeName"):
        yield from names.dns_subdomain(spec["nodeName"], f"{path}.nodeName")
    yield from label_map(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    yield from _tolerations(spec.get("tolerations") or [], f"{path}.tolerations")
    yield from affinity(spec.get("affinity") or {}, f"{path}.affinity")
    yield from _spread(spec.get("topologySpreadConstraints") or [], f"{path}.topologySpreadConstraints")


def _claims(claims: list[Object], path: str) -> Errors:
    """validatePodResourceClaims."""
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at, name = f"{path}[{index}]", claim.get("name") or ""
        if not name:
            yield required(f"{at}.name")
        elif name in seen:
            yield duplicate(f"{at}.name", name)
        else:
            yield from names.dns_label(name, f"{at}.name")
        seen.add(name)
        yield from _claim_source(claim, at)


def _claim_source(claim: Object, path: str) -> Errors:
    """A claim or a template, exactly one."""
    given = [field for field in _SOURCES if claim.get(field) is not None]
    shown = {"Name": claim.get("name") or "", **{go: claim.get(field) for field, go in _SOURCES.items()}}
    if len(given) > 1:
        detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        yield invalid(path, shown, detail)
    elif not given:
        yield invalid(path, shown, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
    for field in given:
        yield from names.dns_subdomain(claim[field], f"{path}.{field}")


def _container(container: Object, path: str, seen: set[str]) -> Errors:
    name = container.get("name") or ""
    if not name:
        yield required(f"{path}.name")
    elif name in seen:
        yield duplicate(f"{path}.name", name)
    else:
        yield from names.dns_label(name, f"{path}.name")
    seen.add(name)
    if not container.get("image"):
        yield required(f"{path}.image")


def _ports(ports: list[Object], path: str) -> Errors:
    """validateContainerPorts, without what a name may look like."""
    seen: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"{path}[{index}]", port.get("name") or ""
        if name and name in seen:
            yield duplicate(f"{at}.name", name)
        seen.add(name)
        if not port.get("containerPort"):
            yield required(f"{at}.containerPort")
        for field in ("containerPort", "hostPort"):
            if (number := port.get(field)) and not 1 <= number <= 65535:
                yield invalid(f"{at}.{field}", number, "must be between 1 and 65535, inclusive")
        if port.get("protocol") not in _PROTOCOLS:
            yield not_supported(f"{at}.protocol", port.get("protocol") or "", _PROTOCOLS)


def _mounts(mounts: list[Object], path: str, volumes: set[str]) -> Errors:
    """ValidateVolumeMounts, without sub-paths and devices."""
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        at, name, target = f"{path}[{index}]", mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            yield required(f"{at}.name")
        if name not in volumes:
            yield not_found(f"{at}.name", name)
        if not target:
            yield required(f"{at}.mountPath")
        if target in seen:
            yield invalid(f"{at}.mountPath", target, "must be unique")
        seen.add(target)


def _pull_policy(policy: str, path: str) -> Errors:
    if policy not in _PULL_POLICIES:
        yield not_supported(path, policy, _PULL_POLICIES)


def _resources(resources: Object, path: str, claims: list[str]) -> Errors:
    """ValidateResourceRequirements: no request is above its limit."""
    limits = resources.get("limits") or {}
    for name, quantity in (resources.get("requests") or {}).items():
        if name in limits and Quantity.parse(limits[name]) < Quantity.parse(quantity):
            detail = f"must be less than or equal to {name} limit of {limits[name]}"
            yield invalid(f"{path}.requests", quantity, detail)
    yield from _references(resources.get("claims") or [], f"{path}.claims", claims)


def _tolerations(tolerations: list[Object], path: str) -> Errors:
    """ValidateTolerations, without the operators of alpha gates."""
    for index, toleration in enumerate(tolerations):
        at, operator = f"{path}[{index}]", toleration.get("operator") or ""
        value, effect = toleration.get("value") or "", toleration.get("effect") or ""
        if not toleration.get("key") and operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield invalid(f"{at}.operator", operator, detail)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            yield invalid(f"{at}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
        if operator == "Exists" and value:
            yield invalid(f"{at}.operator", value, "value must be empty when `operator` is 'Exists'")
        elif operator not in ("", "Equal", "Exists"):
            yield not_supported(f"{at}.operator", operator, ("Equal", "Exists"))
        if effect not in ("", *_EFFECTS):
            yield not_supported(f"{at}.effect", effect, _EFFECTS)


def _spread(constraints: list[Object], path: str) -> Errors:
    """ValidateTopologySpreadConstraints, for what a scheduler cannot do without."""
    for index, constraint in enumerate(constraints):
        skew, when = constraint.get("maxSkew") or 0, constraint.get("whenUnsatisfiable") or ""
        if skew <= 0:
            yield invalid(f"{path}[{index}].maxSkew", skew, "must be greater than zero")
        if not constraint.get("topologyKey"):
            yield required(f"{path}[{index}].topologyKey", "can not be empty")
        if when not in _ACTIONS:
            yield not_supported(f"{path}[{index}].whenUnsatisfiable", when, _ACTIONS)


def _references(references: list[Object], path: str, claims: list[str]) -> Errors:
    """validateResourceClaimNames: a container uses a claim once as a whole, or single requests of it."""
    used: set[tuple[str, str]] = set()
    known = f": {', '.join(claims)}" if claims else " which is empty"
    for index, reference in enumerate(references):
        at, name, request = f"{path}[{index}]", reference.get("name") or "", reference.get("request") or ""
        if not name:
            yield required(at)
            continue
        if (name, "") in used:
            yield duplicate(at, name)
        else:
            if request:
                yield from names.dns_label(request, f"{at}.request")
            if (name, request) in used:
                yield duplicate(at, f"{name}/{request}")
            elif not request:
                yield from (duplicate(at, name) for other, _ in used if other == name)
            used.add((name, request))
        if name not in claims:
            yield not_found(at, name, f"must be one of the names in pod.spec.resourceClaims{known}")


def update_errors(new: Object, old: Object) -> Errors:
    """What may not change in the spec of a pod that exists."""
    for key in ("containers", "initContainers"):
        if len(new.get(key) or ()) != len(old.get(key) or ()):
            yield forbidden(f"spec.{key}", "pod updates may not add or remove containers")
            return
    if _frozen(new) != _frozen(old):
        yield forbidden("spec", _IMMUTABLE_SPEC)


def _frozen(spec: Object) -> dict[str, Any]:
    kept = {key: value for key, value in spec.items() if key not in _MUTABLE}
    for key in ("containers", "initContainers"):
        if key in kept:
            kept[key] = [{**container, "image": None} for container in kept[key] or []]
    return kept
