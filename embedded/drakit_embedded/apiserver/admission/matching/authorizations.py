"""The server's authorizer, as expressions may ask it (``authorizer`` and ``authorizer.requestResource``).

After k8s.io/apiserver/pkg/cel/library/authz.go and pkg/admission/plugin/cel/activation.go.
"""

from __future__ import annotations

from typing import Any

from drakit_api.cel import admission as cel
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.authorization.access import Access, exact_fields
from drakit_embedded.apiserver.identity.users import AUTHENTICATED, User, account_groups, account_name


class Authorizations:
    """Answers what the user of a request, or a service account, may do."""

    def __init__(self, user: User, cluster: GuardedCluster) -> None:
        """Ask for ``user``, unless an expression names a service account."""
        self._user, self._cluster = user, cluster

    def authorize(self, question: cel.Question) -> cel.Decision:
        """Decide a question of an expression."""
        access = Access(
            self._user if question.service_account is None else _account(*question.service_account),
            question.verb,
            question.group,
            question.resource,
            question.subresource,
            question.namespace,
            question.name,
            question.path,
            exact_fields(question.field_selector),
        )
        decision = self._cluster.authorizer.decide(access)
        return cel.Decision(decision.allowed, decision.reason)


def _account(namespace: str, name: str) -> User:
    return User(account_name(namespace, name), groups=(*account_groups(namespace), AUTHENTICATED))


def variables(attributes: Attributes, cluster: GuardedCluster) -> dict[str, Any]:
    """Build the values of the two variables for a write."""
    authorizer = cel.Authorizer(Authorizations(attributes.user, cluster))
    group, resource = attributes.resource
    asked = cel.ResourceCheck(
        authorizer, group, resource, attributes.subresource, attributes.request_namespace, attributes.name
    )
    return {"authorizer": authorizer, "authorizer.requestResource": asked}
