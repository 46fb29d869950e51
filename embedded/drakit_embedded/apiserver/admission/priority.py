"""Priority: the class of a pod, named or the cluster's default one, gives its number.

After k8s.io/kubernetes/plugin/pkg/admission/priority/admission.go.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster

_CLASSES = "priorityclasses.scheduling.k8s.io"
_PREEMPTION = "PreemptLowerPriority"
# The priority in a cluster without a default class.
_NO_CLASS: Object = {"value": 0, "preemptionPolicy": _PREEMPTION}
_IS_DEFAULT = b'"globalDefault":true'


def admit(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Set ``spec.priority`` and ``spec.preemptionPolicy``; 403 for an unknown class or values unlike its own."""
    if attributes.subresource or attributes.object is None:
        return
    spec = attributes.object["spec"]
    if attributes.operation == "UPDATE":
        before = (attributes.old or {}).get("spec") or {}
        for field in ("priority", "preemptionPolicy"):
            if field in before:
                spec.setdefault(field, before[field])
        return
    found = _class_of(attributes, spec, cluster)
    value, policy = found.get("value", 0), found.get("preemptionPolicy")
    given = spec.get("priority")
    if given is not None and given != value:
        raise attributes.refused(
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller "
            f"computed {value} from the given PriorityClass name"
        )
    spec["priority"] = value
    if policy is None:
        return
    given = spec.get("preemptionPolicy")
    if given is not None and given != policy:
        raise attributes.refused(
            f"the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission "
            f"controller computed {policy} from the given PriorityClass name"
        )
    spec["preemptionPolicy"] = policy


def _class_of(attributes: Attributes, spec: Object, cluster: GuardedCluster) -> Object:
    name = spec.get("priorityClassName")
    if not name:
        default = _default_class(cluster)
        if default is None:
            return _NO_CLASS
        spec["priorityClassName"] = default["metadata"]["name"]
        return default
    found = cluster.find(_CLASSES, "", name)
    if found is None:
        raise attributes.refused(f"no PriorityClass with name {name} was found")
    return found


def _default_class(cluster: GuardedCluster) -> Object | None:
    """Find the cluster's default PriorityClass: the one with the lowest value if there are several."""
    records = cluster.store.named(_CLASSES).records.values()
    defaults = [record.object() for record in records if _IS_DEFAULT in record.body]
    return min(defaults, key=lambda found: found.get("value", 0), default=None)


def validate_class(attributes: Attributes, cluster: GuardedCluster) -> None:
    """Refuse a second default class with 403."""
    wanted = attributes.object
    if attributes.subresource or not (wanted or {}).get("globalDefault"):
        return
    default = _default_class(cluster)
    if default is None:
        return
    name = default["metadata"]["name"]
    if attributes.operation == "CREATE" or name != attributes.name:
        raise attributes.refused(f"PriorityClass {name} is already marked as default. Only one default can exist")
