"""ResourceQuotas: names, amounts and scopes (k8s.io/kubernetes/pkg/apis/core/validation, ResourceQuota)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from drakit_api import formats
from drakit_api.golang.gostrings import quote, to_json
from drakit_api.kubernetes_objects import Object
from drakit_api.quantity import Quantity, QuantityError, canonical
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy
from drakit_embedded.apiserver.statuses import Cause, FieldFault
from drakit_embedded.quota.names import CPU_AND_MEMORY, is_standard_in_quota, is_whole

_OF_PODS = CPU_AND_MEMORY | {"pods"}
# The standard resources that can be limited within each scope.
_SCOPES = {
    "BestEffort": frozenset({"pods"}),
    "CrossNamespacePodAffinity": _OF_PODS,
    "NotBestEffort": _OF_PODS,
    "NotTerminating": _OF_PODS,
    "PriorityClass": _OF_PODS,
    "Terminating": _OF_PODS,
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_WITHOUT_VALUES = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_CONFLICTING = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_EXISTS_ONLY = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def _invalid(field: str, value: Any, why: str) -> Cause:
    shown = quote(value) if isinstance(value, str) else to_json(value)
    return Cause("FieldValueInvalid", field, f"Invalid value: {shown}: {why}")


def _amount_faults(amounts: dict[str, Any], path: str) -> Iterator[Cause]:
    for name, amount in amounts.items():
        field = f"{path}[{name}]"
        yield from _name_faults(name, field)
        value = Quantity.parse(amount)
        if value.nanos < 0:
            yield _invalid(field, str(value), "must be greater than or equal to 0")
        if is_whole(name) and not value.is_integer:
            yield _invalid(field, str(value), "must be an integer")


def _name_faults(name: str, field: str) -> Iterator[Cause]:
    problems = formats.label_key(name)
    yield from (_invalid(field, name, problem) for problem in problems)
    if "/" in name or is_standard_in_quota(name):
        return
    if not problems and name != "storage":
        yield _invalid(field, name, "must be a standard resource type or fully qualified")
    yield _invalid(field, name, "must be a standard resource for quota")


def _scope_faults(spec: Object) -> Iterator[Cause]:
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            yield _invalid("spec.scopes", scopes, "unsupported scope")
        if _is_beside(scope, spec):
            yield _invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    yield from _conflicts(scopes, scopes, "spec.scopes")


def _is_beside(scope: str, spec: Object) -> bool:
    """Check whether something is limited that has nothing to do with a scope."""
    if scope not in _SCOPES:
        return False
    return any(is_standard_in_quota(name) and name not in _SCOPES[scope] for name in spec.get("hard") or {})


def _conflicts(found: Iterable[str], shown: Any, field: str) -> Iterator[Cause]:
    for pair in _CONFLICTING:
        if pair <= set(found):
            yield _invalid(field, shown, "conflicting scopes")


def _selector_faults(spec: Object) -> Iterator[Cause]:
    selector = spec.get("scopeSelector")
    if selector is None:
        return
    path = "spec.scopeSelector.matchExpressions"
    requirements = selector.get("matchExpressions") or []
    for requirement in requirements:
        yield from _requirement_faults(requirement, spec, path)
    names = [requirement.get("scopeName", "") for requirement in requirements]
    yield from _conflicts(names, spec.get("scopes"), path)


def _requirement_faults(requirement: Object, spec: Object, path: str) -> Iterator[Cause]:
    scope, operator, values = (requirement.get(key) for key in ("scopeName", "operator", "values"))
    if scope not in _SCOPES:
        yield _invalid(f"{path}.scopeName", scope or "", "unsupported scope")
    if _is_beside(scope or "", spec):
        yield _invalid(path, _internal(spec["scopeSelector"]), "unsupported scope applied to resource")
    if scope in _WITHOUT_VALUES and operator != "Exists":
        yield _invalid(f"{path}.operator", operator or "", _EXISTS_ONLY)
    if operator in ("In", "NotIn"):
        if not values:
            why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield Cause("FieldValueRequired", f"{path}.values", f"Required value: {why}")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield _invalid(f"{path}.values", values, why)
    else:
        yield _invalid(f"{path}.operator", operator or "", "not a valid selector operator")


def _internal(selector: Object) -> Object:
    """Convert to the internal Go type, which has no JSON names, for messages."""
    return {
        "MatchExpressions": [
            {
                "ScopeName": found.get("scopeName", ""),
                "Operator": found.get("operator", ""),
                "Values": found.get("values"),
            }
            for found in selector.get("matchExpressions") or ()
        ]
    }


def _spec_faults(spec: Object) -> list[FieldFault]:
    return [*_amount_faults(spec.get("hard") or {}, "spec.hard"), *_scope_faults(spec), *_selector_faults(spec)]


def _validate(quota: Object, cluster: Cluster) -> Sequence[FieldFault]:
    return _spec_faults(quota.get("spec") or {})


def _validate_update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    faults = _spec_faults(new.get("spec") or {})
    scopes, before = ((obj.get("spec") or {}).get("scopes") for obj in (new, old))
    if set(scopes or ()) != set(before or ()):
        faults.append(_invalid("spec.scopes", scopes, "field is immutable"))
    return faults


def _validate_status(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    status = new.get("status") or {}
    return [fault for key in ("hard", "used") for fault in _amount_faults(status.get(key) or {}, f"status.{key}")]


def _canonical(quota: Object, cluster: Cluster) -> Object:
    """Convert amounts to the canonical form in which the server returns them."""
    for part in ("spec", "status"):
        for key in ("hard", "used"):
            amounts = (quota.get(part) or {}).get(key)
            if amounts:
                quota[part][key] = {name: _spelled(amount) for name, amount in amounts.items()}
    return quota


def _spelled(amount: Any) -> Any:
    try:
        return canonical(str(amount))
    except QuantityError:
        return amount


def _default(quota: Object, cluster: Cluster) -> None:
    quota.setdefault("spec", {})
    quota.setdefault("status", {})


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "resourcequotas"): Strategy(
        default=_default,
        canonical=_canonical,
        validate_create=_validate,
        validate_update=_validate_update,
        validate_status=_validate_status,
        returns_deleted=True,
    ),
}
