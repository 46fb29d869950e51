"""The address families of a Service in a cluster that has IPv4 addresses for Services, as most have.

After initIPFamilyFields in pkg/registry/core/service/storage/alloc.go in k8s.io/kubernetes.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors, FieldError, invalid
from drakit_embedded.apiserver.registry.services import address_rules, ip_texts, service_types
from drakit_embedded.apiserver.registry.services.addresses import FAMILY
from drakit_embedded.apiserver.registry.services.service_types import NO_ADDRESS

_SINGLE, _PREFER, _REQUIRE = "SingleStack", "PreferDualStack", "RequireDualStack"
_POLICY = "spec.ipFamilyPolicy"


def complete(spec: Object, old: Object | None) -> list[FieldError]:
    """Fill in families and their policy in a Service's spec; returns what is wrong with what it says of them.

    ``old`` is the stored spec, if there is one.
    """
    if not service_types.needs_address(spec) or (old is not None and _stays_preferred(spec, old)):
        return []
    if not spec.get("ipFamilyPolicy"):
        spec["ipFamilyPolicy"] = _inferred_policy(spec, old)
    faults = list(address_rules.related_fields(spec, old))
    if faults:
        return faults
    if old is not None:
        faults += _reductions(spec, old)
    faults += _of_one_family(spec)
    faults += _inferred_families(spec)
    if faults:
        return faults
    if spec.get("clusterIP") == NO_ADDRESS and not spec.get("selector"):
        _complete_without_selector(spec)
        return []
    faults += _configured(spec)
    if not faults and not spec.get("ipFamilies"):
        spec["ipFamilies"] = [FAMILY]
    return faults


def _stays_preferred(spec: Object, old: Object) -> bool:
    """Check that nothing changed, so nothing becomes dual-stack (isMatchingPreferDualStackClusterIPFields)."""
    return (
        spec.get("type") == old.get("type")
        and spec.get("ipFamilyPolicy") == _PREFER
        and old.get("ipFamilyPolicy") in (None, _PREFER)
        and (spec.get("clusterIPs") or []) == (old.get("clusterIPs") or [])
        and (spec.get("ipFamilies") or []) == (old.get("ipFamilies") or [])
    )


def _inferred_policy(spec: Object, old: Object | None) -> str:
    if old is not None and old.get("ipFamilyPolicy"):
        return str(old["ipFamilyPolicy"])
    return _REQUIRE if spec.get("clusterIP") == NO_ADDRESS and not spec.get("selector") else _SINGLE


def _reductions(spec: Object, old: Object) -> Errors:
    """Check that a second address or family is released by the policy SingleStack only, and release it then."""
    for field, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        given, before = spec.get(field) or [], old.get(field) or []
        if spec["ipFamilyPolicy"] != _SINGLE:
            if given and len(given) < len(before):
                detail = f"must be 'SingleStack' to release the secondary {what}"
                yield invalid(_POLICY, spec["ipFamilyPolicy"], detail)
        elif given == before and len(given) > 1:
            spec[field] = given[:1]


def _of_one_family(spec: Object) -> Errors:
    if spec["ipFamilyPolicy"] != _SINGLE:
        return
    for field, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
        if len(spec.get(field) or ()) == 2:
            detail = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
            yield invalid(_POLICY, spec["ipFamilyPolicy"], detail)


def _inferred_families(spec: Object) -> Errors:
    """Infer families from addresses."""
    given = spec.get("clusterIPs") or []
    for number, address in enumerate(given):
        if address == NO_ADDRESS:
            return
        families = spec.get("ipFamilies") or []
        if number < len(families):
            continue
        family = ip_texts.family(address)
        if family != FAMILY:
            yield invalid(f"spec.clusterIPs[{number}]", given, f"{family} is not configured on this cluster")
        else:
            spec["ipFamilies"] = [*families, family]


def _complete_without_selector(spec: Object) -> None:
    """Complete the families of a Service without selector, also by those that the cluster does not have."""
    families = spec.setdefault("ipFamilies", [FAMILY]) or [FAMILY]
    if len(families) < 2 and spec["ipFamilyPolicy"] != _SINGLE:
        families = [*families, "IPv6" if families[0] == "IPv4" else "IPv4"]
    spec["ipFamilies"] = families


def _configured(spec: Object) -> Errors:
    if spec["ipFamilyPolicy"] == _REQUIRE:
        yield invalid(_POLICY, _REQUIRE, "this cluster is not configured for dual-stack services")
    for number, family in enumerate(spec.get("ipFamilies") or ()):
        if family != FAMILY:
            yield invalid(f"spec.ipFamilies[{number}]", family, "not configured on this cluster")
