"""All authorizers of a server, one after the other (k8s.io/apiserver/pkg/authorization/union)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from drakit_api.golang.goerrors import aggregated
from drakit_embedded.apiserver.authorization import bootstrap
from drakit_embedded.apiserver.authorization.access import Access
from drakit_embedded.apiserver.authorization.node import NodeAuthorizer
from drakit_embedded.apiserver.authorization.rbac import Rbac
from drakit_embedded.apiserver.authorization.rbac_rules import Rule
from drakit_embedded.apiserver.identity.users import User
from drakit_embedded.apiserver.storage.store import Store

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates

_NO_RULES = "node authorizer does not support user rule resolution"


class Decision(NamedTuple):
    """Whether a request is allowed, and the reasons that the authorizers give."""

    allowed: bool
    reason: str = ""


class Authorizer:
    """Superusers, then Node, then RBAC: the first that allows a request decides, and none denies."""

    def __init__(self, store: Store, gates: FeatureGates) -> None:
        self.rbac = Rbac(store)
        self._node = NodeAuthorizer(store, gates, bootstrap.node_rules())

    def decide(self, access: Access) -> Decision:
        """Decide whether a request is allowed; the first authorizer that allows it is enough."""
        if access.user.superuser:
            return Decision(True)
        allowed, why_not = self._node.decide(access) if access.user.node is not None else (False, "")
        if allowed:
            return Decision(True)
        allowed, reason = self.rbac.decide(access)
        if allowed:
            return Decision(True, reason)
        reasons = (("node", why_not), ("rbac", reason))
        return Decision(False, "\n".join(f"{name}: {why}" for name, why in reasons if why))

    def rules(self, user: User, namespace: str) -> tuple[list[Rule], str]:
        """List the rules for a user in a namespace, and say why the list is incomplete, if it is."""
        rules, error = self.rbac.rules(user, namespace)
        errors = [_NO_RULES] if user.node is not None else []
        return rules, aggregated([*errors, *filter(None, [error])])

    def check(self, access: Access) -> None:
        """Raise the 403 of a request that is not allowed."""
        decision = self.decide(access)
        if not decision.allowed:
            raise access.refusal(decision.reason)
