"""Declarations of Kubernetes' authorizer functions (``k8s.io/apiserver`` v0.37 ``pkg/cel/library/authz.go``).

Selectors have no authorizer to call them on, but their names are known, which shows in the errors of expressions that
were copied from elsewhere. At run time no value ever fits.
"""

from __future__ import annotations

from typing import Any, NoReturn

from drakit_api.cel.values.declarations import overload, register
from drakit_api.cel.values.values import no_such_overload

_TYPES = ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")

for _name in _TYPES:
    register(type(_name, (), {}), f"kubernetes.authorization.{_name}")


def _never(*arguments: Any) -> NoReturn:
    raise no_such_overload()


_SIGNATURES = (
    "Authorizer.path(string) -> PathCheck",
    "Authorizer.group(string) -> GroupCheck",
    "Authorizer.serviceAccount(string, string) -> Authorizer",
    "GroupCheck.resource(string) -> ResourceCheck",
    "ResourceCheck.subresource(string) -> ResourceCheck",
    "ResourceCheck.namespace(string) -> ResourceCheck",
    "ResourceCheck.name(string) -> ResourceCheck",
    "PathCheck.check(string) -> Decision",
    "ResourceCheck.check(string) -> Decision",
    "Decision.errored() -> bool",
    "Decision.error() -> string",
    "Decision.allowed() -> bool",
    "Decision.reason() -> string",
    "ResourceCheck.fieldSelector(string) -> ResourceCheck",
    "ResourceCheck.labelSelector(string) -> ResourceCheck",
)

FUNCTIONS = [overload(signature, _never) for signature in _SIGNATURES]
