"""Rules: which resources and operations a webhook or policy is for.

After k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules/rules.go.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_embedded.apiserver.admission.attributes import Attributes
from drakit_embedded.apiserver.scheme.kinds import Kind

_ALL = "*"
_NAMESPACES = ("", "namespaces")
_CONFIGURATION = "admissionregistration.k8s.io"


def is_exempt(kind: Kind) -> bool:
    """Check whether no webhook sees writes of a kind: what configures webhooks and policies, and reviews of users.

    Otherwise one of them could lock everybody out of the cluster (IsExemptAdmissionConfigurationResource, and
    k8s.io/kubernetes/pkg/kubeapiserver/admission/exclusion).
    """
    return kind.group == _CONFIGURATION or _is_review(kind)


def is_exempt_from_policies(kind: Kind) -> bool:
    """Check the same for policies, which do see what configures webhooks (plugin/policy/generic/plugin.go)."""
    return (kind.group == _CONFIGURATION and "admissionpolic" in kind.plural) or _is_review(kind)


def _is_review(kind: Kind) -> bool:
    # A Binding, which is answered as well, says where a pod runs.
    return kind.is_review and kind.plural != "bindings"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a webhook (RuleWithOperations) or of a policy, where it may name objects too."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    # Plurals and subresources, each ``*`` for any; no subresource is the empty one.
    resources: tuple[tuple[str, str], ...]
    # ``*``, ``Cluster`` or ``Namespaced``.
    scope: str
    # Names of objects; empty for all.
    names: frozenset[str]

    @classmethod
    def of(cls, source: ReadOnlyObject) -> Rule:
        """Read a rule from the object that configures it."""
        return cls(
            operations=frozenset(source.get("operations") or ()),
            groups=frozenset(source.get("apiGroups") or ()),
            versions=frozenset(source.get("apiVersions") or ()),
            resources=tuple(_split(resource) for resource in source.get("resources") or ()),
            scope=source.get("scope") or _ALL,
            names=frozenset(source.get("resourceNames") or ()),
        )

    def covers(self, attributes: Attributes, kind: Kind) -> bool:
        """Check whether the rule is for a write, taken as one of ``kind`` (its own, or an equivalent one)."""
        return (
            self._in_scope(attributes, kind)
            and _either(self.operations, attributes.operation)
            and _either(self.groups, kind.group)
            and _either(self.versions, kind.version)
            and self._names_resource(kind.plural, attributes.subresource)
            and (not self.names or attributes.name in self.names)
        )

    def may_cover(self, group: str, plural: str) -> bool:
        """Check whether the rule can be for any write of a resource, whatever the version and operation."""
        return _either(self.groups, group) and any(named in (_ALL, plural) for named, _ in self.resources)

    def _in_scope(self, attributes: Attributes, kind: Kind) -> bool:
        if self.scope == _ALL:
            return True
        # The namespace of a Namespace is itself, but it is an object of the cluster.
        namespaced = bool(attributes.namespace) and (kind.group, kind.plural) != _NAMESPACES
        return namespaced == (self.scope == "Namespaced")

    def _names_resource(self, plural: str, subresource: str) -> bool:
        return any(named in (_ALL, plural) and sub in (_ALL, subresource) for named, sub in self.resources)


def _split(resource: str) -> tuple[str, str]:
    plural, _, subresource = resource.partition("/")
    return plural, subresource


def _either(named: Collection[str], asked: str) -> bool:
    return _ALL in named or asked in named
