"""The params of a policy: objects of its ``paramKind`` that a binding names or selects.

After ``CollectParams`` in k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.core.label_selectors import label_selector
from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.registry.custom.unreadable import UnreadableError
from drakit_embedded.apiserver.scheme.kinds import Kind


class ConfigurationError(Exception):
    """A policy or a binding that cannot be carried out."""


def kind_of(reference: ReadOnlyObject, cluster: GuardedCluster) -> Kind:
    """Find the kind that a policy calls its ``paramKind``.

    Raises:
        ConfigurationError: if it is not served.
    """
    group, _, version = reference["apiVersion"].rpartition("/")
    found = cluster.kind_named(group, version, reference["kind"])
    if found is None:
        named = f"{group}/{version}, Kind={reference['kind']}"
        raise ConfigurationError(f"failed to find resource referenced by paramKind: '{named}'")
    return found


def collected(
    kind: Kind | None, reference: ReadOnlyObject | None, attributes: Attributes, cluster: GuardedCluster
) -> list[Object | None]:
    """List the params for a write; ``[None]`` if the policy or the binding has none.

    Raises:
        ConfigurationError: if there are none where there must be some, or they are asked for in the wrong way.
    """
    if kind is None or reference is None:
        return [None]
    found: list[Object | None] = [*_found(kind, reference, _namespace(kind, reference, attributes), cluster)]
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def _namespace(kind: Kind, reference: ReadOnlyObject, attributes: Attributes) -> str:
    given: str = reference.get("namespace") or ""
    if not kind.namespaced:
        if given:
            raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    if not given and not attributes.request_namespace:
        why = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        raise ConfigurationError(why)
    return given or attributes.request_namespace


def _found(kind: Kind, reference: ReadOnlyObject, namespace: str, cluster: GuardedCluster) -> Iterator[Object]:
    collection = cluster.store.named(kind.storage)
    if reference.get("name"):
        record = collection.get(namespace, reference["name"])
        records = [record] if record is not None else []
    else:
        selects = label_selector(reference.get("selector") or {})
        records = [each for each in collection.select(namespace or None) if selects(each.labels)]
    for record in records:
        try:
            obj = cluster.read(record, kind)
        except UnreadableError as error:
            raise ConfigurationError(error.message) from None
        yield {"kind": kind.kind, "apiVersion": kind.api_version, **obj}
