"""What makes a pod valid, and the spec of a pod in a template.

After ValidatePodCreate and ValidatePodSpec in k8s.io/kubernetes/pkg/apis/core/validation/validation.go; each subject
has a module of its own, as those of ``containers``. Gates are taken for what they are by default.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from drakit_api.core.containers import placed_containers
from drakit_api.kubernetes_objects import Object
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, FieldError, duplicate, forbidden, invalid, not_supported, required
from drakit_api.validation.metadata import label_map
from drakit_embedded.apiserver.registry.podspec import mirror_pods, network_rules, placement_rules, volume_rules
from drakit_embedded.apiserver.registry.podspec.affinity_rules import affinity
from drakit_embedded.apiserver.registry.podspec.containers import (
    container_rules,
    env_rules,
    resource_rules,
    security_rules,
)
from drakit_embedded.apiserver.registry.podspec.internal_form import internal

# Validates one part of a spec, which is set; the path is that of the spec.
Rule = Callable[[Object, str], Errors]

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_COST = re.compile(r"-[0-9]+|0|[1-9][0-9]*")
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")
_LONGEST_DEADLINE = 2**31 - 1


def create_errors(pod: Object) -> Errors:
    """Validate a new pod, but for the metadata that all kinds have."""
    spec = pod.get("spec") or {}
    yield from pod_errors(pod)
    if spec.get("ephemeralContainers"):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def pod_errors(pod: Object) -> Errors:
    """Validate a new or changed pod, but for the metadata that all kinds have (validatePodMetadataAndSpec)."""
    spec = pod.get("spec") or {}
    yield from annotation_errors(pod, "metadata.annotations")
    yield from spec_errors(spec, "spec", pod=pod)
    if not spec.get("serviceAccountName"):
        yield from _tokens(spec)
    for at, container in placed_containers(spec, "spec", ("containers", "initContainers")):
        yield from container_rules.blank_image(container.get("image") or "", f"{at}.image")


def annotation_errors(pod: Object, path: str) -> Errors:
    """Validate annotations of pods and templates, but those that became fields (ValidatePodSpecificAnnotations)."""
    if not (annotations := (pod.get("metadata") or {}).get("annotations")):
        return
    if mirror_pods.ANNOTATION in annotations and not (pod.get("spec") or {}).get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{path}[{mirror_pods.ANNOTATION}]", annotations[mirror_pods.ANNOTATION], detail)
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not (_COST.fullmatch(cost) and -(2**31) <= int(cost) < 2**31):
        yield invalid(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer")


def spec_errors(spec: Object, path: str, claimed_volumes: Iterable[str] = (), *, pod: Object | None = None) -> Errors:
    """Validate the spec of a pod, or (without ``pod``) that of a pod template.

    ``claimed_volumes`` are those that a stateful set adds, or puts in the place of the template's.
    """
    meta = (pod or {}).get("metadata") or {}
    volumes: dict[str, Object] = {name: {"persistentVolumeClaim": {}} for name in claimed_volumes}
    listed = [volume for volume in spec.get("volumes") or () if volume.get("name") not in volumes]
    if listed:
        yield from volume_rules.volumes(listed, f"{path}.volumes", meta.get("name") or "", volumes)
    claims = spec.get("resourceClaims") or []
    static = mirror_pods.ANNOTATION in (meta.get("annotations") or ())
    yield from _claims(claims, f"{path}.resourceClaims") if not static else map(_not_static, claims)
    known = sorted({claim["name"] for claim in claims if claim.get("name")})
    yield from container_rules.containers(container_rules.Surroundings(spec, volumes, known), path)
    if spec.get("hostNetwork"):
        yield from network_rules.host_ports(spec, path, of_pod=pod is not None)
    for field, rule in _RULES:
        if spec.get(field) is not None:
            yield from rule(spec, path)


def _not_static(claim: Object) -> FieldError:
    # Upstream builds this path from an empty name.
    return forbidden("[]", "static pods do not support resource claims")


def _claims(claims: list[Object], path: str) -> Errors:
    """Validate ``spec.resourceClaims`` (validatePodResourceClaims)."""
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
    """Check that exactly one of claim and template is named."""
    given = [field for field in _SOURCES if claim.get(field) is not None]
    if len(given) > 1:
        detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        yield invalid(path, internal("PodResourceClaim", claim), detail)
    elif not given:
        detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        yield invalid(path, internal("PodResourceClaim", claim), detail)
    for field in given:
        yield from names.dns_subdomain(claim[field], f"{path}.{field}")


def _restart_policy(spec: Object, path: str) -> Errors:
    if (policy := spec["restartPolicy"]) not in _RESTART_POLICIES:
        yield not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES)


def _preemption_policy(spec: Object, path: str) -> Errors:
    if (policy := spec["preemptionPolicy"]) not in _PREEMPTION_POLICIES:
        yield not_supported(f"{path}.preemptionPolicy", policy, _PREEMPTION_POLICIES)


def _node_selector(spec: Object, path: str) -> Errors:
    return label_map(spec["nodeSelector"], f"{path}.nodeSelector")


def _shared_processes(spec: Object, path: str) -> Errors:
    if spec["shareProcessNamespace"] and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{path}.shareProcessNamespace", True, detail)


def _users_of_its_own(spec: Object, path: str) -> Errors:
    """Validate a pod with users of its own, ``hostUsers: false`` (validateHostUsers)."""
    if spec["hostUsers"]:
        return
    for field, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(field):
            yield forbidden(f"{path}.{shown}", "when `hostUsers` is false")
    for at, container in placed_containers(spec, path):
        if container.get("volumeDevices"):
            yield forbidden(f"{at}.volumeDevices", "when `hostUsers` is false")


def _name_in(field: str) -> Rule:
    """Build a rule that a field of the spec is the name of another object."""

    def rule(spec: Object, path: str) -> Errors:
        yield from names.dns_subdomain(spec[field], f"{path}.{field}")

    return rule


def _deadline(spec: Object, path: str) -> Errors:
    if not 1 <= (seconds := spec["activeDeadlineSeconds"]) <= _LONGEST_DEADLINE:
        yield invalid(f"{path}.activeDeadlineSeconds", seconds, f"must be between 1 and {_LONGEST_DEADLINE}, inclusive")


def _files(spec: Object, path: str) -> Errors:
    volumes = {volume.get("name") or "": volume for volume in spec.get("volumes") or ()}
    for at, container in placed_containers(spec, path):
        if variables := container.get("env"):
            yield from env_rules.files(variables, f"{at}.env", volumes)


# The rule of each part, in the order of ValidatePodSpec.
_RULES: tuple[tuple[str, Rule], ...] = (
    ("resources", resource_rules.of_pod),
    ("restartPolicy", _restart_policy),
    ("dnsPolicy", network_rules.dns_policy),
    ("nodeSelector", _node_selector),
    ("securityContext", security_rules.of_pod),
    ("shareProcessNamespace", _shared_processes),
    ("affinity", affinity),
    ("dnsPolicy", network_rules.dns),
    ("readinessGates", placement_rules.readiness_gates),
    ("schedulingGates", placement_rules.scheduling_gates),
    ("topologySpreadConstraints", placement_rules.spread),
    ("hostUsers", _users_of_its_own),
    ("hostnameOverride", network_rules.host_name),
    ("serviceAccountName", _name_in("serviceAccountName")),
    ("nodeName", _name_in("nodeName")),
    ("activeDeadlineSeconds", _deadline),
    ("hostname", network_rules.label_in("hostname")),
    ("subdomain", network_rules.label_in("subdomain")),
    ("tolerations", placement_rules.tolerations),
    ("hostAliases", network_rules.aliases),
    ("priorityClassName", _name_in("priorityClassName")),
    ("runtimeClassName", _name_in("runtimeClassName")),
    ("preemptionPolicy", _preemption_policy),
    ("overhead", resource_rules.of_overhead),
    ("os", security_rules.of_system),
    ("containers", _files),
)


def _tokens(spec: Object) -> Errors:
    for index, volume in enumerate(spec.get("volumes") or ()):
        for number, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                at = f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken"
                yield forbidden(at, "must not be specified when serviceAccountName is not set")
