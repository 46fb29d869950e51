"""The review in the body of a webhook's reply, read by its Go types: of admission, and of conversion.

``Result.Into`` of k8s.io/client-go/rest/request.go and the decoders of apimachinery/pkg/runtime/serializer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from drakit_api.kubernetes_objects import Object
from drakit_api.objects.decoding import DecodeError
from drakit_embedded.apiserver.admission.webhooks import answer_types
from drakit_embedded.apiserver.outgoing import go_errors
from drakit_embedded.apiserver.outgoing.clients import Reply
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.wire import bodies

_STATUS = ("Status", "v1")
_KNOWN_VERSIONS = ("v1", "v1beta1")
_JSON, _YAML = "application/json", "application/yaml"


class ReplyError(Exception):
    """A reply with no review in it; the message says why."""


class Wanted(NamedTuple):
    """The type of the review that is expected."""

    group: str
    kind: str
    version: str


def review(reply: Reply, wanted: Wanted) -> Object:
    """Decode the body of a reply; what does not say its type may have no more than the right fields.

    Raises:
        ReplyError: if there is no such review.
    """
    if reply.failure:
        raise ReplyError(reply.failure)
    if not 200 <= reply.status <= 206:
        raise ReplyError(_refused(reply))
    if not reply.body:
        where = f"status code: {reply.status} and content type: {reply.content_type or _JSON}"
        raise ReplyError(f"0-length response with {where}")
    try:
        return _typed(_parsed(reply.body), wanted)
    except StatusError as error:
        raise ReplyError(error.message) from None
    except DecodeError as error:
        raise ReplyError(str(error)) from None


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
    """Read an object as upstream's recognizing decoder: in JSON if it begins with a brace, else in YAML."""
    return bodies.parse(body, _JSON if body.lstrip().startswith(b"{") else _YAML, "")


def _is_status(found: Object) -> bool:
    return found.get("kind") == _STATUS[0] and (found.get("apiVersion") or "v1") == _STATUS[1]


def _typed(found: Object, wanted: Wanted) -> Object:
    """Check the type of what was read, and read its fields."""
    kind = found.get("kind") or wanted.kind
    api_version = found.get("apiVersion") or f"{wanted.group}/{wanted.version}"
    if _is_status(found):
        if found.get("status") != "Success":
            raise ReplyError(_message(found))
        return {}
    group, _, named = api_version.rpartition("/")
    if kind != wanted.kind or group not in ("", wanted.group) or named not in _KNOWN_VERSIONS:
        raise ReplyError(bodies.unregistered(kind, api_version))
    if named != wanted.version:
        raise ReplyError(f"converting ({named}.{kind}) to ({wanted.version}.{kind}): unknown conversion")
    return answer_types.read(found, wanted.kind)


def _message(status: Object) -> str:
    message: Any = status.get("message")
    return message if isinstance(message, str) and message else "unknown"
