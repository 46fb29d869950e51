"""Decoding, defaulting, gated fields and validation give the answers that a real kube-apiserver 1.37.1 gave.

Each vector is a create, update or status update; compared are the code, the causes with field, reason and message, the
message of a bad request, and the object that would be stored. Whether a kind is served at all is for the server to
know, and tested there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from drakit_api import validation
from drakit_api.features import FeatureGates
from drakit_api.objects import encoding, lifecycle
from drakit_api.objects.decoding import DecodeError, decode
from drakit_api.objects.defaults import set_defaults
from tests.vectors.exchanges import GATES, OF_RULES, Vector, comparable, recorded

pytestmark = pytest.mark.slow

NOW = "2026-01-01T00:00:00Z"
KINDS = {
    "resourceslices": "ResourceSlice",
    "resourceclaims": "ResourceClaim",
    "resourceclaimtemplates": "ResourceClaimTemplate",
    "deviceclasses": "DeviceClass",
    "devicetaintrules": "DeviceTaintRule",
}
NAMESPACED = {"resourceclaims", "resourceclaimtemplates"}
CASES = [("create", resource) for resource in KINDS] + [("update", resource) for resource in KINDS]
CASES.append(("status", "resourceclaims"))

Answer = tuple[int, Any]


def vectors(op: str, resource: str) -> Iterator[Vector]:
    asked = (vector for file in OF_RULES for vector in recorded(file))
    served = (vector for vector in asked if vector["response"]["code"] != 404)
    return (vector for vector in served if vector["op"] == op and vector.get("resource") == resource)


def key(vector: Vector) -> str:
    return f"{vector['server']} | {vector['op']} | {vector['name']}"


def received(vector: Vector, field: str) -> dict[str, Any]:
    """A decoded object with its defaults, in the namespace that the request named."""
    obj = decode(KINDS[vector["resource"]], vector[field])
    set_defaults(KINDS[vector["resource"]], obj, NOW)
    meta = obj.setdefault("metadata", {})
    if vector["resource"] in NAMESPACED:
        meta.setdefault("namespace", "default")
    return obj


def stored(vector: Vector, gates: FeatureGates) -> dict[str, Any]:
    """The object that an update finds."""
    obj = received(vector, "old")
    status = obj.get("status")
    lifecycle.prepare_create(KINDS[vector["resource"]], obj, gates)
    if status:
        obj["status"] = status
    obj["metadata"] |= {"resourceVersion": "1", "uid": "u", "creationTimestamp": NOW}
    return obj


def replay(vector: Vector) -> Answer:
    """Code, and causes, message or object."""
    resource, op, gates = vector["resource"], vector["op"], GATES[vector["server"]]
    kind = KINDS[resource]
    try:
        obj = received(vector, "object")
    except DecodeError as error:
        return 400, clauses(str(error))
    admin = obj["metadata"].get("namespace") == "admin"
    if op == "create":
        lifecycle.prepare_create(kind, obj, gates)
        errors = validation.validate_create(resource, obj, gates, admin_namespace=admin)
    else:
        old = stored(vector, gates)
        obj["metadata"]["resourceVersion"] = "1"
        if op == "update":
            lifecycle.prepare_update(kind, obj, old, gates, now=NOW)
            errors = validation.validate_update(resource, obj, old, gates)
        else:
            lifecycle.prepare_status_update(kind, obj, old, gates)
            errors = validation.validate_status_update(resource, obj, old, gates, admin_namespace=admin)
    if errors:
        return 422, Counter((error.field, error.reason, error.message) for error in errors)
    return 201 if op == "create" else 200, comparable(encoding.encode(kind, obj))


def answered(vector: Vector) -> Answer:
    response = vector["response"]
    match response["code"]:
        case 422:
            causes = response["causes"]
            return 422, Counter((cause["field"], cause["reason"], cause["message"]) for cause in causes)
        case 200 | 201:
            return response["code"], comparable(response["object"])
        case code:
            return code, clauses(response["message"])


def clauses(message: str) -> list[str]:
    """Several unknown fields come in any order."""
    return sorted(message.split(", "))


@pytest.mark.parametrize(("op", "resource"), CASES)
def test_answers_as_kube_apiserver(op: str, resource: str) -> None:
    compared = 0
    for vector in vectors(op, resource):
        assert replay(vector) == answered(vector), key(vector)
        compared += 1
    assert compared


def test_errors_come_in_the_order_of_kube_apiserver() -> None:
    """Where Go's maps leave it an order: everywhere but for attributes and capacities."""
    compared = 0
    for vector in vectors("create", "resourceclaims"):
        causes = vector["response"].get("causes", [])
        if len(causes) > 1:
            obj = received(vector, "object")
            gates = GATES[vector["server"]]
            lifecycle.prepare_create("ResourceClaim", obj, gates)
            errors = validation.validate_create("resourceclaims", obj, gates)
            assert [error.field for error in errors] == [cause["field"] for cause in causes], key(vector)
            compared += 1
    assert compared


def test_the_status_of_an_invalid_object() -> None:
    """Its message names the object and lists each error once."""
    for vector in vectors("create", "deviceclasses"):
        response = vector["response"]
        if response["code"] == 422:
            obj, gates = received(vector, "object"), GATES[vector["server"]]
            errors = validation.validate_create("deviceclasses", obj, gates)
            name = obj["metadata"].get("name", "")
            status = validation.invalid_status("DeviceClass", "resource.k8s.io", name, errors)
            assert (status["message"], status["code"]) == (response["message"], 422)
            assert status["details"]["causes"] == response["causes"]
