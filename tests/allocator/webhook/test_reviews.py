"""The webhook's judgement: what it says of which review, and that it says what the API server says of a DeviceClass."""

from __future__ import annotations

import json
from typing import Any

import pytest

from drakit_allocator.webhook.reviews import ReviewError, answer
from drakit_api import validation
from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object

_GATES = FeatureGates()
_KIND = {"group": "resource.drakit.dev", "version": "v1alpha3", "kind": "ResourceSlicePatch"}
_EXPENSIVE = " && ".join(['device.attributes["a"].b.matches("(a|b)*c")'] * 200)


def _patch(*expressions: Any) -> Object:
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    return {"metadata": {"name": "p"}, "spec": {"devices": {"filter": {"selectors": selectors}}}}


def _answered(new: Any, old: Any = None, gates: FeatureGates = _GATES, **request: Any) -> Object:
    operation = "UPDATE" if old else "CREATE"
    asked = {"uid": "u", "kind": _KIND, "operation": operation, "object": new, "oldObject": old, **request}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    found = answer(json.dumps(review).encode(), gates)
    assert (found["apiVersion"], found["kind"]) == (review["apiVersion"], review["kind"])
    assert found["response"]["uid"] == "u"
    return dict(found["response"])


def _causes(response: Object) -> list[tuple[str, str]]:
    return [(each["field"], each["message"]) for each in response["status"]["details"]["causes"]]


@pytest.mark.parametrize(
    "expression",
    [
        "device.drive == 'x'",
        "1 +",
        "'text'",
        "device.driver",
        "true &&",
        _EXPENSIVE,
        "device.attributes['a'].b",
        "true",
    ],
)
def test_an_expression_is_judged_as_that_of_a_device_class(expression: str) -> None:
    device_class = {"metadata": {"name": "c"}, "spec": {"selectors": [{"cel": {"expression": expression}}]}}
    wanted = validation.validate_create("deviceclasses", device_class, _GATES, admin_namespace=False, version="v1")
    response = _answered(_patch(expression))
    assert response["allowed"] == (not wanted)
    if wanted:
        assert _causes(response) == [
            (each.field.replace("spec.", "spec.devices.filter."), each.message) for each in wanted
        ]
        assert response["status"]["code"] == 422
        about = 'ResourceSlicePatch.resource.drakit.dev "p" is invalid: '
        assert response["status"]["message"].startswith(f"{about}spec.devices.filter.selectors[0].cel.expression: ")


def test_each_wrong_expression_is_told_by_its_place() -> None:
    response = _answered(_patch("true", "1 +", "true", "'text'"))
    assert [field for field, _ in _causes(response)] == [
        "spec.devices.filter.selectors[1].cel.expression",
        "spec.devices.filter.selectors[3].cel.expression",
    ]


@pytest.mark.parametrize(
    ("metadata", "request_", "name"),
    [
        pytest.param({"name": "p"}, {"name": "p"}, "p", id="of the request"),
        pytest.param({"name": "p"}, {}, "p", id="of the object alone"),
        pytest.param({"generateName": "p-"}, {"name": ""}, "p-", id="not made yet"),
        pytest.param(None, {"name": 1}, "", id="none"),
    ],
)
def test_a_refusal_names_the_patch(metadata: Any, request_: Object, name: str) -> None:
    status = _answered({**_patch("1 +"), "metadata": metadata}, **request_)["status"]
    named = {field: status["details"][field] for field in ("name", "group", "kind")}
    assert named == {"name": name, "group": "resource.drakit.dev", "kind": "ResourceSlicePatch"}
    assert status["message"].startswith(f'ResourceSlicePatch.resource.drakit.dev "{name}" is invalid: spec.')


def test_an_expression_that_was_there_is_not_judged_again() -> None:
    assert _answered(_patch("true", "1 +"), _patch("1 +"))["allowed"]
    assert not _answered(_patch("2 +"), _patch("1 +"))["allowed"]


@pytest.mark.parametrize(("gate", "allowed"), [(True, True), (False, False)])
def test_gates_decide_what_an_expression_may_use(gate: bool, allowed: bool) -> None:
    gates = FeatureGates("1.36", {"DRAConsumableCapacity": gate})
    assert _answered(_patch("device.allowMultipleAllocations == true"), gates=gates)["allowed"] == allowed


@pytest.mark.parametrize(
    "request_",
    [
        {"operation": "DELETE"},
        {"operation": "CONNECT"},
        {"subResource": "status"},
        {"kind": {**_KIND, "group": "resource.k8s.io"}},
        {"kind": {**_KIND, "kind": "Other"}},
        {"kind": None},
    ],
)
def test_what_is_not_its_business_is_allowed(request_: Object) -> None:
    assert not _answered(_patch("1 +"))["allowed"]
    assert _answered(_patch("1 +"), **request_) == {"uid": "u", "allowed": True}


_MALFORMED: list[Any] = [
    *(None, [], {"spec": None}, {"spec": {"devices": []}}, {"spec": {"devices": {"filter": {"selectors": "x"}}}}),
    *({"spec": {"devices": {"filter": {"selectors": [item]}}}} for item in (None, 1, {"cel": 1}, {"cel": None})),
    *(_patch(1), _patch(None)),
]


@pytest.mark.parametrize("patch", _MALFORMED)
def test_what_the_schema_refuses_is_left_to_it(patch: Any) -> None:
    assert _answered(patch)["allowed"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "no JSON"),
        (b"[]", "no AdmissionReview"),
        (b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}', "the only version"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', "no request with a uid"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":1}}', "no request with a uid"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_review_is_refused(body: bytes, why: str) -> None:
    with pytest.raises(ReviewError, match=why):
        answer(body, _GATES)
