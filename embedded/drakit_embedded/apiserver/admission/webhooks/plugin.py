"""The two plugins of the chains. As long as no webhook is configured, they cost a look at an empty collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster

if TYPE_CHECKING:
    from drakit_embedded.apiserver.admission.matching.configured import Configured
    from drakit_embedded.apiserver.admission.webhooks.hooks import Hook

_MUTATING = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
_VALIDATING = "validatingwebhookconfigurations.admissionregistration.k8s.io"


class Webhooks:
    """MutatingAdmissionWebhook and ValidatingAdmissionWebhook of one server."""

    def __init__(self) -> None:
        self._mutating: Configured[Hook] | None = None
        self._validating: Configured[Hook] | None = None

    def admit(self, attributes: Attributes, cluster: GuardedCluster) -> None:
        """Ask the mutating webhooks."""
        if not cluster.store.named(_MUTATING).records:
            return
        # Imported here and below, as few clusters have webhooks.
        from drakit_embedded.apiserver.admission.webhooks import mutating

        if self._mutating is None:
            self._mutating = _configured(_MUTATING, cluster)
        mutating.admit(self._mutating, attributes, cluster)

    def validate(self, attributes: Attributes, cluster: GuardedCluster) -> None:
        """Ask the validating webhooks."""
        if not cluster.store.named(_VALIDATING).records:
            return
        from drakit_embedded.apiserver.admission.webhooks import validating

        if self._validating is None:
            self._validating = _configured(_VALIDATING, cluster)
        validating.validate(self._validating, attributes, cluster)


def _configured(storage: str, cluster: GuardedCluster) -> Configured[Hook]:
    from drakit_embedded.apiserver.admission.matching.configured import Configured
    from drakit_embedded.apiserver.admission.webhooks import hooks

    return Configured(cluster.store.named(storage), hooks.compiled)
