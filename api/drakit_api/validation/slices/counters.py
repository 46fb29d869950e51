"""Shared counters of a pool, and what devices consume of them.

Source: ``validateCounterSet`` and ``validateDeviceCounterConsumption`` of ``k8s.io/kubernetes`` 1.37.1
``pkg/apis/resource/validation/validation.go``, and ``pkg/apis/resource/v1/zz_generated.validations.go``. Any quantity
is a valid counter, and that consumed counters exist is for the allocator to find out.
"""

from __future__ import annotations

from typing import Any

from drakit_api import limits
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, required, too_many
from drakit_api.validation.items import declared_list, declared_set


def counter_set(value: dict[str, Any], path: str) -> Errors:
    """Check that an entry of ``sharedCounters`` has not too many counters."""
    yield from _limited(value, limits.COUNTERS_PER_SET, path)


def declared_counter_set(value: dict[str, Any], path: str) -> Errors:
    """Check that a counter set has a name and counters, and that all their names are DNS labels."""
    yield from _named_counters(value, "name", path)


def consumption(value: dict[str, Any], path: str) -> Errors:
    """Check that an entry of a device's ``consumesCounters`` has not too many counters."""
    yield from _limited(value, limits.COUNTERS_PER_CONSUMPTION, path)


def declared_consumption(value: dict[str, Any], path: str) -> Errors:
    """Check as ``declared_counter_set``, and that there are few compatibility groups, DNS labels, and none twice."""
    yield from _named_counters(value, "counterSet", path)
    groups, at = value.get("compatibilityGroups"), f"{path}.compatibilityGroups"
    maximum = limits.COMPATIBILITY_GROUPS_PER_CONSUMPTION
    yield from declared_list(groups, maximum, at, names.declared_dns_label)
    if groups and len(groups) <= maximum:
        yield from declared_set(groups, at)


def _limited(value: dict[str, Any], maximum: int, path: str) -> Errors:
    counters = value.get("counters") or {}
    if len(counters) > maximum:
        yield too_many(f"{path}.counters", len(counters), maximum)


def _named_counters(value: dict[str, Any], name_field: str, path: str) -> Errors:
    name, counters = value.get(name_field) or "", value.get("counters")
    yield from (names.declared_dns_label(name, f"{path}.{name_field}") if name else [required(f"{path}.{name_field}")])
    if not counters:
        yield required(f"{path}.counters")
    for counter in counters or ():
        yield from names.declared_dns_label(counter, f"{path}.counters")
