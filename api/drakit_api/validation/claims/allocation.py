"""Status of a claim: which devices it got, who may use it, and what drivers report about its devices.

Source: ``validateResourceClaimStatusUpdate`` and below of ``k8s.io/kubernetes`` 1.37.1
``pkg/apis/resource/validation/validation.go``, and ``pkg/apis/resource/v1/zz_generated.validations.go``.
"""

from __future__ import annotations

from typing import Any

from drakit_api import limits
from drakit_api.objects.allocations import device_id, results_in
from drakit_api.objects.equality import same_field
from drakit_api.validation import names
from drakit_api.validation.binding import binding_conditions, declared_binding_conditions
from drakit_api.validation.claims.devicestatus import declared_device_status, declared_share_id, device_status
from drakit_api.validation.claims.requests import RequestNames, references, request_reference
from drakit_api.validation.configuration import SOURCES, configuration, declared_configuration
from drakit_api.validation.errors import Errors, forbidden, invalid, one_of, required
from drakit_api.validation.items import declared_list, declared_objects, declared_set, each
from drakit_api.validation.nodeselector import node_selector
from drakit_api.validation.operations import declared_skipped_operations, skipped_operations
from drakit_api.validation.taints import declared_toleration, toleration

_STRUCT = "resource/v1.ResourceClaimStatus"


def claim_status(
    status: dict[str, Any], old: dict[str, Any], known: RequestNames, path: str, *, claim_deleted: bool
) -> Errors:
    """Check the ``status`` of a claim whose requests have the ``known`` names."""
    consumers, allocation = status.get("reservedFor") or [], status.get("allocation")
    yield from each(consumers, f"{path}.reservedFor", _consumer, maximum=limits.CLAIM_CONSUMERS)
    allocated = set(map(device_id, results_in(status)))
    devices = f"{path}.devices"
    yield from each(status.get("devices"), devices, lambda value, at: device_status(value, at, allocated))
    yield from _reservations(consumers, allocation, old.get("reservedFor") or [], f"{path}.reservedFor", claim_deleted)
    if allocation is not None and old.get("allocation") is None:
        yield from _allocation(allocation, f"{path}.allocation", known)


def declared_claim_status(status: dict[str, Any], old: dict[str, Any], path: str) -> Errors:
    """Check the declared rules of a claim's status, except for fields that are unchanged."""
    allocation, previous = status.get("allocation"), old.get("allocation")
    if not same_field(_STRUCT, "allocation", status, old):
        if allocation is not None and previous is not None:
            yield invalid(f"{path}.allocation", None, "field cannot be modified once set")
        elif allocation is not None:
            yield from _declared_allocation(allocation, f"{path}.allocation.devices")
    if not same_field(_STRUCT, "reservedFor", status, old):
        yield from declared_objects(
            status.get("reservedFor"),
            f"{path}.reservedFor",
            "resource/v1.ResourceClaimConsumerReference",
            lambda value: value.get("uid") or "",
            maximum=limits.CLAIM_CONSUMERS,
        )
    if not same_field(_STRUCT, "devices", status, old):
        yield from declared_objects(
            status.get("devices"),
            f"{path}.devices",
            "resource/v1.AllocatedDeviceStatus",
            device_id,
            rule=declared_device_status,
        )


def _consumer(value: dict[str, Any], path: str) -> Errors:
    for field in ("resource", "name", "uid"):
        if not value.get(field):
            yield required(f"{path}.{field}")


def _reference(consumer: dict[str, Any]) -> tuple[str, ...]:
    return tuple(consumer.get(field) or "" for field in ("apiGroup", "resource", "name", "uid"))


def _reservations(
    consumers: list[dict[str, Any]],
    allocation: dict[str, Any] | None,
    previous: list[dict[str, Any]],
    path: str,
    claim_deleted: bool,
) -> Errors:
    """Check that only an allocated claim is reserved, and one that is being deleted for nobody new."""
    if not consumers:
        return
    if allocation is None:
        yield forbidden(path, "may not be specified when `allocated` is not set")
    elif claim_deleted and not set(map(_reference, consumers)) <= set(map(_reference, previous)):
        detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        yield forbidden(path, detail)


def _allocation(allocation: dict[str, Any], path: str, known: RequestNames) -> Errors:
    devices = allocation.get("devices") or {}
    yield from each(
        devices.get("results"),
        f"{path}.devices.results",
        lambda value, at: _result(value, at, known),
        maximum=limits.ALLOCATION_RESULTS,
    )

    def allocated_configuration(value: dict[str, Any], at: str) -> Errors:
        yield from references(value.get("requests"), f"{at}.requests", known)
        yield from configuration(value, at)

    maximum = 2 * limits.CLAIM_CONFIGS
    yield from each(devices.get("config"), f"{path}.devices.config", allocated_configuration, maximum=maximum)
    if allocation.get("nodeSelector") is not None:
        yield from node_selector(allocation["nodeSelector"], f"{path}.nodeSelector")


def _result(value: dict[str, Any], path: str, known: RequestNames) -> Errors:
    yield from request_reference(value.get("request") or "", f"{path}.request", known)
    yield from names.dns_label(value.get("device") or "", f"{path}.device")
    yield from binding_conditions(value, path)
    yield from each(value.get("tolerations"), f"{path}.tolerations", toleration)
    yield from skipped_operations(value.get("skipNodeOperations"), f"{path}.skipNodeOperations")


def _declared_allocation(allocation: dict[str, Any], path: str) -> Errors:
    devices = allocation.get("devices") or {}
    yield from declared_list(devices.get("results"), limits.ALLOCATION_RESULTS, f"{path}.results", _declared_result)
    yield from declared_list(devices.get("config"), 2 * limits.CLAIM_CONFIGS, f"{path}.config", _declared_config)


def _declared_result(value: dict[str, Any], path: str) -> Errors:
    yield from names.declared_driver(value.get("driver") or "", f"{path}.driver")
    yield from names.declared_pool(value.get("pool") or "", f"{path}.pool")
    yield from each(value.get("tolerations"), f"{path}.tolerations", declared_toleration)
    yield from declared_binding_conditions(value, path)
    yield from declared_share_id(value, path)
    yield from declared_skipped_operations(value.get("skipNodeOperations"), f"{path}.skipNodeOperations")


def _declared_config(value: dict[str, Any], path: str) -> Errors:
    yield from one_of(value.get("source") or "", SOURCES, f"{path}.source")
    yield from declared_set(value.get("requests"), f"{path}.requests", limits.CLAIM_REQUESTS)
    yield from declared_configuration(value, path)
