"""The AdmissionReview that a webhook answers with: read by the Go types, and checked.

``VerifyAdmissionResponse`` of k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission.webhooks import replies
from drakit_embedded.apiserver.admission.webhooks.replies import ReplyError, Wanted
from drakit_embedded.apiserver.outgoing.clients import Reply

_GROUP, _KIND = "admission.k8s.io", "AdmissionReview"
_CALL, _RESPONSE = "failed to call webhook", "received invalid webhook response"


class CallError(Exception):
    """A call that brought no valid answer; the message says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a webhook has decided."""

    allowed: bool
    # A Status, which says why not.
    status: Object = field(default_factory=dict)
    # A JSON patch, not parsed yet, and of which type it says that it is.
    patch: bytes = b""
    patch_type: str = ""
    warnings: tuple[str, ...] = ()


def read(reply: Reply, *, uid: str, version: str, mutating: bool) -> Answer:
    """Read the reply to the review of a version with a UID.

    Raises:
        CallError: if there is no valid answer.
    """
    review = _review(reply, version)
    if not isinstance(review.get("response"), dict):
        raise CallError(f"{_RESPONSE}: webhook response was absent")
    response: Object = review["response"]
    patch, patch_type = base64.b64decode(response.get("patch", "")), response.get("patchType")
    if version == "v1":
        _check(review, response, uid)
        problem = _of_mutating(patch, patch_type) if mutating else _of_validating(patch, patch_type)
        if problem:
            raise CallError(f"{_RESPONSE}: {problem}")
    elif patch:
        # The oldest webhooks do not say of which type it is.
        patch_type = "JSONPatch"
    return Answer(
        response.get("allowed") or False,
        response.get("status") or {},
        patch if mutating else b"",
        patch_type or "",
        tuple(text or "" for text in response.get("warnings") or ()),
    )


def _check(review: Object, response: Object, uid: str) -> None:
    found = response.get("uid") or ""
    if found != uid:
        raise CallError(f"{_RESPONSE}: expected response.uid={quote(uid)}, got {quote(found)}")
    kind, api_version = review.get("kind") or "", review.get("apiVersion") or ""
    if (kind, api_version) != (_KIND, f"{_GROUP}/v1"):
        group, _, named = api_version.rpartition("/")
        wanted, got = f"{_GROUP}/v1, Kind={_KIND}", f"{group}/{named}, Kind={kind}"
        raise CallError(f"{_RESPONSE}: expected webhook response of {wanted}, got {got}")


def _of_mutating(patch: bytes, patch_type: str | None) -> str:
    if patch and patch_type is None:
        return "webhook returned response.patch but not response.patchType"
    if not patch and patch_type is not None:
        return "webhook returned response.patchType but not response.patch"
    return 'webhook returned invalid response.patchType of ""' if patch_type == "" else ""


def _of_validating(patch: bytes, patch_type: str | None) -> str:
    if patch:
        return "validating webhook may not return response.patch"
    return "" if patch_type is None else "validating webhook may not return response.patchType"


def _review(reply: Reply, version: str) -> Object:
    """Decode the body of a reply into the review of a version."""
    try:
        return replies.review(reply, Wanted(_GROUP, _KIND, version))
    except ReplyError as error:
        raise CallError(f"{_CALL}: {error}") from None
