"""Requests of a claim, constraints between them and configuration for them.

Source: ``validateDeviceClaim`` and below of ``k8s.io/kubernetes`` 1.37.1
``pkg/apis/resource/validation/validation.go``, and ``pkg/apis/resource/v1/zz_generated.validations.go``.
"""

from __future__ import annotations

from typing import Any

from drakit_api import limits
from drakit_api.features import FeatureGates
from drakit_api.objects import conversion
from drakit_api.validation import names
from drakit_api.validation.configuration import configuration, declared_configuration
from drakit_api.validation.errors import Errors, invalid, not_supported, required
from drakit_api.validation.items import Rule, declared_list, declared_objects, declared_set, each, name_of
from drakit_api.validation.selectors import DerivedAttributes, declared_derived_attribute, selectors
from drakit_api.validation.taints import declared_toleration, toleration

# The names of a request's subrequests, by its name.
RequestNames = dict[str, set[str]]
_ALLOCATION_MODES = ["All", "ExactCount"]
_NOT_A_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"


def device_claim(devices: dict[str, Any], path: str, gates: FeatureGates) -> Errors:
    """Check ``spec.devices`` of a claim."""
    known = request_names(devices)
    derived = DerivedAttributes(devices.get("constraints"), gates)
    yield from each(
        devices.get("requests"),
        f"{path}.requests",
        lambda value, at: _request(value, at, derived, gates),
        maximum=limits.CLAIM_REQUESTS,
    )
    yield from each(
        devices.get("constraints"),
        f"{path}.constraints",
        lambda value, at: _constraint(value, at, known, gates),
        maximum=limits.CLAIM_CONSTRAINTS,
    )
    yield from each(
        devices.get("config"),
        f"{path}.config",
        lambda value, at: claim_configuration(value, at, known),
        maximum=limits.CLAIM_CONFIGS,
    )
    yield from derived.of_claim(path)


def declared_device_claim(devices: dict[str, Any], path: str, version: str) -> Errors:
    """Check the declared rules of ``spec.devices``, in the words of ``version``."""
    requests, rule = devices.get("requests"), _declared_request
    if version == "v1beta1":
        requests, rule = [conversion.request_from_v1(request) for request in requests or ()], _declared_flat_request
    yield from declared_objects(
        requests,
        f"{path}.requests",
        f"resource/{version}.DeviceRequest",
        name_of,
        maximum=limits.CLAIM_REQUESTS,
        rule=rule,
    )
    constraints, configs = devices.get("constraints"), devices.get("config")
    yield from declared_list(constraints, limits.CLAIM_CONSTRAINTS, f"{path}.constraints", _declared_constraint)
    yield from declared_list(configs, limits.CLAIM_CONFIGS, f"{path}.config", declared_claim_configuration)


def request_names(devices: dict[str, Any]) -> RequestNames:
    """Map each request to its subrequests: what ``requests`` of constraints, configuration and results may refer to."""
    return {
        name_of(request): {name_of(subrequest) for subrequest in request.get("firstAvailable") or ()}
        for request in devices.get("requests") or ()
    }


def request_reference(name: str, path: str, known: RequestNames) -> Errors:
    """Check a reference to ``request`` or ``request/subrequest`` of the same claim."""
    segments = name.split("/")
    if len(segments) > 2:
        yield invalid(path, name, _NOT_A_REQUEST)
        return
    for segment in segments:
        yield from names.dns_label(segment, path)
    if segments[0] not in known or (len(segments) == 2 and segments[1] not in known[segments[0]]):
        yield invalid(path, name, _NOT_A_REQUEST)


def references(values: list[str] | None, path: str, known: RequestNames) -> Errors:
    """Check references to requests of the same claim, unless there are too many."""
    yield from each(values, path, lambda name, at: request_reference(name, at, known), maximum=limits.CLAIM_REQUESTS)


def claim_configuration(value: dict[str, Any], path: str, known: RequestNames) -> Errors:
    """Check one ``config`` entry of a claim."""
    yield from references(value.get("requests"), f"{path}.requests", known)
    yield from configuration(value, path)


def declared_claim_configuration(value: dict[str, Any], path: str) -> Errors:
    """Check the declared rules of a ``config`` entry of a claim."""
    yield from declared_set(value.get("requests"), f"{path}.requests", limits.CLAIM_REQUESTS)
    yield from declared_configuration(value, path)


