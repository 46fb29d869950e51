"""Which rules hold for each of the six kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors
from drakit_embedded.apiserver.registry.admission_kinds import bindings, policies, webhooks


class Rules(NamedTuple):
    """What a new object is checked for, and a changed one."""

    on_create: Callable[[Object], Errors]
    on_update: Callable[[Object, Object], Errors]


def _alike(rules: Callable[[Object], Errors]) -> Rules:
    """Check a changed object as a new one."""
    return Rules(rules, lambda new, _: rules(new))


_WEBHOOKS = Rules(webhooks.on_create, webhooks.on_update)
OF_KINDS = {
    "validatingadmissionpolicies": Rules(policies.validating, policies.validating),
    "validatingadmissionpolicybindings": _alike(bindings.validating),
    "mutatingadmissionpolicies": Rules(policies.mutating, policies.mutating),
    "mutatingadmissionpolicybindings": _alike(bindings.mutating),
    "validatingwebhookconfigurations": _WEBHOOKS,
    "mutatingwebhookconfigurations": _WEBHOOKS,
}
