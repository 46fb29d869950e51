"""Selectors: the labels that the namespace and the object of a write must have.

After k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/{namespace,object}/matcher.go.
"""

from __future__ import annotations

from drakit_api.core.label_selectors import Labels, Matcher, everything, label_selector
from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster

_NAMESPACES = "namespaces"


def compiled(selector: ReadOnlyObject | None) -> Matcher:
    """Compile a selector of a webhook or policy; without one, everything is selected, as its default is ``{}``."""
    return label_selector(selector or {})


def selects_namespace(selector: Matcher, attributes: Attributes, cluster: GuardedCluster) -> bool:
    """Check a ``namespaceSelector``; objects of the cluster, but for Namespaces, need not be selected by one.

    Raises:
        StatusError: 404 if the namespace does not exist.
    """
    plural, name = attributes.kind.plural, attributes.request_namespace
    if selector is everything or (not name and plural != _NAMESPACES):
        return True
    # The stored namespace is not yet what this write makes of it; one that is deleted stays as it is.
    if plural == _NAMESPACES and not attributes.subresource and attributes.operation in ("CREATE", "UPDATE"):
        return selector(_labels(attributes.object))
    record = cluster.store.named(_NAMESPACES).get("", name)
    if record is None:
        raise statuses.not_found(_NAMESPACES, "", name)
    return selector(record.labels)


def selects_object(selector: Matcher, attributes: Attributes) -> bool:
    """Check an ``objectSelector``: it selects what a write makes of the object, or what the object was.

    What has no labels because it has no metadata, as the options of an ``exec``, is not selected, not even by a
    selector that other objects without labels satisfy.
    """
    if selector is everything:
        return True
    states = (attributes.object, attributes.old)
    return any(state is not None and "metadata" in state and selector(_labels(state)) for state in states)


def _labels(obj: ReadOnlyObject | None) -> Labels:
    meta = (obj or {}).get("metadata") or {}
    return meta.get("labels") or {}
