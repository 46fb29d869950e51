"""The review in the body of a webhook's reply, read by its Go types: of admission, and of conversion.

``Result.Into`` of k8s.io/client-go/rest/request.go and the decoders of apimachinery/pkg/runtime/serializer.
"""

from __future__ import annotations

from typing import NamedTuple

from drakit_api.kubernetes_objects import Object
from drakit_api.objects.decoding import DecodeError
from drakit_embedded.apiserver.admission.webhooks import answer_types
from drakit_embedded.apiserver.outgoing import go_errors
from drakit_embedded.apiserver.outgoing.clients import Reply
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.wire import bodies

_STATUS = "Status"
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
        is_status = bodies.type_said(found) in ((_STATUS, ""), (_STATUS, "v1"))
        if is_status and found.get("status") == "Failure" and isinstance(found.get("message"), str):
            return str(found["message"])
    return go_errors.of_status(reply.status, reply.content_type, reply.body)


def _parsed(body: bytes) -> Object:
    """Read an object as upstream's recognizing decoder: in JSON if it begins with a brace, else in YAML."""
    return bodies.parse(body, _JSON if body.lstrip().startswith(b"{") else _YAML, "")


def _typed(found: Object, wanted: Wanted) -> Object:
    """Check the type of what was read, and read its fields."""
    kind, api_version = bodies.type_said(found)
    kind = kind or wanted.kind
    group, _, version = api_version.rpartition("/")
    if not version and group in ("", wanted.group):
        group, version = wanted.group, wanted.version
    is_own = group == wanted.group and version in _KNOWN_VERSIONS
    if not (is_own and kind in (wanted.kind, _STATUS)) and (kind, group, version) != (_STATUS, "", "v1"):
        raise ReplyError(bodies.unregistered(kind, f"{group}/{version}" if group else version))
    if kind == _STATUS:
        # It is known in every version, and always the one of v1.
        version = "v1"
    if (kind, version) != (wanted.kind, wanted.version):
        raise ReplyError(f"converting ({version}.{kind}) to ({wanted.version}.{wanted.kind}): unknown conversion")
    return answer_types.read(found, wanted.kind)
