"""What makes a pod's spec valid: the parts of ValidatePodSpec that matter to a scheduler and to claims.

After ValidatePodSpec and below in k8s.io/kubernetes/pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
from drakit_embedded.apiserver.registry.strategies import Object

Errors = Iterator[FieldError]
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_SOURCES = {"resourceClaimName": "ResourceClaimName", "resourceClaimTemplateName": "ResourceClaimTemplateName"}
# ValidatePodUpdate: all that may change in the spec of a pod.
_MUTABLE = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates")
_IMMUTABLE_SPEC = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def spec_errors(spec: Object, path: str) -> Errors:
    """A pod's spec, or that of a template."""
    yield from _claims(spec.get("resourceClaims") or [], f"{path}.resourceClaims")
    claims = sorted({claim["name"] for claim in spec.get("resourceClaims") or () if claim.get("name")})
    if not spec.get("containers"):
        yield required(f"{path}.containers")
    seen: set[str] = set()
    for key in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(key) or []):
            yield from _container(container, f"{path}.{key}[{index}]", seen, claims)
    policy = spec.get("restartPolicy") or ""
    if policy not in _RESTART_POLICIES:
        yield not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES)
    if spec.get("nodeName"):
        yield from names.dns_subdomain(spec["nodeName"], f"{path}.nodeName")
    yield from label_map(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")


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


def _container(container: Object, path: str, seen: set[str], claims: list[str]) -> Errors:
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
    references = (container.get("resources") or {}).get("claims") or []
    yield from _references(references, f"{path}.resources.claims", claims)


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
    if _frozen(new) != _frozen(old):
        yield forbidden("spec", _IMMUTABLE_SPEC)


def _frozen(spec: Object) -> dict[str, Any]:
    kept = {key: value for key, value in spec.items() if key not in _MUTABLE}
    for key in ("containers", "initContainers"):
        if key in kept:
            kept[key] = [{**container, "image": None} for container in kept[key] or []]
    return kept
