"""A request as authorizers see it, and the words in which it is refused.

After k8s.io/apiserver/pkg/endpoints/request/requestinfo.go, pkg/endpoints/filters/authorization.go and
pkg/endpoints/handlers/responsewriters/errors.go.
"""

from __future__ import annotations

from dataclasses import dataclass

from drakit_api.golang.gostrings import quote
from drakit_embedded.apiserver.identity.users import User
from drakit_embedded.apiserver.reading import field_selectors
from drakit_embedded.apiserver.requests import NAMESPACE_SUBRESOURCES, Query
from drakit_embedded.apiserver.statuses import StatusError, forbidden

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_IN_PATH = ("proxy", "watch")
_SANITIZED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(slots=True)
class Access:
    """What a user wants to do: with a resource, or (``resource`` empty, ``path`` given) with a path."""

    user: User
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    # ``field=value`` terms of the field selector; authorizers ignore other operators.
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def is_resource(self) -> bool:
        """Whether a resource is asked for, rather than a path."""
        return not self.path

    def refusal(self, reason: str = "") -> StatusError:
        """Build the 403 that refuses this access, with the authorizer's ``reason``."""
        message = self._message().translate(_SANITIZED)
        if reason:
            message = f"{message}: {reason}"
        if not self.is_resource:
            return StatusError(403, "Forbidden", f"forbidden: {message}", {})
        return forbidden(self.resource, self.group, self.name, message)

    def _message(self) -> str:
        who = f"User {quote(self.user.name)} cannot {self.verb}"
        if not self.is_resource:
            return f"{who} path {quote(self.path)}"
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        where = f"in the namespace {quote(self.namespace)}" if self.namespace else "at the cluster scope"
        return f"{who} resource {quote(what)} in API group {quote(self.group)} {where}"


def of_request(user: User, method: str, path: str, segments: list[str], query: Query) -> Access:
    """Work out what an HTTP request asks for; ``segments`` are those of the unescaped ``path``."""
    start = {"api": 1, "apis": 2}.get(segments[0], 0)
    if not start or len(segments) < start + 2:
        return Access(user, method.lower(), path=path or "/")
    access = Access(user, _VERBS.get(method, ""), group=segments[1] if start == 2 else "")
    parts = segments[start + 1 :]
    by_path = parts[0] in _IN_PATH and len(parts) > 1
    if by_path:
        access.verb, parts = parts[0], parts[1:]
    if parts[0] == "namespaces" and len(parts) > 1:
        access.namespace = parts[1]
        if len(parts) > 2 and parts[2] not in NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    access.resource, access.name, access.subresource, *_ = [*parts, "", "", ""]
    if access.verb == "get" and not access.name:
        access.verb = "watch" if query.flag("watch") else "list"
    elif access.verb == "delete" and not access.name:
        access.verb = "deletecollection"
    if not by_path and access.verb in ("list", "watch", "deletecollection"):
        _read_selector(access, query)
    return access


def _read_selector(access: Access, query: Query) -> None:
    access.fields = exact_fields(query.text("fieldSelector"))
    named = dict(access.fields).get("metadata.name", "")
    if access.verb != "deletecollection" and not access.name and named not in ("", ".", "..") and "%" not in named:
        # A list selected by ``metadata.name`` is authorized as a request for that object.
        access.name = named if "/" not in named else ""


def exact_fields(selector: str) -> tuple[tuple[str, str], ...]:
    """List the ``field=value`` terms of a field selector; none if it cannot be parsed."""
    try:
        terms = field_selectors.parse(selector)
    except StatusError:
        return ()
    return tuple((term.field, term.value) for term in terms if term.equal)
