"""Users as authorization and admission see them (k8s.io/apiserver/pkg/authentication/user)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from drakit_api import formats

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
NODES = "system:nodes"
_NODE_PREFIX = "system:node:"
_ACCOUNT_PREFIX = "system:serviceaccount:"
_ACCOUNTS = "system:serviceaccounts"
# Where a service account's user says to which node its token is bound (k8s.io/apiserver/pkg/authentication/
# serviceaccount/util.go).
_BOUND_NODE = "authentication.kubernetes.io/node-name"


@dataclass(frozen=True, slots=True)
class User:
    """The user of a request; ``groups`` in the order in which messages show them."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Whether the user is in system:masters, who may do everything.
    superuser: bool = field(init=False)
    # The node whose kubelet this is (pkg/auth/nodeidentifier); None for other users.
    node: str | None = field(init=False)

    def __post_init__(self) -> None:
        is_node = self.name.startswith(_NODE_PREFIX) and NODES in self.groups
        object.__setattr__(self, "superuser", MASTERS in self.groups)
        object.__setattr__(self, "node", self.name.removeprefix(_NODE_PREFIX) if is_node else None)

    def info(self) -> dict[str, Any]:
        """Convert to the UserInfo of authentication/v1."""
        info: dict[str, Any] = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in sorted(self.extra.items())}
        return info


def account_name(namespace: str, name: str) -> str:
    """Build the user name of a service account, ``system:serviceaccount:NAMESPACE:NAME``."""
    return f"{_ACCOUNT_PREFIX}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, ...]:
    """List the groups that all service accounts of a namespace are in."""
    return (_ACCOUNTS, f"{_ACCOUNTS}:{namespace}")


def account_of(user_name: str) -> tuple[str, str] | None:
    """Find namespace and name of the service account that a user name stands for, or None (SplitUsername)."""
    if not user_name.startswith(_ACCOUNT_PREFIX):
        return None
    namespace, _, name = user_name.removeprefix(_ACCOUNT_PREFIX).partition(":")
    return None if formats.dns_label(namespace) or formats.dns_subdomain(name) else (namespace, name)


def node_name(node: str) -> str:
    """Build the user name of a node's kubelet, ``system:node:NODE``."""
    return _NODE_PREFIX + node


def node_of(user_name: str) -> str | None:
    """Find the node that a user name stands for, or None."""
    node = user_name.removeprefix(_NODE_PREFIX)
    return node if node != user_name and not formats.dns_subdomain(node) else None


def bound_node(user: User) -> str:
    """Find the node that a service account's token is bound to; empty if there is none."""
    names = tuple(user.extra.get(_BOUND_NODE, ()))
    if account_of(user.name) is None or len(names) != 1 or formats.dns_subdomain(names[0]):
        return ""
    return names[0]


def authenticated(user: User) -> User:
    """Add the group ``system:authenticated`` to a user.

    The anonymous user, and one in either of the two groups already, stays as it is
    (k8s.io/apiserver/pkg/authentication/group).
    """
    if user.name == ANONYMOUS.name or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))


# The user of the server's own requests (k8s.io/apiserver/pkg/server: the privileged loopback client).
LOOPBACK = User("system:apiserver", groups=(MASTERS, AUTHENTICATED))
# The holder of a server's own token.
ADMIN = User("drakit-admin", "drakit-admin", groups=(MASTERS, AUTHENTICATED))
ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))
