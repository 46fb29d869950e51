"""All that a webhook, a policy or a binding says of the writes that it is for.

After ``ShouldCallHook`` in k8s.io/apiserver/pkg/admission/plugin/webhook/generic/webhook.go and ``Matches`` in
k8s.io/apiserver/pkg/admission/plugin/policy/matching/matching.go, which differ only in what may be given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drakit_api.core.label_selectors import Matcher
from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.matching import selectors
from drakit_embedded.apiserver.admission.matching.rules import Rule
from drakit_embedded.apiserver.scheme.kinds import Kind


@dataclass(frozen=True, slots=True)
class Criteria:
    """The compiled constraints of one webhook, policy or binding."""

    # None for any resource, which only policies can say.
    rules: tuple[Rule, ...] | None
    excluded: tuple[Rule, ...]
    # Whether a rule for an equivalent resource counts, too (``matchPolicy: Equivalent``).
    equivalent: bool
    namespaces: Matcher
    objects: Matcher

    def match(self, attributes: Attributes, cluster: GuardedCluster) -> Kind | None:
        """Find the kind in which a write is to be shown, or None if it is not concerned.

        That is its own kind or, if only a rule for an equivalent one covers the write, that one.

        Raises:
            StatusError: 404 if the write is concerned but for its namespace, which does not exist.
        """
        if self.excluded and self._kind(self.excluded, attributes, cluster) is not None:
            return None
        kind = attributes.kind if self.rules is None else self._kind(self.rules, attributes, cluster)
        if kind is None or not selectors.selects_object(self.objects, attributes):
            return None
        return kind if selectors.selects_namespace(self.namespaces, attributes, cluster) else None

    def may_match(self, resources: Sequence[tuple[str, str]]) -> bool:
        """Check whether any write of a resource can be concerned; ``resources`` are it and its equivalents."""
        return self.rules is None or any(rule.may_cover(*named) for rule in self.rules for named in resources)

    def _kind(self, rules: Sequence[Rule], attributes: Attributes, cluster: GuardedCluster) -> Kind | None:
        if any(rule.covers(attributes, attributes.kind) for rule in rules):
            return attributes.kind
        others = cluster.equivalents(attributes.kind) if self.equivalent else ()
        for rule in rules:
            for kind in others:
                has_subresource = not attributes.subresource or attributes.subresource in kind.subresources
                if has_subresource and rule.covers(attributes, kind):
                    return kind
        return None


def of_webhook(hook: ReadOnlyObject) -> Criteria:
    """Compile the constraints of a webhook; one without rules is never called."""
    return Criteria(
        rules=_rules(hook.get("rules")),
        excluded=(),
        equivalent=_is_equivalent(hook),
        namespaces=selectors.compiled(hook.get("namespaceSelector")),
        objects=selectors.compiled(hook.get("objectSelector")),
    )


def of_resources(resources: ReadOnlyObject) -> Criteria:
    """Compile the MatchResources of a policy or of a binding; without rules they are for all resources."""
    return Criteria(
        rules=_rules(resources.get("resourceRules")) or None,
        excluded=_rules(resources.get("excludeResourceRules")),
        equivalent=_is_equivalent(resources),
        namespaces=selectors.compiled(resources.get("namespaceSelector")),
        objects=selectors.compiled(resources.get("objectSelector")),
    )


def _is_equivalent(source: ReadOnlyObject) -> bool:
    return source.get("matchPolicy") == "Equivalent"


def _rules(sources: Sequence[ReadOnlyObject] | None) -> tuple[Rule, ...]:
    return tuple(Rule.of(source) for source in sources or ())
