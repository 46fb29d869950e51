"""Refusals in Kubernetes' words: every error that leaves the server is a ``Status`` object.

Clients branch on ``reason`` and ``code`` and people read ``message``, so all three follow
k8s.io/apimachinery/pkg/api/errors/errors.go, which has one constructor for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object


class FieldFault(Protocol):
    """What a validation rule reports: ``drakit_api.validation.FieldError`` or a ``Cause`` of the server's own."""

    @property
    def reason(self) -> str: ...
    @property
    def field(self) -> str: ...
    @property
    def message(self) -> str: ...


class Cause(NamedTuple):
    """One field at fault, as in ``details.causes``."""

    reason: str
    field: str
    message: str


class StatusError(Exception):
    """A refusal: the HTTP code and the Status that says why."""

    def __init__(self, code: int, reason: str, message: str, details: Object | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        # Its ListMeta: a refused page can have a token by which the list goes on.
        self.metadata: Object = {}
        # What the client is to be told besides (the texts of Warning headers).
        self.warnings: Sequence[str] = ()

    @property
    def headers(self) -> dict[str, str]:
        """What goes into the header of the answer besides."""
        seconds = (self.details or {}).get("retryAfterSeconds")
        return {"Retry-After": str(seconds)} if seconds else {}

    def status(self) -> Object:
        """The ``Status`` object to send."""
        status: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


def qualified(name: str, group: str) -> str:
    """``resourceclaims.resource.k8s.io``; the core group has no suffix."""
    return f"{name}.{group}" if group else name


def _details(name: str, group: str, kind: str) -> Object:
    pairs = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in pairs.items() if value}


def not_found(plural: str, group: str, name: str) -> StatusError:
    """The object does not exist."""
    message = f"{qualified(plural, group)} {quote(name)} not found"
    return StatusError(404, "NotFound", message, _details(name, group, plural))


def absent(plural: str, group: str, name: str) -> StatusError:
    """Nothing is stored under the name on a path, or nothing can be."""
    return unstorable(name) or not_found(plural, group, name)


def unstorable(name: str) -> StatusError | None:
    """Why nothing can be stored under the name on a path, if so (k8s.io/apimachinery/pkg/api/validation/path)."""
    if name in (".", ".."):
        return bad_request(f"Name parameter invalid: {quote(name)}: may not be '{name}'")
    if "%" in name:
        return bad_request(f"Name parameter invalid: {quote(name)}: may not contain '%'")
    return None


def unknown_resource() -> StatusError:
    """The path names no kind that is served."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(
    plural: str, group: str, name: str, *, generated: bool = False, leaving: bool = False
) -> StatusError:
    """An object of this name exists; ``generated``: it was made up here, ``leaving``: the object is being deleted."""
    message = f"{qualified(plural, group)} {quote(name)} already exists"
    details = _details(name, group, plural)
    if generated:
        message += ", the server was not able to generate a unique name for the object"
        details["retryAfterSeconds"] = 1
    if leaving:
        message = f"object is being deleted: {message}"
    return StatusError(409, "AlreadyExists", message, details)


def conflict(plural: str, group: str, name: str, why: str) -> StatusError:
    """The object is not in the state that the request was made for."""
    message = f"Operation cannot be fulfilled on {qualified(plural, group)} {quote(name)}: {why}"
    return StatusError(409, "Conflict", message, _details(name, group, plural))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def invalid(kind: str, group: str, name: str, faults: Sequence[FieldFault]) -> StatusError:
    """Validation refused the object; ``faults`` in the order in which they are to be read."""
    texts = list(dict.fromkeys(f"{fault.field}: {fault.message}" for fault in faults))
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = _details(name, group, kind)
    details["causes"] = [{"reason": f.reason, "message": f.message, "field": f.field} for f in faults]
    return StatusError(422, "Invalid", f"{qualified(kind, group)} {quote(name)} is invalid: {listed}", details)


def bad_request(message: str) -> StatusError:
    """The request cannot be understood."""
    return StatusError(400, "BadRequest", message)


def forbidden(plural: str, group: str, name: str, why: str) -> StatusError:
    """Understood, and not allowed."""
    target = qualified(plural, group)
    message = f"{target} {quote(name)} is forbidden: {why}" if name else f"{target} is forbidden: {why}"
    return StatusError(403, "Forbidden", message, _details(name, group, plural))


def unauthorized() -> StatusError:
    """No token, or a wrong one."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def method_not_allowed(why: str = "") -> StatusError:
    """The kind is served, but not with this verb; ``why`` is for limits of this server."""
    message = why or "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, {})


def not_supported(plural: str, group: str, verb: str) -> StatusError:
    """The kind is served, but not in this way."""
    message = f'{verb} is not supported on resources of kind "{qualified(plural, group)}"'
    return StatusError(405, "MethodNotAllowed", message, _details("", group, plural))


def unsupported_body() -> StatusError:
    """The body of a write is in a format that is not read here."""
    accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    message = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    return StatusError(415, "UnsupportedMediaType", message)


def unsupported_patch() -> StatusError:
    """The content type of a PATCH is none of the patch types."""
    return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def not_acceptable(accepted: Sequence[str]) -> StatusError:
    """The client takes nothing that could be sent."""
    message = f"only the following media types are accepted: {', '.join(accepted)}"
    return StatusError(406, "NotAcceptable", message)


def nameless(on_url: str) -> StatusError:
    """400: an object that does not say which it is (checkName of k8s.io/apiserver/pkg/endpoints/handlers/rest.go)."""
    return bad_request(f"the name of the object ({on_url} based on URL) was undeterminable: name must be provided")


def misnamed(name: str, on_url: str) -> StatusError:
    """400: an object that says it is another than the one of the path (checkName)."""
    return bad_request(f"the name of the object ({name}) does not match the name on the URL ({on_url})")


def check_name(name: str | None, on_url: str) -> None:
    """An object that takes a place says which; raises ``nameless`` or ``misnamed``."""
    if not name:
        raise nameless(on_url)
    if name != on_url:
        raise misnamed(name, on_url)


def check_namespace(given: str | None, on_url: str) -> None:
    """An object that says in which namespace it is says what the path says; 400 otherwise.

    EnsureObjectNamespaceMatchesRequestNamespace of k8s.io/apiserver/pkg/registry/rest/meta.go.
    """
    if given and given != on_url:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def rejected() -> StatusError:
    """A JSON patch does not apply to the object."""
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {})


def expired(message: str) -> StatusError:
    """A resourceVersion or continue token from before the history that is kept."""
    return StatusError(410, "Expired", message)


def too_large_version(asked: int, current: int) -> StatusError:
    """A resourceVersion from the future: another server's, or from before the data was lost."""
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return StatusError(504, "Timeout", message, details)


def too_large_body(limit: int) -> StatusError:
    """The body is longer than the server reads."""
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def incomplete_request() -> StatusError:
    """The request has not been sent in time (k8s.io/apiserver/pkg/server/filters/timeout.go)."""
    return StatusError(504, "Timeout", "Timeout: request did not complete within the allotted timeout", {})


def internal(why: str) -> StatusError:
    """The server, or something that it depends on, failed."""
    details = {"causes": [{"message": why}]}
    return StatusError(500, "InternalError", f"Internal error occurred: {why}", details)


def success(plural: str, group: str, name: str, uid: str) -> Object:
    """The answer to a DELETE that is done (rest.Store: a Status with the details of what was removed)."""
    details = _details(name, group, plural)
    if uid:
        details["uid"] = uid
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
