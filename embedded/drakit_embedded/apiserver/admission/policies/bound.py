"""Policies and their bindings as they are configured; without a binding, a policy does nothing.

After k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_source.go, which has no order; here it is that of the
names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_embedded.apiserver.admission.attributes import GuardedCluster
from drakit_embedded.apiserver.admission.matching import criteria
from drakit_embedded.apiserver.admission.matching.configured import Configured
from drakit_embedded.apiserver.admission.matching.criteria import Criteria
from drakit_embedded.apiserver.admission.matching.rules import is_exempt_from_policies
from drakit_embedded.apiserver.scheme.kinds import Kind


class Policy(Protocol):
    """What policies of both kinds have."""

    @property
    def name(self) -> str:
        """The name of the object."""

    @property
    def criteria(self) -> Criteria:
        """Which writes it is for."""

    @property
    def param_kind(self) -> ReadOnlyObject | None:
        """The kind of its params, if it has any."""


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """What puts a policy into force: for which of its writes, with which params, and what a refusal leads to."""

    name: str
    policy: str
    criteria: Criteria
    # None without params.
    reference: ReadOnlyObject | None
    # ``Deny``, ``Warn`` and ``Audit``; bindings of mutating policies have none.
    actions: tuple[str, ...]


P = TypeVar("P", bound=Policy)


class BoundPolicies(Generic[P]):
    """The policies of one kind that are in force, with their bindings."""

    def __init__(self, storage: str, compiled: Callable[[Object], P], cluster: GuardedCluster) -> None:
        """Follow the policies in a collection, and their bindings; ``compiled`` reads a policy."""
        policies, bindings = cluster.store.named(storage), cluster.store.named(storage.replace("ies.", "ybindings.", 1))
        self._policies: Configured[P] = Configured(
            policies, lambda obj: [compiled(obj)] if _is_valid(obj) else [], is_exempt_from_policies
        )
        self._bindings: Configured[Binding] = Configured(bindings, lambda obj: [_binding(obj)])
        self._listed: Sequence[Binding] = ()
        self._of_policy: dict[str, list[Binding]] = {}

    def of(self, kind: Kind, cluster: GuardedCluster) -> Iterator[tuple[P, list[Binding]]]:
        """List what may be for a write of a kind, to be asked with its criteria."""
        policies = self._policies.of(kind, cluster)
        if policies:
            self._join()
            for policy in policies:
                bindings = self._of_policy.get(policy.name)
                if bindings:
                    yield policy, bindings

    def _join(self) -> None:
        listed = self._bindings.all()
        if listed is not self._listed:
            self._listed, self._of_policy = listed, {}
            for binding in listed:
                self._of_policy.setdefault(binding.policy, []).append(binding)


def _is_valid(obj: Object) -> bool:
    """Check that a policy says what it is for, as releases that did not act on policies stored any."""
    return bool((obj.get("spec") or {}).get("matchConstraints"))


def _binding(obj: Object) -> Binding:
    spec = obj.get("spec") or {}
    return Binding(
        name=obj["metadata"]["name"],
        policy=spec.get("policyName") or "",
        criteria=criteria.of_resources(spec.get("matchResources") or {}),
        reference=spec.get("paramRef"),
        actions=tuple(spec.get("validationActions") or ()),
    )
