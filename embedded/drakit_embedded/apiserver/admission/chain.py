"""The two chains: which plugins see which writes, in kube-apiserver's order.

What users bring (webhooks) is asked after everything that is built in, but for quotas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from drakit_embedded.apiserver.admission import (
    certificates,
    limit_ranger,
    namespace_lifecycle,
    node_features,
    node_restriction,
    priority,
    resource_quota,
    role_escalation,
    service_account,
    tidying,
    toleration_seconds,
)
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster, Operation
from drakit_embedded.apiserver.admission.policies import param_access
from drakit_embedded.apiserver.admission.policies.plugin import Policies
from drakit_embedded.apiserver.admission.webhooks.plugin import Webhooks
from drakit_embedded.apiserver.authorization.rbac_rules import GROUP

Step = Callable[[Attributes, GuardedCluster], None]
_ANY: frozenset[tuple[str, str]] = frozenset()
_PODS = frozenset({("", "pods")})
_SLICES = frozenset({("resource.k8s.io", "resourceslices")})
_VOLUME_CLAIMS = frozenset({("", "persistentvolumeclaims")})
_POLICY = frozenset((GROUP, plural) for plural in ("clusterroles", "clusterrolebindings", "roles", "rolebindings"))
_POLICIES, _BINDINGS = (
    frozenset(("admissionregistration.k8s.io", f"{phase}admission{kind}") for phase in ("mutating", "validating"))
    for kind in ("policies", "policybindings")
)
_SIGNING_REQUESTS = frozenset({("certificates.k8s.io", "certificatesigningrequests")})
_TRUST_BUNDLES = frozenset({("certificates.k8s.io", "clustertrustbundles")})
_PRIORITY_CLASSES = frozenset({("scheduling.k8s.io", "priorityclasses")})


class Plugin(NamedTuple):
    """A plugin of a chain; without resources it is called for writes of all kinds."""

    step: Step
    operations: frozenset[Operation]
    resources: frozenset[tuple[str, str]] = _ANY


def _on(*operations: Operation) -> frozenset[Operation]:
    return frozenset(operations)


MUTATING: tuple[Plugin, ...] = (
    Plugin(namespace_lifecycle.admit, _on("CREATE", "DELETE")),
    Plugin(limit_ranger.admit, _on("CREATE"), _PODS),
    Plugin(service_account.admit, _on("CREATE"), _PODS),
    Plugin(node_restriction.admit, _on("CREATE", "UPDATE", "DELETE")),
    Plugin(priority.admit, _on("CREATE", "UPDATE"), _PODS),
    Plugin(toleration_seconds.admit, _on("CREATE", "UPDATE"), _PODS),
    Plugin(role_escalation.admit, _on("CREATE", "UPDATE"), _POLICY),
    Plugin(certificates.name_requester, _on("CREATE"), _SIGNING_REQUESTS),
)
VALIDATING: tuple[Plugin, ...] = (
    Plugin(param_access.validate_policy, _on("CREATE", "UPDATE"), _POLICIES),
    Plugin(param_access.validate_binding, _on("CREATE", "UPDATE"), _BINDINGS),
    Plugin(limit_ranger.validate, _on("CREATE"), _PODS),
    Plugin(limit_ranger.validate, _on("CREATE", "UPDATE"), _VOLUME_CLAIMS),
    Plugin(priority.validate_class, _on("CREATE", "UPDATE"), _PRIORITY_CLASSES),
    Plugin(node_features.validate, _on("CREATE", "UPDATE"), _SLICES),
    Plugin(certificates.approve, _on("UPDATE"), _SIGNING_REQUESTS),
    Plugin(certificates.sign, _on("UPDATE"), _SIGNING_REQUESTS),
    Plugin(certificates.attest, _on("CREATE", "UPDATE"), _TRUST_BUNDLES),
    Plugin(certificates.restrict_subject, _on("CREATE"), _SIGNING_REQUESTS),
)
# Charged is only what nobody else refuses.
QUOTA = Plugin(resource_quota.validate, _on("CREATE", "UPDATE"))
_EVERY_OPERATION = _on("CREATE", "UPDATE", "DELETE", "CONNECT")
# What policies may change; of what is deleted, there is nothing to change.
_MUTABLE = _on("CREATE", "UPDATE", "CONNECT")


class Chain:
    """Plugins in order; which of them a kind of write concerns is worked out once."""

    def __init__(self, plugins: tuple[Plugin, ...]) -> None:
        self._plugins = plugins
        self._steps: dict[tuple[Operation, tuple[str, str]], tuple[Step, ...]] = {}

    def run(self, attributes: Attributes, cluster: GuardedCluster) -> None:
        """Ask the plugins one after the other; the first that refuses ends it (``StatusError``)."""
        key = attributes.operation, attributes.resource
        steps = self._steps.get(key)
        if steps is None:
            steps = self._steps[key] = tuple(plugin.step for plugin in self._plugins if _concerns(plugin, *key))
        for step in steps:
            step(attributes, cluster)


def _concerns(plugin: Plugin, operation: Operation, resource: tuple[str, str]) -> bool:
    return operation in plugin.operations and (not plugin.resources or resource in plugin.resources)


class Admission:
    """The mutating and validating chains of one server."""

    def __init__(self) -> None:
        policies, webhooks = Policies(), Webhooks()
        self._mutating = Chain(
            (*MUTATING, Plugin(policies.admit, _MUTABLE), Plugin(webhooks.admit, _EVERY_OPERATION)),
        )
        self._validating = Chain(
            (
                *VALIDATING,
                Plugin(policies.validate, _EVERY_OPERATION),
                Plugin(webhooks.validate, _EVERY_OPERATION),
                QUOTA,
            )
        )

    def admit(self, attributes: Attributes, cluster: GuardedCluster) -> None:
        """Run the mutating plugins, before the rules of the kind; they may change ``attributes.object``.

        If webhooks or policies have changed it, all run once more (k8s.io/apiserver/pkg/admission/reinvocation.go).
        """
        before = tidying.managed_fields(attributes)
        self._mutating.run(attributes, cluster)
        if attributes.changed:
            attributes.round = 1
            self._mutating.run(attributes, cluster)
            tidying.tidy(attributes, before)

    def validate(self, attributes: Attributes, cluster: GuardedCluster) -> None:
        """Run the validating plugins, after those rules, on the object as it would be stored."""
        self._validating.run(attributes, cluster)
