"""Refusals in Kubernetes' words: every error that leaves the server is a ``Status`` object.

Clients branch on ``reason`` and ``code`` and people read ``message``, so all three follow
k8s.io/apimachinery/pkg/api/errors/errors.go, which has one constructor for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from drakit_api.golang.goerrors import aggregated
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object


class FieldFault(Protocol):
    """What a validation rule reports: ``drakit_api.validation.FieldError`` or a ``Cause`` of the server's own."""

    @property
    def reason(self) -> str:
        """The type of the cause, e.g. ``FieldValueInvalid``."""

    @property
    def field(self) -> str:
        """The path of the field, e.g. ``spec.devices[0].name``."""

    @property
    def message(self) -> str:
        """What is wrong with it."""


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
        # The ListMeta of the Status: an expired page may have a token by which the list can be continued.
        self.metadata: Object = {}
        # Texts of additional Warning headers.
        self.warnings: Sequence[str] = ()

    @property
    def headers(self) -> dict[str, str]:
        """The additional headers of the answer."""
        seconds = (self.details or {}).get("retryAfterSeconds")
        return {"Retry-After": str(seconds)} if seconds else {}

    def status(self) -> Object:
        """Build the ``Status`` object to send."""
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
    """Qualify a name by its group: ``resourceclaims.resource.k8s.io``; the core group has no suffix."""
    return f"{name}.{group}" if group else name


def _details(name: str, group: str, kind: str) -> Object:
    pairs = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in pairs.items() if value}


def not_found(plural: str, group: str, name: str) -> StatusError:
    """Build the 404 for an object that does not exist."""
    message = f"{qualified(plural, group)} {quote(name)} not found"
    return StatusError(404, "NotFound", message, _details(name, group, plural))


def absent(plural: str, group: str, name: str) -> StatusError:
    """Build the refusal of a name under which nothing is stored, or can be."""
    return unstorable(name) or not_found(plural, group, name)


def unstorable(name: str) -> StatusError | None:
    """Build the 400 for a name that no object can have, or None (k8s.io/apimachinery/pkg/api/validation/path)."""
    if name in (".", ".."):
        return bad_request(f"Name parameter invalid: {quote(name)}: may not be '{name}'")
    if "%" in name:
        return bad_request(f"Name parameter invalid: {quote(name)}: may not contain '%'")
    return None


def unknown_resource() -> StatusError:
    """Build the 404 for a path that names no kind that is served."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(
    plural: str, group: str, name: str, *, generated: bool = False, leaving: bool = False
) -> StatusError:
    """Build the 409 for a name in use; ``generated`` by this server, ``leaving`` if its object is being deleted."""
    message = f"{qualified(plural, group)} {quote(name)} already exists"
    details = _details(name, group, plural)
    if generated:
        message += ", the server was not able to generate a unique name for the object"
        details["retryAfterSeconds"] = 1
    if leaving:
        message = f"object is being deleted: {message}"
    return StatusError(409, "AlreadyExists", message, details)


def conflict(plural: str, group: str, name: str, why: str) -> StatusError:
    """Build the 409 for an object that is not in the state that the request was made for."""
    message = f"Operation cannot be fulfilled on {qualified(plural, group)} {quote(name)}: {why}"
    return StatusError(409, "Conflict", message, _details(name, group, plural))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def invalid(kind: str, group: str, name: str, faults: Sequence[FieldFault]) -> StatusError:
    """Build the 422 for an object that validation refused; ``faults`` in the order in which they are to be read."""
    listed = aggregated(f"{fault.field}: {fault.message}" for fault in faults)
    details = _details(name, group, kind)
    details["causes"] = [{"reason": f.reason, "message": f.message, "field": f.field} for f in faults]
    return StatusError(422, "Invalid", f"{qualified(kind, group)} {quote(name)} is invalid: {listed}", details)


def bad_request(message: str) -> StatusError:
    """Build the 400 for a request that cannot be understood."""
    return StatusError(400, "BadRequest", message)


def forbidden(plural: str, group: str, name: str, why: str) -> StatusError:
    """Build the 403 for a request that is not allowed."""
    target = qualified(plural, group)
    message = f"{target} {quote(name)} is forbidden: {why}" if name else f"{target} is forbidden: {why}"
    return StatusError(403, "Forbidden", message, _details(name, group, plural))


def unauthorized() -> StatusError:
    """Build the 401 for a missing or wrong token."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def method_not_allowed(why: str = "") -> StatusError:
    """Build the 405 for a verb that a kind does not have; ``why`` is for limits of this server."""
    message = why or "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, {})


