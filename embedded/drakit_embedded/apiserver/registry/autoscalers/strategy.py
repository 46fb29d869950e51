"""The rules of autoscalers in each version."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.autoscalers import versions
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy


def _drop_texts(obj: Object, cluster: Cluster) -> None:
    """Drop the annotations of v1, which v2 does not have."""
    obj["metadata"] = versions.without_texts(obj)["metadata"]


STRATEGIES = {
    ("autoscaling", "horizontalpodautoscalers"): Strategy(default=_drop_texts, generation=True),
}


def of_v1(newer: Strategy) -> Strategy:
    """Build the strategy of v1 from that of v2, the form in which objects are when they get their defaults.

    Scaling rules are completed by v2 alone: those of v1 become so when the object is stored.
    """
    return replace(newer, default=partial(_default, newer), canonical=partial(_canonical, newer))


def _default(newer: Strategy, obj: Object, cluster: Cluster) -> None:
    behavior = obj["spec"].pop("behavior", None)
    newer.default(obj, cluster)
    if behavior is not None:
        obj["spec"]["behavior"] = behavior


def _canonical(newer: Strategy, obj: Object, cluster: Cluster) -> Object:
    behavior = obj["spec"].get("behavior")
    if behavior is None:
        return obj
    stored = {**obj, "spec": {**obj["spec"], "behavior": copy.deepcopy(behavior)}}
    newer.default(stored, cluster)
    return stored
