"""RBAC: the rules that roles and bindings give to a user.

Bindings are read once and looked up by subject until a role or binding changes; then all are read again, at the next
request that is judged: there are few, they change seldom, and the administrator's requests are not judged.

After k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/rbac.go and pkg/registry/rbac/validation/rule.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from drakit_api.golang.goerrors import aggregated
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.authorization.access import Access
from drakit_embedded.apiserver.authorization.rbac_rules import GROUP, Rule
from drakit_embedded.apiserver.identity.users import User, account_name
from drakit_embedded.apiserver.statuses import StatusError, not_found
from drakit_embedded.apiserver.storage.store import Store

_KINDS = ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
Subject = tuple[str, str]


class Grant(NamedTuple):
    """A binding, as far as it concerns one subject."""

    # The reason that is given when the rules allow something.
    source: str
    rules: tuple[Rule, ...]
    # The error in place of rules, if the role cannot be read.
    error: str = ""
    order: int = 0


@dataclass(slots=True)
class _Grants:
    """All bindings, by namespace (empty for cluster role bindings) and subject."""

    found: dict[tuple[str, Subject], list[Grant]] = field(default_factory=dict)

    def of(self, user: User, namespace: str) -> list[Grant]:
        subjects = [("User", user.name), *(("Group", group) for group in user.groups)]
        # Of a binding's subjects that are the user, only the first counts.
        distinct: dict[int, Grant] = {}
        for subject in subjects:
            for grant in self.found.get((namespace, subject), ()):
                distinct.setdefault(grant.order, grant)
        return [distinct[order] for order in sorted(distinct)]


class Rbac:
    """The roles and bindings of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._grants: _Grants | None = None
        for plural in _KINDS:
            store.named(f"{plural}.{GROUP}").subscribe(self._forget)

    def _forget(self, _: int) -> None:
        self._grants = None

    def grants(self, user: User, namespace: str) -> Iterator[Grant]:
        """Iterate over what is granted to a user: by cluster role bindings first, then in ``namespace``, if given."""
        if self._grants is None:
            self._grants = self._read()
        yield from self._grants.of(user, "")
        if namespace:
            yield from self._grants.of(user, namespace)

    def decide(self, access: Access) -> tuple[bool, str]:
        """Check whether a rule allows it, and which or why not."""
        errors = []
        for grant in self.grants(access.user, access.namespace):
            if any(rule.allows(access) for rule in grant.rules):
                return True, f"RBAC: allowed by {grant.source}"
            if grant.error:
                errors.append(grant.error)
        return False, f"RBAC: {aggregated(errors)}" if errors else ""

    def rules(self, user: User, namespace: str) -> tuple[list[Rule], str]:
        """Collect all rules of a user in a namespace, and say what could not be read."""
        found: list[Rule] = []
        errors = []
        for grant in self.grants(user, namespace):
            found += grant.rules
            if grant.error:
                errors.append(grant.error)
        return found, aggregated(errors)

    def role(self, reference: Object, namespace: str) -> tuple[Rule, ...]:
        """Look up the rules of the role that a binding refers to; ``namespace`` is empty for a cluster role binding.

        Raises:
            StatusError: 404 if there is no such role, 500 for an unknown kind of role.
        """
        kind, name = reference.get("kind", ""), reference.get("name", "")
        if kind not in ("Role", "ClusterRole"):
            raise StatusError(500, "", f"unsupported role reference kind: {quote(kind)}")
        within = namespace if kind == "Role" else ""
        record = self._store.named(f"{kind.lower()}s.{GROUP}").get(within, name)
        if record is None:
            raise not_found(kind.lower(), GROUP, name)
        return tuple(Rule.of(rule) for rule in record.object().get("rules") or ())

    def _read(self) -> _Grants:
        grants = _Grants()
        order = 0
        for plural in ("clusterrolebindings", "rolebindings"):
            for record in self._store.named(f"{plural}.{GROUP}").select(None):
                order += 1
                self._add(grants, record.object(), record.key[0], order)
        return grants

    def _add(self, grants: _Grants, binding: Object, namespace: str, order: int) -> None:
        reference = binding.get("roleRef") or {}
        rules: tuple[Rule, ...] = ()
        error = ""
        try:
            rules = self.role(reference, namespace)
        except StatusError as refusal:
            error = refusal.message
        describe = _describer(binding, namespace)
        for subject in binding.get("subjects") or ():
            key = _key(subject, namespace)
            if key is None:
                continue
            bound = grants.found.setdefault((namespace, key), [])
            if not bound or bound[-1].order != order:
                bound.append(Grant(describe(subject), rules, error, order))


def _key(subject: Object, namespace: str) -> Subject | None:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind != "ServiceAccount":
        return (kind, name) if kind in ("User", "Group") else None
    within = subject.get("namespace") or namespace
    return ("User", account_name(within, name)) if within else None


def _describer(binding: Object, namespace: str) -> Callable[[Object], str]:
    reference = binding.get("roleRef") or {}
    sort, name = "ClusterRoleBinding", binding["metadata"]["name"]
    if namespace:
        sort, name = "RoleBinding", f"{name}/{namespace}"
    start = f"{sort} {quote(name)} of {reference.get('kind')} {quote(reference.get('name', ''))} to"

    def describe(subject: Object) -> str:
        kind, who = subject["kind"], subject.get("name", "")
        if kind == "ServiceAccount":
            who = f"{who}/{subject.get('namespace') or namespace}"
        return f"{start} {kind} {quote(who)}"

    return describe
