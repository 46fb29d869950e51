"""Rules of RBAC: what they allow, and whether some cover others.

After k8s.io/kubernetes/pkg/apis/rbac/v1/evaluation_helpers.go and
k8s.io/component-helpers/auth/rbac/validation/policy_comparator.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from drakit_api.golang.gostrings import quoted
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.authorization.access import Access

GROUP = "rbac.authorization.k8s.io"
ALL = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    """rbac.authorization.k8s.io/v1 PolicyRule."""

    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    @classmethod
    def of(cls, obj: Object) -> Rule:
        """Read a rule from its JSON form."""
        keys = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
        return cls(*(tuple(obj.get(key) or ()) for key in keys))

    def allows(self, access: Access) -> bool:
        """Check whether a request is within the rule."""
        if not (ALL in self.verbs or access.verb in self.verbs):
            return False
        if not access.is_resource:
            return any(_url_covers(url, access.path) for url in self.urls)
        return (
            (ALL in self.groups or access.group in self.groups)
            and self._has_resource(access)
            and (not self.names or access.name in self.names)
        )

    def _has_resource(self, access: Access) -> bool:
        resource, sub = access.resource, access.subresource
        if ALL in self.resources:
            return True
        if not sub:
            return resource in self.resources
        return f"{resource}/{sub}" in self.resources or f"*/{sub}" in self.resources

    def parts(self) -> Iterator[Rule]:
        """Split the rule into rules of one verb, group, resource and name each."""
        for group in self.groups:
            for resource in self.resources:
                for verb in self.verbs:
                    part = Rule((verb,), (group,), (resource,))
                    if not self.names:
                        yield part
                    yield from (replace(part, names=(name,)) for name in self.names)
        for url in self.urls:
            for verb in self.verbs:
                yield Rule((verb,), urls=(url,))

    def covers(self, part: Rule) -> bool:
        """Check whether it allows all that a ``part`` of some rule does."""
        return (
            _has_all(self.verbs, part.verbs)
            and _has_all(self.groups, part.groups)
            and self._covers_resources(part.resources)
            and (not self.names or (bool(part.names) and set(part.names) <= set(self.names)))
            and all(any(_url_covers(url, wanted) for url in self.urls) for wanted in part.urls)
        )

    def _covers_resources(self, wanted: Sequence[str]) -> bool:
        if _has_all(self.resources, wanted):
            return True
        return all(
            path in self.resources or ("/" in path and f"*/{path.partition('/')[2]}" in self.resources)
            for path in wanted
        )

    def __str__(self) -> str:
        """Print the rule as Kubernetes' messages do."""
        fields = (
            ("APIGroups", self.groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.urls),
            ("ResourceNames", self.names),
            ("Verbs", self.verbs),
        )
        return "{" + ", ".join(f"{name}:{quoted(values)}" for name, values in fields if values) + "}"


def _has_all(held: Sequence[str], wanted: Iterable[str]) -> bool:
    return ALL in held or set(wanted) <= set(held)


def _url_covers(held: str, wanted: str) -> bool:
    return held == wanted or (held.endswith(ALL) and wanted.startswith(held.rstrip(ALL)))


def missing(held: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """List the parts of ``wanted`` that no rule in ``held`` covers."""
    return [part for rule in wanted for part in rule.parts() if not any(own.covers(part) for own in held)]


def compacted(parts: Iterable[Rule]) -> list[Rule]:
    """Join rules that differ in their verbs only (k8s.io/kubernetes/pkg/registry/rbac/validation)."""
    verbs: dict[Rule, tuple[str, ...]] = {}
    others = []
    for part in parts:
        if part.urls:
            others.append(part)
            continue
        key = Rule((), part.groups, part.resources, part.names)
        verbs[key] = verbs.get(key, ()) + part.verbs
    return others + [Rule(found, key.groups, key.resources, key.names) for key, found in verbs.items()]
