"""The AdmissionReview that a webhook answers with: read by the Go types, and checked.

``VerifyAdmissionResponse`` of k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go; before it,
``Result.Into`` of k8s.io/client-go/rest/request.go and the decoders of apimachinery/pkg/runtime/serializer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission.webhooks import answer_types
from drakit_embedded.apiserver.outgoing import go_errors
from drakit_embedded.apiserver.outgoing.clients import Reply
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.wire import bodies

_GROUP, _KIND = "admission.k8s.io", "AdmissionReview"
_STATUS = ("Status", "v1")
_KNOWN_VERSIONS = ("v1", "v1beta1")
_JSON, _YAML = "application/json", "application/yaml"
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
    patch, patch_type = answer_types.decoded_bytes(response.get("patch")), response.get("patchType")
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
    if reply.failure:
        raise CallError(f"{_CALL}: {reply.failure}")
    if not 200 <= reply.status <= 206:
        raise CallError(f"{_CALL}: {_refused(reply)}")
    if not reply.body:
        where = f"status code: {reply.status} and content type: {reply.content_type}"
        raise CallError(f"{_CALL}: 0-length response with {where}")
    try:
        found = _parsed(reply.body)
        return _typed(found, version)
    except StatusError as error:
        raise CallError(f"{_CALL}: {error.message}") from None
    except answer_types.TypeFault as fault:
        raise CallError(f"{_CALL}: {fault}") from None


def _refused(reply: Reply) -> str:
    """Say why a reply is an error; a Status in its body says it better, where the status of HTTP says little."""
    if reply.body:
        try:
            found = _parsed(reply.body)
        except StatusError:
            found = {}
        if _is_status(found) and found.get("status") == "Failure" and isinstance(found.get("message"), str):
            return str(found["message"])
    return go_errors.of_status(reply.status, reply.content_type, reply.body)


def _parsed(body: bytes) -> Object:
    """Read an object in JSON or YAML, as upstream's recognizing decoder: it tries both if it begins with a brace."""
    if body.lstrip().startswith(b"{"):
        try:
            return bodies.parse(body, _JSON, "")
        except StatusError:
            pass
    return bodies.parse(body, _YAML, "")


def _is_status(found: Object) -> bool:
    return found.get("kind") == _STATUS[0] and (found.get("apiVersion") or "v1") == _STATUS[1]


def _typed(found: Object, version: str) -> Object:
    """Check the type of what was read, and of its fields."""
    kind, api_version = found.get("kind") or _KIND, found.get("apiVersion") or f"{_GROUP}/{version}"
    if _is_status(found):
        if found.get("status") != "Success":
            raise CallError(f"{_CALL}: {_message(found)}")
        return {}
    group, _, named = api_version.rpartition("/")
    if kind != _KIND or group not in ("", _GROUP) or named not in _KNOWN_VERSIONS:
        raise CallError(f"{_CALL}: {bodies.unregistered(kind, api_version)}")
    if named != version:
        raise CallError(f"{_CALL}: converting ({named}.{_KIND}) to ({version}.{_KIND}): unknown conversion")
    answer_types.check(found)
    return found


def _message(status: Object) -> str:
    message: Any = status.get("message")
    return message if isinstance(message, str) and message else "unknown"
