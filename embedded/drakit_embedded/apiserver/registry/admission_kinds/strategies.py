"""The six kinds with their rules (k8s.io/kubernetes/pkg/registry/admissionregistration/*/strategy.go)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors, invalid
from drakit_embedded.apiserver.registry.admission_kinds import bindings, policies, webhooks
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy
from drakit_embedded.apiserver.statuses import FieldFault

_GROUP = "admissionregistration.k8s.io"
# Objects of such names come from files beside the server, which this server does not read.
_STATIC_SUFFIX = ".static.k8s.io"


def _static_name(obj: Object) -> Errors:
    """Refuse a name that only manifests beside the server may have (validation/static_suffix.go)."""
    name = obj["metadata"].get("name") or ""
    if name.endswith(_STATIC_SUFFIX):
        why = "are reserved for static manifest-based configurations and cannot be managed via the API"
        yield invalid("metadata.name", name, f'names ending with "{_STATIC_SUFFIX}" {why}')


def _strategy(
    on_create: Callable[[Object], Errors], on_update: Callable[[Object, Object], Errors], part: str = "spec"
) -> Strategy:
    def validate_create(obj: Object, cluster: Cluster) -> Sequence[FieldFault]:
        return [*on_create(obj), *_static_name(obj)]

    def validate_update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
        return [*on_update(new, old)]

    def validate_status(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
        return [*policies.status(new)]

    return Strategy(
        generation=True,
        counted=(part,),
        unconditional_update=False,
        validate_create=validate_create,
        validate_update=validate_update,
        validate_status=validate_status,
        warn_of_create=webhooks.warnings,
        warn_of_update=webhooks.warnings,
    )


def _binding(rules: Callable[[Object], Errors]) -> Strategy:
    def on_update(new: Object, old: Object) -> Errors:
        return rules(new)

    return _strategy(rules, on_update)


_WEBHOOKS = _strategy(webhooks.on_create, webhooks.on_update, "webhooks")
STRATEGIES: dict[tuple[str, str], Strategy] = {
    (_GROUP, "validatingadmissionpolicies"): _strategy(policies.validating, policies.validating),
    (_GROUP, "validatingadmissionpolicybindings"): _binding(bindings.validating),
    (_GROUP, "mutatingadmissionpolicies"): _strategy(policies.mutating, policies.mutating),
    (_GROUP, "mutatingadmissionpolicybindings"): _binding(bindings.mutating),
    (_GROUP, "validatingwebhookconfigurations"): _WEBHOOKS,
    (_GROUP, "mutatingwebhookconfigurations"): _WEBHOOKS,
}
