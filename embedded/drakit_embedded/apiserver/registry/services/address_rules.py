"""What a Service may say of its addresses and address families.

After ValidateServiceClusterIPsRelatedFields, validateUpgradeDowngradeClusterIPs and validateUpgradeDowngradeIPFamilies
in k8s.io/kubernetes/pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors, duplicate, invalid, not_supported, required
from drakit_embedded.apiserver.registry.podspec import network_rules
from drakit_embedded.apiserver.registry.services import ip_texts, service_types
from drakit_embedded.apiserver.registry.services.service_types import NO_ADDRESS

_FAMILIES = ("IPv4", "IPv6")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_IPS, _MOST_IPS = "spec.clusterIPs", 2


def related_fields(spec: Object, old: Object | None) -> Errors:
    """Validate ``clusterIP``, ``clusterIPs``, ``ipFamilies`` and ``ipFamilyPolicy``, alone and with each other."""
    if not service_types.needs_address(spec):
        return
    yield from _in_step(spec)
    yield from _families(spec)
    if (policy := spec.get("ipFamilyPolicy")) is not None and policy not in _POLICIES:
        yield not_supported("spec.ipFamilyPolicy", policy, _POLICIES)
    wrong = list(_addresses(spec, old))
    yield from wrong
    addresses = spec.get("clusterIPs") or []
    if len(addresses) > _MOST_IPS:
        yield invalid(_IPS, addresses, f"may only hold up to {_MOST_IPS} values")
    if wrong:
        return
    if len(addresses) > 1 and not _is_dual(addresses):
        yield invalid(_IPS, addresses, "may specify no more than one IP for each IP family")
    if not service_types.is_headless(spec):
        yield from _of_their_families(addresses, spec.get("ipFamilies") or [])


def _in_step(spec: Object) -> Errors:
    first, addresses = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if first and not addresses:
        yield required(_IPS)
    elif first and addresses[0] != first:
        yield invalid(_IPS, addresses, "first value must match `clusterIP`")
    elif not first and addresses:
        yield invalid(_IPS, addresses, "must be empty when `clusterIP` is not specified")


def _families(spec: Object) -> Errors:
    seen: set[str] = set()
    for number, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in _FAMILIES:
            yield not_supported(f"spec.ipFamilies[{number}]", family, _FAMILIES)
        if family in seen:
            yield duplicate(f"spec.ipFamilies[{number}]", family)
        seen.add(family)


def _addresses(spec: Object, old: Object | None) -> Errors:
    addresses = spec.get("clusterIPs") or []
    known = (old or {}).get("clusterIPs") or []
    for number, address in enumerate(addresses):
        if number == 0 and address == NO_ADDRESS:
            if len(addresses) > 1:
                yield invalid(_IPS, addresses, "'None' must be the first and only value")
        elif address not in known:
            yield from network_rules.address(address, f"{_IPS}[{number}]")


def _is_dual(addresses: list[str]) -> bool:
    """Check whether there are addresses of both families (IsDualStackIPStrings)."""
    return len({ip_texts.family(address) for address in addresses}) == 2


def _of_their_families(addresses: list[str], families: list[str]) -> Errors:
    for number, (address, family) in enumerate(zip(addresses, families, strict=False)):
        if family in _FAMILIES and family != ip_texts.family(address):
            detail = f"expected an {family} value as indicated by `ipFamilies[{number}]`"
            yield invalid(f"{_IPS}[{number}]", address, detail)


def changes(new: Object, old: Object) -> Errors:
    """Validate what becomes of the addresses and families that a Service has."""
    if not (service_types.needs_address(new) and service_types.needs_address(old)):
        return
    if service_types.is_headless(new) and service_types.is_headless(old):
        return
    yield from _changed_addresses(new, old)
    if service_types.is_headless(new) == service_types.is_headless(old):
        yield from _changed_families(new, old)


def _changed_addresses(new: Object, old: Object) -> Errors:
    given, before = new.get("clusterIPs") or [], old.get("clusterIPs") or []
    shown = new.get("clusterIPs")
    if len(given) == len(before):
        for number, (one, other) in enumerate(zip(given, before, strict=True)):
            if one != other:
                yield invalid(f"{_IPS}[{number}]", shown, "may not change once set")
        return
    if not given:
        yield invalid(f"{_IPS}[0]", shown, "primary clusterIP can not be unset")
    elif before and given[0] != before[0]:
        yield invalid(f"{_IPS}[0]", shown, "may not change once set")
    if len(before) > len(given) == 1:
        yield from _released(new, "clusterIP")


def _changed_families(new: Object, old: Object) -> Errors:
    given, before = new.get("ipFamilies") or [], old.get("ipFamilies") or []
    path = "spec.ipFamilies[0]"
    if len(given) == len(before):
        for one, other in zip(given, before, strict=True):
            if one != other:
                yield invalid(path, new.get("ipFamilies"), "may not change once set")
        return
    if len(before) > len(given) and not new.get("clusterIPs"):
        yield invalid(path, new.get("ipFamilies"), "primary ipFamily can not be unset")
    if given and before and given[0] != before[0]:
        yield invalid(path, new.get("clusterIPs"), "may not change once set")
    if len(before) > len(given) == 1:
        yield from _released(new, "ipFamily")


def _released(new: Object, what: str) -> Errors:
    if new.get("ipFamilyPolicy") != "SingleStack":
        detail = f"must be set to 'SingleStack' when releasing the secondary {what}"
        yield invalid("spec.ipFamilyPolicy", new.get("ipFamilyPolicy"), detail)
