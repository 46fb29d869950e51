"""What may be requested and limited, of a container and of a pod.

After validateResourceRequirements and below in k8s.io/kubernetes/pkg/apis/core/validation/validation.go, and
pkg/apis/core/helper/helpers.go for names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drakit_api import formats
from drakit_api.core.containers import placed_containers
from drakit_api.core.pod_resources import OF_PODS, is_of_pods, of_containers
from drakit_api.kubernetes_objects import Object
from drakit_api.quantity import ZERO, Quantity, QuantityError
from drakit_api.validation import names
from drakit_api.validation.errors import (
    Errors,
    duplicate,
    forbidden,
    invalid,
    invalid_constant,
    not_found,
    not_supported,
    required,
)
from drakit_embedded.quota.amounts import parsed
from drakit_embedded.quota.names import (
    COMPUTE,
    HUGE_PAGES,
    can_be_overcommitted,
    is_extended,
    is_huge_pages,
    is_native,
    is_standard,
)

NameRule = Callable[[str, str], Errors]

# Resources supported at pod level, in the order of the message.
_LISTED_OF_PODS = ("cpu", HUGE_PAGES, "memory")


def of_container(resources: Object, path: str, claims: Sequence[str]) -> Errors:
    """Validate ``resources`` of a container; ``claims`` are the names of the pod's claims, in order."""
    yield from _requirements(resources, path, _container_name)
    yield from _references(resources.get("claims") or [], f"{path}.claims", claims)


def of_overhead(spec: Object, path: str) -> Errors:
    """Validate ``spec.overhead``, in the same way as limits of a container."""
    yield from _requirements({"limits": spec["overhead"]}, f"{path}.overhead", _container_name)


def of_pod(spec: Object, path: str) -> Errors:
    """Validate ``spec.resources``, also against those of the containers."""
    resources, path = spec["resources"], f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        yield forbidden(path, "may not be set for a windows pod")
        return
    if resources.get("claims"):
        yield forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level")
    yield from _requirements(resources, path, _pod_name)
    yield from _consistent(spec, resources, path)


def _requirements(resources: Object, path: str, name_rule: NameRule) -> Errors:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, amount in limits.items():
        yield from _amount(name, amount, f"{path}.limits[{name}]", name_rule)
    for name, amount in requests.items():
        yield from _amount(name, amount, f"{path}.requests[{name}]", name_rule)
        yield from _within_limit(name, amount, limits, path)
    named = {*limits, *requests}
    if any(is_huge_pages(name) for name in named) and not named.intersection(OF_PODS):
        yield forbidden(path, "HugePages require cpu or memory")


def _amount(name: str, text: str, path: str, name_rule: NameRule) -> Errors:
    yield from name_rule(name, path)
    amount = Quantity.parse(text)
    if amount < ZERO:
        yield invalid(path, text, "must be greater than or equal to 0")
    if name not in COMPUTE and (is_extended(name) or name == "pods") and not amount.is_integer:
        yield invalid(path, text, "must be an integer")
    if is_huge_pages(name) and not _is_divisible(name, amount):
        yield invalid(path, text, f"{text} is not positive integer multiple of {name}")


def _within_limit(name: str, text: str, limits: Object, path: str) -> Errors:
    limit, shared = limits.get(name), can_be_overcommitted(name)
    if limit is None:
        if not shared:
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    elif text != limit:
        amount, most = Quantity.parse(text), Quantity.parse(limit)
        if amount != most and not shared:
            yield invalid(f"{path}.requests", text, f"must be equal to {name} limit of {limit}")
        elif amount > most:
            yield invalid(f"{path}.requests", text, f"must be less than or equal to {name} limit of {limit}")


def _is_divisible(name: str, amount: Quantity) -> bool:
    try:
        size = Quantity.parse(name.removeprefix(HUGE_PAGES))
    except QuantityError:
        return False
    return size > ZERO and amount.as_integer() % size.as_integer() == 0


def _name(name: str, path: str) -> Errors:
    if problems := formats.label_key(name):
        yield from (invalid_constant(path, name, problem) for problem in problems)
    elif "/" not in name and not is_standard(name):
        yield invalid_constant(path, name, "must be a standard resource type or fully qualified")


def _container_name(name: str, path: str) -> Errors:
    if name in COMPUTE:
        return
    yield from _name(name, path)
    if "/" not in name:
        if not is_huge_pages(name):
            yield invalid_constant(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield invalid_constant(path, name, "doesn't follow extended resource name standard")


def _pod_name(name: str, path: str) -> Errors:
    if problems := list(_name(name, path)):
        yield from problems
    elif not is_of_pods(name):
        yield not_supported(path, name, _LISTED_OF_PODS)


def _consistent(spec: Object, resources: Object, path: str) -> Errors:
    """Check that requests suffice for all containers together, limits for each (validatePodResourceConsistency)."""
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, needed in of_containers(spec, "requests", parsed).items():
        if name in requests and needed > Quantity.parse(requests[name]):
            detail = f"must be greater than or equal to aggregate container requests of {needed}"
            yield invalid(f"{path}.requests[{name}]", requests[name], detail)
    for name, needed in of_containers(spec, "limits", parsed).items():
        if is_huge_pages(name) and name in limits and needed > Quantity.parse(limits[name]):
            detail = f"must be greater than or equal to aggregate container limits of {needed}"
            yield invalid(f"{path}.limits[{name}]", limits[name], detail)
    for at, container in placed_containers(spec, path, ("containers",)):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and Quantity.parse(limit) > Quantity.parse(limits[name]):
                yield invalid(
                    f"{at}[{name}].limits", limit, f"must be less than or equal to pod limits of {limits[name]}"
                )


def _references(references: list[Object], path: str, claims: Sequence[str]) -> Errors:
    """Check that a container uses a claim once, or each request of it once (validateResourceClaimNames)."""
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
