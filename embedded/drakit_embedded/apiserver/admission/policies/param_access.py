"""Who writes a policy or a binding must be able to read the params: its expressions could tell what is in them.

After authz.go of each kind in k8s.io/kubernetes/pkg/registry/admissionregistration, where it is the last rule of the
kind; here it is the first plugin after the rules, as they do not know who asks.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import forbidden
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.authorization.access import Access
from drakit_embedded.apiserver.identity.users import User

_ANY = ("*", "*", "*")


def validate_policy(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Check that a user who names a ``paramKind`` may get all objects of it."""
    kind = _spec(attributes.object).get("paramKind")
    if attributes.subresource or attributes.user.superuser or kind in (None, _spec(attributes.old).get("paramKind")):
        return
    group, version, resource = _resource(kind, cluster)
    if not _may(attributes.user, "get", (group, version, resource), "*", "*", cluster):
        named = f"(kind={kind['kind']}, apiVersion={kind['apiVersion']})"
        why = f'user {_shown(attributes.user)} must have "get" permission on all objects of the referenced paramKind'
        raise _refused(attributes, "spec.paramKind", f"{why} {named}")


def validate_binding(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Check that a user who names params may read them."""
    spec, old = _spec(attributes.object), _spec(attributes.old)
    reference = spec.get("paramRef")
    same = all(spec.get(field) == old.get(field) for field in ("paramRef", "policyName"))
    if reference is None or attributes.user.superuser or same:
        return
    policies = attributes.kind.storage.replace("policybindings", "policies")
    policy = cluster.find(policies, "", spec["policyName"])
    kind = _spec(policy).get("paramKind")
    resource = _resource(kind, cluster) if kind is not None else _ANY
    verb, user = "get" if reference.get("name") else "list", _shown(attributes.user)
    if _may(attributes.user, verb, resource, reference.get("namespace", ""), reference.get("name", ""), cluster):
        return
    minimum = f'to determine minimum required permissions and user {user} does not have "{verb}" permission'
    if policy is None:
        why = f"unable to get policy {spec['policyName']} {minimum} for all groups, versions and resources"
    elif kind is not None and resource[2] == "*":
        shown = f"&{{{kind['apiVersion']} {kind['kind']}}}"
        why = f"unable to resolve paramKind {shown} {minimum} for all groups, versions and resources"
    elif attributes.kind.plural.startswith("mutating"):
        # Upstream has the two the wrong way round.
        why = f'user {verb} does not have "{user}" permission on the object referenced by paramRef'
    else:
        why = f'user {user} does not have "{verb}" permission on the object referenced by paramRef'
    raise _refused(attributes, "spec.paramRef", why)


def _spec(obj: Object | None) -> Object:
    spec: Object = (obj or {}).get("spec") or {}
    return spec


def _resource(kind: Object, cluster: GuardedCluster) -> tuple[str, str, str]:
    group, _, version = kind["apiVersion"].rpartition("/")
    found = cluster.kind_named(group, version, kind["kind"])
    return group, version, found.plural if found is not None else "*"


def _may(
    user: User, verb: str, resource: tuple[str, str, str], namespace: str, name: str, cluster: GuardedCluster
) -> bool:
    group, _, plural = resource
    return cluster.authorizer.decide(Access(user, verb, group, plural, "", namespace, name)).allowed


def _shown(user: User) -> str:
    """Print a user as Go does by ``%v``."""
    extra = " ".join(f"{key}:[{' '.join(values)}]" for key, values in sorted(user.extra.items()))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"


def _refused(attributes: Attributes, path: str, why: str) -> statuses.StatusError:
    name = (attributes.object or {})["metadata"]["name"]
    return statuses.invalid(attributes.kind.kind, attributes.kind.group, name, [forbidden(path, why)])
