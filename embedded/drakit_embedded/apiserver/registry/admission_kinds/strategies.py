"""The six kinds with their rules (k8s.io/kubernetes/pkg/registry/admissionregistration/*/strategy.go)."""

from __future__ import annotations

from collections.abc import Sequence

from drakit_api import formats
from drakit_api.kubernetes_objects import Object
from drakit_api.validation import metadata
from drakit_api.validation.errors import Errors, invalid
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


def _generated_name(obj: Object) -> Errors:
    """Check what names are generated from, which upstream does on each write of these kinds."""
    prefix = obj["metadata"].get("generateName") or ""
    for problem in metadata.object_name(formats.as_prefix(prefix)) if prefix else ():
        yield invalid("metadata.generateName", prefix, problem)


def _strategy(plural: str, part: str) -> Strategy:
    """Build the strategy of a kind; ``rules`` are loaded with the first object, as many clusters have none."""

    def validate_create(obj: Object, cluster: Cluster) -> Sequence[FieldFault]:
        from drakit_embedded.apiserver.registry.admission_kinds import rules

        return [*rules.OF_KINDS[plural].on_create(obj), *_static_name(obj)]

    def validate_update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
        from drakit_embedded.apiserver.registry.admission_kinds import rules

        return [*_generated_name(new), *rules.OF_KINDS[plural].on_update(new, old)]

    return Strategy(
        generation=True,
        counted=(part,),
        unconditional_update=False,
        any_finalizer=True,
        validate_create=validate_create,
        validate_update=validate_update,
        validate_status=_validate_status,
        warn_of_create=_warn,
        warn_of_update=_warn,
    )


def _validate_status(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    from drakit_embedded.apiserver.registry.admission_kinds import policies

    return [*policies.status(new)]


def _warn(obj: Object) -> Sequence[str]:
    from drakit_embedded.apiserver.registry.admission_kinds import webhooks

    return webhooks.warnings(obj)


STRATEGIES: dict[tuple[str, str], Strategy] = {
    (_GROUP, plural): _strategy(plural, part)
    for plural, part in (
        ("validatingadmissionpolicies", "spec"),
        ("validatingadmissionpolicybindings", "spec"),
        ("mutatingadmissionpolicies", "spec"),
        ("mutatingadmissionpolicybindings", "spec"),
        ("validatingwebhookconfigurations", "webhooks"),
        ("mutatingwebhookconfigurations", "webhooks"),
    )
}