def _request(value: dict[str, Any], path: str, derived: DerivedAttributes, gates: FeatureGates) -> Errors:
    yield from names.dns_label(name_of(value), f"{path}.name")
    exactly, subrequests = value.get("exactly"), value.get("firstAvailable")
    detail = "exactly one of `exactly` or `firstAvailable` is required"
    if exactly is None and not subrequests:
        yield required(path, detail)
    elif exactly is not None and subrequests:
        yield invalid(path, None, f"{detail}, but multiple fields are set")
    elif exactly is not None:
        yield from _device_class(exactly, f"{path}.exactly.deviceClassName", names.dns_subdomain)
        yield from _devices(exactly, f"{path}.exactly", name_of(value), derived, gates)
    else:

        def subrequest(value: dict[str, Any], at: str) -> Errors:
            yield from names.dns_label(name_of(value), f"{at}.name")
            yield from _devices(value, at, f"{parent}/{name_of(value)}", derived, gates)

        parent = name_of(value)
        yield from each(subrequests, f"{path}.firstAvailable", subrequest, maximum=limits.SUBREQUESTS)


def _devices(value: dict[str, Any], path: str, name: str, derived: DerivedAttributes, gates: FeatureGates) -> Errors:
    """Check what requests and subrequests have in common."""
    yield from selectors(value.get("selectors"), f"{path}.selectors", gates)
    yield from derived.of_request(value.get("derivedAttributes"), f"{path}.derivedAttributes", name)
    mode, count = value.get("allocationMode") or "", value.get("count") or 0
    if mode == "All" and count != 0:
        yield invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    if mode == "ExactCount" and count <= 0:
        yield invalid(f"{path}.count", count, "must be greater than zero")
    if not mode:
        # Any other unknown mode is a declared rule's; none comes only from v1beta1, where it is no default.
        yield not_supported(f"{path}.allocationMode", mode, _ALLOCATION_MODES)
    yield from each(value.get("tolerations"), f"{path}.tolerations", toleration)


def _device_class(value: dict[str, Any], path: str, name_rule: Rule) -> Errors:
    name = value.get("deviceClassName") or ""
    yield from name_rule(name, path) if name else [required(path)]


def _declared_request(value: dict[str, Any], path: str) -> Errors:
    if value.get("exactly") is not None:
        yield from _declared_devices(value["exactly"], f"{path}.exactly")
    yield from _declared_subrequests(value, path)


def _declared_flat_request(value: dict[str, Any], path: str) -> Errors:
    """Check a request of v1beta1, which has the fields of ``exactly`` itself."""
    yield from _declared_devices(value, path)
    yield from _declared_subrequests(value, path)


def _declared_subrequests(value: dict[str, Any], path: str) -> Errors:
    yield from declared_objects(
        value.get("firstAvailable"),
        f"{path}.firstAvailable",
        "resource/v1.DeviceSubRequest",
        name_of,
        maximum=limits.SUBREQUESTS,
        rule=_declared_subrequest,
    )


def _declared_subrequest(value: dict[str, Any], path: str) -> Errors:
    yield from _device_class(value, f"{path}.deviceClassName", names.declared_dns_subdomain)
    yield from _declared_devices(value, path)


def _declared_devices(value: dict[str, Any], path: str) -> Errors:
    yield from declared_list(value.get("selectors"), limits.SELECTORS, f"{path}.selectors")
    mode = value.get("allocationMode") or ""
    if mode and mode not in _ALLOCATION_MODES:
        yield not_supported(f"{path}.allocationMode", mode, _ALLOCATION_MODES)
    yield from each(value.get("tolerations"), f"{path}.tolerations", declared_toleration)
    derived = value.get("derivedAttributes")
    yield from declared_list(
        derived, limits.DERIVED_ATTRIBUTES, f"{path}.derivedAttributes", declared_derived_attribute
    )


def _constraint(value: dict[str, Any], path: str, known: RequestNames, gates: FeatureGates) -> Errors:
    yield from references(value.get("requests"), f"{path}.requests", known)
    if value.get("matchAttribute") is not None or value.get("distinctAttribute") is not None:
        return
    if gates.enabled("DRAConsumableCapacity"):
        detail = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
        yield required(path, detail)
    else:
        yield required(f"{path}.matchAttribute")


def _declared_constraint(value: dict[str, Any], path: str) -> Errors:
    yield from declared_set(value.get("requests"), f"{path}.requests", limits.CLAIM_REQUESTS)
    for field in ("matchAttribute", "distinctAttribute"):
        if value.get(field) is not None:
            yield from names.fully_qualified(value[field], f"{path}.{field}")