def not_supported(plural: str, group: str, verb: str) -> StatusError:
    """Build the 405 for a verb that a resource is not served with, such as watching it."""
    message = f'{verb} is not supported on resources of kind "{qualified(plural, group)}"'
    return StatusError(405, "MethodNotAllowed", message, _details("", group, plural))


def unsupported_body(*accepted: str) -> StatusError:
    """Build the 415 for the body of a write in an unknown format; without others, those of objects are accepted."""
    listed = ", ".join(accepted or ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf"))
    message = f"the body of the request was in an unknown format - accepted media types include: {listed}"
    return StatusError(415, "UnsupportedMediaType", message)


def unsupported_patch() -> StatusError:
    """Build the 415 for a PATCH whose content type is no patch type."""
    return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def not_acceptable(accepted: Sequence[str]) -> StatusError:
    """Build the 406 for a client that accepts none of the media types that could be sent."""
    message = f"only the following media types are accepted: {', '.join(accepted)}"
    return StatusError(406, "NotAcceptable", message)


def nameless(on_url: str) -> StatusError:
    """Build the 400 for an object without a name (checkName of k8s.io/apiserver/pkg/endpoints/handlers/rest.go)."""
    return bad_request(f"the name of the object ({on_url} based on URL) was undeterminable: name must be provided")


def misnamed(name: str, on_url: str) -> StatusError:
    """Build the 400 for an object with another name than the URL's (checkName)."""
    return bad_request(f"the name of the object ({name}) does not match the name on the URL ({on_url})")


def check_name(name: str | None, on_url: str) -> None:
    """Check that an object has the name in the URL.

    Raises:
        StatusError: ``nameless`` or ``misnamed``.
    """
    if not name:
        raise nameless(on_url)
    if name != on_url:
        raise misnamed(name, on_url)


def check_namespace(given: str | None, on_url: str) -> None:
    """Check that an object has the namespace in the URL, if it has any.

    EnsureObjectNamespaceMatchesRequestNamespace of k8s.io/apiserver/pkg/registry/rest/meta.go.

    Raises:
        StatusError: 400 if it has another.
    """
    if given and given != on_url:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def rejected() -> StatusError:
    """Build the 422 for a JSON patch that does not apply to the object."""
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {})


def expired(message: str) -> StatusError:
    """Build the 410 for a resourceVersion or continue token from before the history that is kept."""
    return StatusError(410, "Expired", message)


def too_large_version(asked: int, current: int) -> StatusError:
    """Build the 504 for a resourceVersion of the future: another server's, or from before data was lost."""
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return StatusError(504, "Timeout", message, details)


def too_large_body(limit: int) -> StatusError:
    """Build the 413 for a body that is longer than ``limit`` bytes."""
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def incomplete_request() -> StatusError:
    """Build the 504 for a request that was not sent in time (k8s.io/apiserver/pkg/server/filters/timeout.go)."""
    return StatusError(504, "Timeout", "Timeout: request did not complete within the allotted timeout", {})


def deadline_exceeded() -> StatusError:
    """Build the 504 for a request that took too long (k8s.io/apiserver/pkg/endpoints/handlers/finisher)."""
    why = "request did not complete within requested timeout - context deadline exceeded"
    return StatusError(504, "Timeout", f"Timeout: {why}", {})


def internal(why: str) -> StatusError:
    """Build the 500 for a failure of the server, or of something that it depends on."""
    details = {"causes": [{"message": why}]}
    return StatusError(500, "InternalError", f"Internal error occurred: {why}", details)


def unavailable(why: str) -> StatusError:
    """Build the 503 for what will be possible later (NewServiceUnavailable)."""
    return StatusError(503, "ServiceUnavailable", why)


def success(plural: str, group: str, name: str, uid: str) -> Object:
    """Build the answer to a DELETE that is done (rest.Store: a Status with the details of what was removed)."""
    details = _details(name, group, plural)
    if uid:
        details["uid"] = uid
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
