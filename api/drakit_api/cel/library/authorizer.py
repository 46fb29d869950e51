"""Asking whether a user may do something (``k8s.io/apiserver`` v0.37 ``pkg/cel/library/authz.go``).

Only policies and match conditions have an authorizer; elsewhere the names are known, which shows in the errors of
expressions that were copied. The server answers, through ``Authorizations``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from drakit_api import formats
from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.values.declarations import overload, register


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for: a verb on a path, or on a resource; for a service account instead of who made the request.

    Without ``path`` it is about a resource. ``service_account`` is namespace and name. Selectors are as written, and
    empty where none was.
    """

    verb: str
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""
    service_account: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer; ``error`` is what went wrong while it was found, and empty if nothing did."""

    allowed: bool
    reason: str = ""
    error: str = ""


class Authorizations(Protocol):
    """The server's authorizer, for one request."""

    def authorize(self, question: Question) -> Decision:
        """Tell whether it is allowed."""


@dataclass(frozen=True, slots=True, eq=False)
class Authorizer:
    """The value of ``authorizer``."""

    authorizations: Authorizations
    service_account: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PathCheck:
    """What ``authorizer.path(...)`` returns."""

    authorizer: Authorizer
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class GroupCheck:
    """What ``authorizer.group(...)`` returns."""

    authorizer: Authorizer
    group: str


@dataclass(frozen=True, slots=True, eq=False)
class ResourceCheck:
    """What ``authorizer.group(...).resource(...)`` returns, and the value of ``authorizer.requestResource``."""

    authorizer: Authorizer
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


for _class in (Authorizer, PathCheck, GroupCheck, ResourceCheck, Decision):
    register(_class, f"kubernetes.authorization.{_class.__name__}", strict=True)


def _path(authorizer: Authorizer, path: str) -> PathCheck:
    if not path.strip():
        raise CelRuntimeError("path must not be empty")
    return PathCheck(authorizer, path)


def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if formats.dns_subdomain(name):
        raise CelRuntimeError("Invalid service account name")
    if formats.dns_label(namespace):
        raise CelRuntimeError("Invalid service account namespace")
    return dataclasses.replace(authorizer, service_account=(namespace, name))


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise CelRuntimeError("resource must not be empty")
    return ResourceCheck(check.authorizer, check.group, resource)


def _setting(field: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def with_field(check: ResourceCheck, value: str) -> ResourceCheck:
        changed: dict[str, Any] = {field: value}
        return dataclasses.replace(check, **changed)

    return with_field


def _check_path(check: PathCheck, verb: str) -> Decision:
    question = Question(verb, path=check.path, service_account=check.authorizer.service_account)
    return check.authorizer.authorizations.authorize(question)


def _check_resource(check: ResourceCheck, verb: str) -> Decision:
    question = Question(
        verb,
        group=check.group,
        resource=check.resource,
        subresource=check.subresource,
        namespace=check.namespace,
        name=check.name,
        field_selector=check.field_selector,
        label_selector=check.label_selector,
        service_account=check.authorizer.service_account,
    )
    return check.authorizer.authorizations.authorize(question)


FUNCTIONS = [
    overload("Authorizer.path(string) -> PathCheck", _path),
    overload("Authorizer.group(string) -> GroupCheck", GroupCheck),
    overload("Authorizer.serviceAccount(string, string) -> Authorizer", _service_account),
    overload("GroupCheck.resource(string) -> ResourceCheck", _resource),
    overload("ResourceCheck.subresource(string) -> ResourceCheck", _setting("subresource")),
    overload("ResourceCheck.namespace(string) -> ResourceCheck", _setting("namespace")),
    overload("ResourceCheck.name(string) -> ResourceCheck", _setting("name")),
    overload("PathCheck.check(string) -> Decision", _check_path),
    overload("ResourceCheck.check(string) -> Decision", _check_resource),
    overload("Decision.errored() -> bool", lambda decision: bool(decision.error)),
    overload("Decision.error() -> string", lambda decision: decision.error),
    overload("Decision.allowed() -> bool", lambda decision: decision.allowed),
    overload("Decision.reason() -> string", lambda decision: decision.reason),
    overload("ResourceCheck.fieldSelector(string) -> ResourceCheck", _setting("field_selector")),
    overload("ResourceCheck.labelSelector(string) -> ResourceCheck", _setting("label_selector")),
]
