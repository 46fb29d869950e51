"""The two plugins of the chains. As long as there is no policy, they cost a look at an empty collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster

if TYPE_CHECKING:
    from drakit_embedded.apiserver.admission.policies.bound import BoundPolicies
    from drakit_embedded.apiserver.admission.policies.judgements import ValidatingPolicy
    from drakit_embedded.apiserver.admission.policies.mutations import MutatingPolicy

_MUTATING, _VALIDATING = "mutatingadmissionpolic", "validatingadmissionpolic"
_GROUP = "admissionregistration.k8s.io"


class Policies:
    """MutatingAdmissionPolicy and ValidatingAdmissionPolicy of one server."""

    def __init__(self) -> None:
        self._mutating: BoundPolicies[MutatingPolicy] | None = None
        self._validating: BoundPolicies[ValidatingPolicy] | None = None

    def admit(self, attributes: Attributes, cluster: GuardedCluster) -> None:
        """Let the mutating policies change the object."""
        if not cluster.store.named(f"{_MUTATING}ies.{_GROUP}").records:
            return
        # Imported here and below, as few clusters have policies.
        from drakit_embedded.apiserver.admission.policies import mutating
        from drakit_embedded.apiserver.admission.policies.bound import BoundPolicies
        from drakit_embedded.apiserver.admission.policies.mutations import MutatingPolicy

        if self._mutating is None:
            self._mutating = BoundPolicies(_MUTATING, MutatingPolicy, cluster)
        mutating.admit(self._mutating, attributes, cluster)

    def validate(self, attributes: Attributes, cluster: GuardedCluster) -> None:
        """Ask the validating policies."""
        if not cluster.store.named(f"{_VALIDATING}ies.{_GROUP}").records:
            return
        from drakit_embedded.apiserver.admission.policies import validating
        from drakit_embedded.apiserver.admission.policies.bound import BoundPolicies
        from drakit_embedded.apiserver.admission.policies.judgements import ValidatingPolicy

        if self._validating is None:
            self._validating = BoundPolicies(_VALIDATING, ValidatingPolicy, cluster)
        validating.validate(self._validating, attributes, cluster)
