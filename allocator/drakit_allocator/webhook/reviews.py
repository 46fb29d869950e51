"""Judges the expressions of a ResourceSlicePatch, in the words that kube-apiserver has for those of a DeviceClass.

What is asked and answered is admission.k8s.io/v1 AdmissionReview (``k8s.io/api`` v0.37.1 ``admission/v1/types.go``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from drakit_api.features import FeatureGates
from drakit_api.golang.goerrors import aggregated
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import FieldError
from drakit_api.validation.selectors import selectors

_API_VERSION, _KIND = "admission.k8s.io/v1", "AdmissionReview"
_PATCHES = ("resource.drakit.dev", "ResourceSlicePatch")
_JUDGED = ("CREATE", "UPDATE")
_PATH = "spec.devices.filter.selectors"


class ReviewError(ValueError):
    """What came is no AdmissionReview of a version that is known here."""


def answer(body: bytes, gates: FeatureGates) -> Object:
    """Answer a review: allowed, or denied with every expression that does not compile or costs too much.

    Only patches that are created or updated are judged. An expression that the old patch has, too, is not judged again:
    it was valid when it came, under the gates of that time. Raises ``ReviewError``.
    """
    request = _request(body)
    found = list(_faults(request, gates)) if _is_judged(request) else []
    response: Object = {"uid": request["uid"], "allowed": not found}
    if found:
        response["status"] = _refusal(_name(request), found)
    return {"apiVersion": _API_VERSION, "kind": _KIND, "response": response}


def _request(body: bytes) -> Object:
    try:
        review: Any = msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        raise ReviewError(f"the body is no JSON: {error}") from None
    if not isinstance(review, dict) or (review.get("apiVersion"), review.get("kind")) != (_API_VERSION, _KIND):
        raise ReviewError(f"the body is no {_KIND} in {_API_VERSION}, the only version that is answered here")
    request = review.get("request")
    if not isinstance(request, dict) or not isinstance(request.get("uid"), str):
        raise ReviewError(f"the {_KIND} has no request with a uid")
    return request


def _is_judged(request: Object) -> bool:
    kind = request.get("kind")
    named = isinstance(kind, dict) and (kind.get("group"), kind.get("kind")) == _PATCHES
    return named and request.get("operation") in _JUDGED and not request.get("subResource")


def _faults(request: Object, gates: FeatureGates) -> Iterator[FieldError]:
    known = set(_expressions(request.get("oldObject")).values())
    for index, expression in _expressions(request.get("object")).items():
        if expression not in known:
            # One by one, so that each has the place that it has in the list.
            for fault in selectors([{"cel": {"expression": expression}}], _PATH, gates):
                yield FieldError(fault.reason, fault.field.replace("[0]", f"[{index}]", 1), fault.message)


def _expressions(patch: Any) -> dict[int, str]:
    """Return the expressions of a patch by their places; what the schema would refuse has none."""
    found = patch
    for field in ("spec", "devices", "filter", "selectors"):
        found = found.get(field) if isinstance(found, dict) else None
    listed = enumerate(found if isinstance(found, list) else ())
    cels = ((index, item.get("cel")) for index, item in listed if isinstance(item, dict))
    return {
        index: cel["expression"]
        for index, cel in cels
        if isinstance(cel, dict) and isinstance(cel.get("expression"), str)
    }


def _name(request: Object) -> str:
    """Return the name of the patch; of one whose name the server is to make, what it begins with."""
    metadata = request["object"].get("metadata")
    own = metadata if isinstance(metadata, dict) else {}
    names = (request.get("name"), own.get("name"), own.get("generateName"))
    return next((one for one in names if one and isinstance(one, str)), "")


def _refusal(name: str, found: list[FieldError]) -> Object:
    """Refuse a patch as an API server refuses its own kinds: kubectl prints kind and name only if they are details."""
    group, kind = _PATCHES
    causes = [{"reason": fault.reason, "message": fault.message, "field": fault.field} for fault in found]
    return {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": f"{kind}.{group} {quote(name)} is invalid: {aggregated(map(str, found))}",
        "details": {"name": name, "group": group, "kind": kind, "causes": causes},
    }
