"""Which policies a write concerns, by which bindings, and with which params each is to be asked.

After ``Dispatch`` in k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.matching.criteria import Criteria
from drakit_embedded.apiserver.admission.policies import params
from drakit_embedded.apiserver.admission.policies.bound import Binding, BoundPolicies, P
from drakit_embedded.apiserver.admission.policies.params import ConfigurationError
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import StatusError


@dataclass(frozen=True, slots=True)
class Invocation(Generic[P]):
    """A policy that is to be asked about a write, which it sees as one of ``kind``."""

    policy: P
    binding: Binding
    kind: Kind
    # None if the policy or the binding has none.
    params: Object | None


@dataclass(frozen=True, slots=True)
class Misconfiguration(Generic[P]):
    """A policy, or (if there is one) a binding that cannot be carried out."""

    policy: P
    binding: Binding | None
    why: str


def invocations(
    policies: BoundPolicies[P], attributes: Attributes, cluster: GuardedCluster
) -> Iterator[Invocation[P] | Misconfiguration[P]]:
    """List all that concerns a write, and what is wrong with it."""
    for policy, bindings in policies.of(attributes.kind, cluster):
        try:
            kind = _matched(policy.criteria, attributes, cluster)
            if kind is None:
                continue
            of_params = params.kind_of(policy.param_kind, cluster) if policy.param_kind is not None else None
        except ConfigurationError as error:
            yield Misconfiguration(policy, None, f"failed to configure policy: {error}")
            continue
        for binding in bindings:
            try:
                if _matched(binding.criteria, attributes, cluster) is None:
                    continue
                found = params.collected(of_params, binding.reference, attributes, cluster)
            except ConfigurationError as error:
                yield Misconfiguration(policy, binding, f"failed to configure binding: {error}")
                continue
            for each in found:
                yield Invocation(policy, binding, kind, each)


def _matched(criteria: Criteria, attributes: Attributes, cluster: GuardedCluster) -> Kind | None:
    try:
        return criteria.match(attributes, cluster)
    except StatusError as error:
        raise ConfigurationError(error.message) from None
