"""Changes of the specs of pods: what may change, and what may not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object
from tests.vectors.exchanges import Vector
from tests.vectors.record.apiserver.pods.forms import change, container, pod

_KEY = {"key": "k", "operator": "Exists", "effect": "NoExecute"}
_SSD = {"key": "disk", "operator": "In", "values": ["ssd"]}
_GPU = {"key": "gpu", "operator": "Exists"}
_GATED = {"schedulingGates": [{"name": "a"}]}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NEAR = {"podAffinity": {_REQUIRED: [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}]}}


def _nodes(*terms: Object, **fields: Any) -> Object:
    return {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": list(terms)}}, **fields}


def _term(*requirements: Object) -> Object:
    return {"matchExpressions": list(requirements)}


# Name: what there is, what it becomes.
_CHANGES: dict[str, tuple[Object, Object]] = {
    "nothing": ({}, {}),
    "an image": ({}, {"containers": [container(image="i:2")]}),
    "no image": ({}, {"containers": [container(image="")]}),
    "an image with spaces": ({}, {"containers": [container(image=" i")]}),
    "an image of an init container": (
        {"initContainers": [container(name="i")]},
        {"initContainers": [container(name="i", image="i:2")]},
    ),
    "a container more": ({}, {"containers": [container(), container(name="d")]}),
    "an init container more": ({}, {"initContainers": [container(name="i")]}),
    "another name of a container": ({}, {"containers": [container(name="d")]}),
    "a command": ({}, {"containers": [container(command=["a", "b"])]}),
    "other resources": ({}, {"containers": [container(resources={"limits": {"cpu": "1"}})]}),
    "the same resources": (
        {"containers": [container(resources={"limits": {"cpu": "1"}})]},
        {"containers": [container(resources={"limits": {"cpu": "1000m"}})]},
    ),
    "a variable": (
        {"containers": [container(env=[{"name": "A", "value": "1"}])]},
        {"containers": [container(env=[{"name": "A", "value": "2"}])]},
    ),
    "grace": ({}, {"terminationGracePeriodSeconds": 5}),
    "grace below nothing": ({}, {"terminationGracePeriodSeconds": -5}),
    "a deadline": ({}, {"activeDeadlineSeconds": 50}),
    "a nearer deadline": ({"activeDeadlineSeconds": 50}, {"activeDeadlineSeconds": 5}),
    "a later deadline": ({"activeDeadlineSeconds": 50}, {"activeDeadlineSeconds": 500}),
    "no deadline any more": ({"activeDeadlineSeconds": 50}, {}),
    "a deadline at once": ({"activeDeadlineSeconds": 50}, {"activeDeadlineSeconds": 0}),
    "a deadline below nothing": ({"activeDeadlineSeconds": 50}, {"activeDeadlineSeconds": -1}),
    "a toleration": ({}, {"tolerations": [_KEY]}),
    "no toleration any more": ({"tolerations": [_KEY]}, {}),
    "another toleration": ({"tolerations": [_KEY]}, {"tolerations": [{**_KEY, "key": "l"}]}),
    "other seconds of a toleration": (
        {"tolerations": [{**_KEY, "tolerationSeconds": 5}]},
        {"tolerations": [{**_KEY, "tolerationSeconds": 500}]},
    ),
    "a wrong toleration": ({}, {"tolerations": [{"value": "a"}]}),
    "a toleration of a wrong key": ({}, {"tolerations": [{**_KEY, "key": "a/b/c"}]}),
    "a gate": ({}, _GATED),
    "a gate more": (_GATED, {"schedulingGates": [{"name": "a"}, {"name": "b"}]}),
    "no gate any more": (_GATED, {}),
    "another gate": (_GATED, {"schedulingGates": [{"name": "b"}]}),
    "a label of nodes": ({}, {"nodeSelector": {"disk": "ssd"}}),
    "a label of nodes, gated": (_GATED, {**_GATED, "nodeSelector": {"disk": "ssd"}}),
    "a label of nodes more, gated": (
        {**_GATED, "nodeSelector": {"disk": "ssd"}},
        {**_GATED, "nodeSelector": {"disk": "ssd", "cpu": "fast"}},
    ),
    "another label of nodes, gated": (
        {**_GATED, "nodeSelector": {"disk": "ssd"}},
        {**_GATED, "nodeSelector": {"disk": "hdd", "a": "b"}},
    ),
    "no label of nodes any more, gated": ({**_GATED, "nodeSelector": {"disk": "ssd"}}, _GATED),
    "a wrong label of nodes, gated": (_GATED, {**_GATED, "nodeSelector": {"a/b/c": "d"}}),
    "affinity, gated": (_GATED, {**_GATED, "affinity": _nodes(_term(_SSD))}),
    "affinity": ({}, {"affinity": _nodes(_term(_SSD))}),
    "affinity to pods, gated": (_GATED, {**_GATED, "affinity": _NEAR}),
    "affinity to pods and nodes, gated": (_GATED, {**_GATED, "affinity": _nodes(_term(_SSD), **_NEAR)}),
    "tighter affinity, gated": (
        {**_GATED, "affinity": _nodes(_term(_SSD))},
        {**_GATED, "affinity": _nodes(_term(_SSD, _GPU))},
    ),
    "tighter affinity beside pods, gated": (
        {**_GATED, "affinity": _nodes(_term(_SSD), **_NEAR)},
        {**_GATED, "affinity": _nodes(_term(_SSD, _GPU), **_NEAR)},
    ),
    "other affinity, gated": (
        {**_GATED, "affinity": _nodes(_term(_SSD))},
        {**_GATED, "affinity": _nodes(_term(_GPU))},
    ),
    "a term more, gated": (
        {**_GATED, "affinity": _nodes(_term(_SSD))},
        {**_GATED, "affinity": _nodes(_term(_SSD), _term(_GPU))},
    ),
    "no affinity any more, gated": ({**_GATED, "affinity": _nodes(_term(_SSD))}, _GATED),
    "an empty term that is filled, gated": (
        {**_GATED, "affinity": _nodes({})},
        {**_GATED, "affinity": _nodes(_term(_SSD))},
    ),
    "fields of an affinity, gated": (
        {**_GATED, "affinity": _nodes(_term(_SSD))},
        {
            **_GATED,
            "affinity": _nodes(
                {**_term(_SSD), "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
            ),
        },
    ),
    "a preference, gated": (
        {**_GATED, "affinity": _nodes(_term(_SSD))},
        {
            **_GATED,
            "affinity": {
                "nodeAffinity": {
                    **_nodes(_term(_SSD))["nodeAffinity"],
                    _PREFERRED: [{"weight": 1, "preference": _term(_GPU)}],
                }
            },
        },
    ),
    "a node": ({}, {"nodeName": "n"}),
    "a volume": ({}, {"volumes": [{"name": "v", "emptyDir": {}}]}),
    "a claim": ({}, {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}),
    "a group of the files": ({}, {"securityContext": {"fsGroup": 5}}),
    "the host's network": ({}, {"hostNetwork": True}),
    "many things": (
        {"nodeSelector": {"a": "b"}},
        {"restartPolicy": "Never", "subdomain": "s", "priority": 5, "schedulerName": "mine"},
    ),
}
_MIRROR = {"kubernetes.io/config.mirror": "x"}
_COST = "controller.kubernetes.io/pod-deletion-cost"
_ANNOTATIONS: dict[str, tuple[Object, Object]] = {
    "a mirror": ({}, _MIRROR),
    "no mirror any more": (_MIRROR, {}),
    "another mirror": (_MIRROR, {"kubernetes.io/config.mirror": "y"}),
    "a cost of deletion": ({}, {_COST: "5"}),
    "a wrong cost of deletion": ({}, {_COST: "05"}),
}


def made() -> Iterator[Vector]:
    """Updates of pods."""
    for name, (old, new) in _CHANGES.items():
        yield change(f"change: {name}", pod(**old), pod(**new), "metadata.generation")
    for name, (before, after) in _ANNOTATIONS.items():
        # No account, as static pods have none.
        kept = {"nodeName": "n", "serviceAccountName": ""} if before else {}
        old, new = pod(annotations=before, **kept), pod(annotations=after, **kept)
        yield change(f"change of annotations: {name}", old, new)
    level = {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
    yield change("change: no resources of the pod any more", pod(**level), pod(), "spec.resources")
    yield change("change: other resources of the pod", pod(**level), pod(resources={"limits": {"cpu": "2"}}))
