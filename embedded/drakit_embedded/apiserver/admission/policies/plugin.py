"""The two plugins of the chains. As long as there is no policy, they cost a look at an empty collection."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster

_MUTATING = "mutatingadmissionpolicies.admissionregistration.k8s.io"
_VALIDATING = "validatingadmissionpolicies.admissionregistration.k8s.io"
_Step = Callable[[Attributes, GuardedCluster], None]


class Policies:
    """MutatingAdmissionPolicy and ValidatingAdmissionPolicy of one server."""

    def __init__(self) -> None:
        self._mutating: _Step | None = None
        self._validating: _Step | None = None

    def admit(self, attributes: Attributes, cluster: GuardedCluster) -> None:
        """Let the mutating policies change the object."""
        if cluster.store.named(_MUTATING).records:
            if self._mutating is None:
                self._mutating = _mutating(cluster)
            self._mutating(attributes, cluster)

    def validate(self, attributes: Attributes, cluster: GuardedCluster) -> None:
        """Ask the validating policies."""
        if cluster.store.named(_VALIDATING).records:
            if self._validating is None:
                self._validating = _validating(cluster)
            self._validating(attributes, cluster)


# What policies need is imported below, as few clusters have any.
def _mutating(cluster: GuardedCluster) -> _Step:
    from drakit_embedded.apiserver.admission.policies import mutating
    from drakit_embedded.apiserver.admission.policies.bound import BoundPolicies
    from drakit_embedded.apiserver.admission.policies.mutations import MutatingPolicy

    return partial(mutating.admit, BoundPolicies(_MUTATING, MutatingPolicy, cluster))


def _validating(cluster: GuardedCluster) -> _Step:
    from drakit_embedded.apiserver.admission.policies import validating
    from drakit_embedded.apiserver.admission.policies.bound import BoundPolicies
    from drakit_embedded.apiserver.admission.policies.judgements import ValidatingPolicy

    return partial(validating.validate, BoundPolicies(_VALIDATING, ValidatingPolicy, cluster))
