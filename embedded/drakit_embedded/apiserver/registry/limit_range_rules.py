"""LimitRanges: defaults and validation.

After k8s.io/kubernetes/pkg/apis/core/v1/defaults.go and pkg/apis/core/validation (ValidateLimitRange).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drakit_api import formats
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.quantity import Quantity
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy
from drakit_embedded.apiserver.statuses import Cause, FieldFault
from drakit_embedded.quota.amounts import ONE, Amounts, parsed
from drakit_embedded.quota.names import can_be_overcommitted, is_standard, is_standard_of_containers

_TYPES = ("Container", "PersistentVolumeClaim", "Pod")
_AMOUNTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def _default(limit_range: Object, cluster: Cluster) -> None:
    """Default limits of containers to the maximum, and requests to the limit or else the minimum."""
    spec = limit_range.setdefault("spec", {})
    spec["limits"] = spec.get("limits") or None
    for item in spec["limits"] or ():
        if item.get("type") != "Container":
            continue
        limit = {**(item.get("max") or {}), **(item.get("default") or {})}
        request = {**(item.get("min") or {}), **limit, **(item.get("defaultRequest") or {})}
        item |= {key: value for key, value in (("default", limit), ("defaultRequest", request)) if value}


def _invalid(field: str, value: object, why: str) -> Cause:
    return Cause("FieldValueInvalid", field, f"Invalid value: {quote(str(value))}: {why}")


def _validate(limit_range: Object, cluster: Cluster) -> Sequence[FieldFault]:
    faults: list[FieldFault] = []
    seen: set[str] = set()
    for index, item in enumerate((limit_range.get("spec") or {}).get("limits") or ()):
        path, kind = f"spec.limits[{index}]", item.get("type", "")
        faults += _type_faults(kind, f"{path}.type")
        if kind in seen:
            faults.append(Cause("FieldValueDuplicate", f"{path}.type", f"Duplicate value: {quote(kind)}"))
        seen.add(kind)
        faults += _item_faults(item, kind, path)
    return faults


def _validate_update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    return _validate(new, cluster)


def _type_faults(kind: str, field: str) -> list[Cause]:
    problems = formats.label_key(kind)
    if not problems and "/" not in kind and kind not in _TYPES:
        problems = ["must be a standard limit type or fully qualified"]
    return [_invalid(field, kind, problem) for problem in problems]


def _item_faults(item: Object, kind: str, path: str) -> Iterator[Cause]:
    amounts = {key: parsed(item.get(key)) for key in _AMOUNTS}
    if kind == "Pod":
        for key in ("default", "defaultRequest"):
            if amounts[key]:
                why = "Forbidden: may not be specified when `type` is 'Pod'"
                yield Cause("FieldValueForbidden", f"{path}.{key}", why)
                amounts[key] = {}
    if kind == "PersistentVolumeClaim" and not any("storage" in amounts[key] for key in ("min", "max")):
        why = "either minimum or maximum storage value is required, but neither was provided"
        yield Cause("FieldValueRequired", f"{path}.limits", f"Required value: {why}")
    for key, found in amounts.items():
        for name in found:
            yield from _name_faults(kind, name, f"{path}.{key}[{name}]")
    for name in sorted({name for found in amounts.values() for name in found}):
        yield from _order_faults(amounts, name, path)
        yield from _ratio_faults(amounts, name, path)


def _name_faults(kind: str, name: str, field: str) -> Iterator[Cause]:
    problems = formats.label_key(name)
    if not problems and "/" not in name and not is_standard(name):
        problems = ["must be a standard resource type or fully qualified"]
    yield from (_invalid(field, name, problem) for problem in problems)
    if kind in ("Container", "Pod") and "/" not in name and not is_standard_of_containers(name):
        yield _invalid(field, name, "must be a standard resource for containers")


def _order_faults(amounts: dict[str, Amounts], name: str, path: str) -> Iterator[Cause]:
    low, high, limit, request = (amounts[key].get(name) for key in ("min", "max", "default", "defaultRequest"))
    rules: tuple[tuple[Quantity | None, str, Quantity | None, str, str, Quantity | None], ...] = (
        (low, "min value", high, "max value", "min", low),
        (low, "min value", request, "default request value", "defaultRequest", request),
        (request, "default request value", high, "max value", "defaultRequest", request),
        (request, "default request value", limit, "default limit value", "defaultRequest", request),
        (low, "min value", limit, "default value", "default", low),
        (limit, "default value", high, "max value", "default", high),
    )
    for small, its_name, large, other_name, key, shown in rules:
        if small is not None and large is not None and small > large:
            why = f"{its_name} {small} is greater than {other_name} {large}"
            yield _invalid(f"{path}.{key}[{name}]", shown, why)
    if not can_be_overcommitted(name) and limit is not None and request is not None and limit != request:
        why = f"default value {limit} must equal to defaultRequest value {request} in {name}"
        yield _invalid(f"{path}.defaultRequest[{name}]", request, why)


def _ratio_faults(amounts: dict[str, Amounts], name: str, path: str) -> Iterator[Cause]:
    ratio, low, high = (amounts[key].get(name) for key in ("maxLimitRequestRatio", "min", "max"))
    if ratio is None:
        return
    field = f"{path}.maxLimitRequestRatio[{name}]"
    if ratio < ONE:
        yield _invalid(field, ratio, f"ratio {ratio} is less than 1")
    if low is None or high is None or not low.nanos:
        return
    largest = high.nanos / low.nanos
    if ratio.nanos / ONE.nanos > largest:
        yield _invalid(field, ratio, f"ratio {ratio} is greater than max/min = {largest:f}")


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "limitranges"): Strategy(default=_default, validate_create=_validate, validate_update=_validate_update),
}
