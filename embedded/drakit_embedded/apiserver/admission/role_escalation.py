"""Nobody gives away rights that they have not got themselves, by a role or by a binding to one.

No plugin in Kubernetes but a layer around the storage of these kinds, between mutating admission and validation: the
same place. After k8s.io/kubernetes/pkg/registry/rbac/{escalation_check.go,validation/rule.go,*/policybased/storage.go}.
"""

from __future__ import annotations

from collections.abc import Iterable

from drakit_api.golang.gostrings import quote, quoted
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.equality import comparison
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.authorization.access import Access
from drakit_embedded.apiserver.authorization.rbac_rules import Rule, compacted, missing
from drakit_embedded.apiserver.scheme import structures
from drakit_embedded.apiserver.statuses import StatusError, forbidden, not_found

_ALL = ("*",)
_FULL = (Rule(_ALL, _ALL, _ALL), Rule(_ALL, urls=_ALL))
# Writes of the garbage collector.
_OF_GARBAGE = ("ownerReferences", "finalizers", "resourceVersion", "managedFields")


def admit(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Refuse rules with 403 that the user does not hold, unless it may ``escalate`` or ``bind``."""
    wanted = attributes.object
    if wanted is None or attributes.user.superuser or only_garbage(attributes, wanted):
        return
    if attributes.kind.plural in ("roles", "clusterroles"):
        _check_role(attributes, wanted, cluster)
    else:
        _check_binding(attributes, wanted, cluster)


def only_garbage(attributes: Attributes, new: Object) -> bool:
    """Check whether an update changes nothing but what the garbage collector writes (IsOnlyMutatingGCFields)."""
    old, same = attributes.old, comparison(*structures.types_of(attributes.kind))
    return old is not None and same(_without_garbage(new), _without_garbage(old))


def _without_garbage(obj: Object) -> Object:
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key not in _OF_GARBAGE}}


def _may(attributes: Attributes, cluster: GuardedCluster, verb: str, plural: str, name: str) -> bool:
    access = Access(attributes.user, verb, attributes.kind.group, plural, namespace=attributes.namespace, name=name)
    return cluster.authorizer.decide(access).allowed


def _check_role(attributes: Attributes, role: Object, cluster: GuardedCluster) -> None:
    # The name in the path; a POST has none.
    name = attributes.name if attributes.operation == "UPDATE" else attributes.instead
    if _may(attributes, cluster, "escalate", attributes.kind.plural, name):
        return
    if why := _lacking(attributes, cluster, [Rule.of(rule) for rule in role.get("rules") or ()]):
        raise _refused(attributes, role, why)
    collects = any(
        ((found or {}).get("aggregationRule") or {}).get("clusterRoleSelectors") for found in (role, attributes.old)
    )
    if collects and _lacking(attributes, cluster, _FULL):
        raise _refused(attributes, role, "must have cluster-admin privileges to use the aggregationRule")


def _check_binding(attributes: Attributes, binding: Object, cluster: GuardedCluster) -> None:
    reference = binding.get("roleRef") or {}
    plural = {"ClusterRole": "clusterroles", "Role": "roles"}.get(reference.get("kind", ""))
    if plural and _may(attributes, cluster, "bind", plural, reference.get("name", "")):
        return
    try:
        rules = cluster.authorizer.rbac.role(reference, attributes.namespace)
    except StatusError as error:
        # Upstream's 404 names the resource of this request, not that of the role.
        raise not_found(*attributes.resource[::-1], reference.get("name", "")) if error.code == 404 else error from None
    if why := _lacking(attributes, cluster, rules):
        raise _refused(attributes, binding, why)


def _refused(attributes: Attributes, obj: Object, why: str) -> StatusError:
    """Build the 403; unlike plugins, upstream's storage does not know a name that is yet to be generated."""
    return forbidden(attributes.kind.plural, attributes.kind.group, obj["metadata"].get("name", ""), why)


def _lacking(attributes: Attributes, cluster: GuardedCluster, wanted: Iterable[Rule]) -> str:
    """Say which of the rules the user does not hold; empty if it holds all."""
    user = attributes.user
    held, error = cluster.authorizer.rbac.rules(user, attributes.namespace)
    lacking = missing(held, wanted)
    if not lacking:
        return ""
    listed = "\n".join(sorted({str(rule) for rule in compacted(lacking)}))
    who = f"user {quote(user.name)} (groups={quoted(user.groups)})"
    text = f"{who} is attempting to grant RBAC permissions not currently held:\n{listed}"
    return f"{text}; resolution errors: [{error}]" if error else text
