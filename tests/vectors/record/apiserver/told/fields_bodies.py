"""Random bodies of some kinds, of few different values, so that managers get into each other's way."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from drakit_api.kubernetes_objects import Object
from tests.vectors.managed_fields import NAMESPACE

Body = Callable[[random.Random], Object]
_RESOURCE = "/apis/resource.k8s.io/v1"


class Sort(NamedTuple):
    """A kind of objects: what requests for it say, and what it is made of."""

    api_version: str
    kind: str
    collection: str
    body: Body
    status: Body | None = None


def some(of: random.Random, choices: Object, share: float = 0.5) -> Object:
    """Some of the fields; what is callable makes the value."""
    return {key: value() if callable(value) else value for key, value in choices.items() if of.random() < share}


def several(of: random.Random, values: list[Any]) -> list[Any]:
    """Some of the values in any order."""
    return of.sample(values, of.randrange(len(values) + 1))


def metadata(of: random.Random) -> Object:
    """Labels and the like."""

    def owners() -> list[Object]:
        return [
            {"apiVersion": "v1", "kind": "Pod", "name": of.choice("pq"), "uid": uid} for uid in several(of, ["u", "v"])
        ]

    choices = {
        "labels": lambda: some(of, {"a": of.choice("12"), "b": of.choice("12"), "c": ""}),
        "annotations": lambda: some(of, {"x": of.choice("12"), "y": "z"}),
        "finalizers": lambda: several(of, ["example.com/a", "example.com/b"]),
        "ownerReferences": owners,
    }
    return some(of, choices, 0.3)


def _config_map(of: random.Random) -> Object:
    return some(
        of, {"data": lambda: some(of, {key: of.choice("123") for key in "abcd"}), "binaryData": {"q": "YQ=="}}, 0.8
    )


def _account(of: random.Random) -> Object:
    def named() -> list[Object]:
        return [{"name": name} for name in several(of, ["a", "b", "c"])]

    return some(of, {"secrets": named, "imagePullSecrets": named, "automountServiceAccountToken": of.random() < 0.5})


def _conditions(of: random.Random) -> list[Object]:
    since = "2026-01-01T00:00:00Z"
    return [
        {
            "type": kind,
            "status": of.choice(["True", "False"]),
            "reason": "R",
            "message": "",
            "lastTransitionTime": since,
        }
        for kind in several(of, ["Ready", "Fit"])
    ]


def _claim(of: random.Random) -> Object:
    exact = {"deviceClassName": "x", **some(of, {"count": 1, "allocationMode": "ExactCount", "tolerations": []}, 0.3)}
    opaque = [{"opaque": {"driver": "d.example.com", "parameters": {"a": of.choice([1, 2])}}}]
    more = some(of, {"config": opaque, "constraints": []}, 0.2)
    return {"spec": {"devices": {"requests": [{"name": "r", "exactly": exact}], **more}}}


def _claim_status(of: random.Random) -> Object:
    device = {"driver": "d.example.com", "pool": "p", "device": "x"}
    reported = {
        "conditions": lambda: _conditions(of),
        "data": lambda: {"a": of.choice([1, 2])},
        "networkData": lambda: some(of, {"interfaceName": "eth0", "ips": ["10.0.0.1/24"]}),
    }
    choices = {
        "allocation": lambda: {"devices": {"results": [{"request": "r", **device}], **some(of, {"config": []}, 0.1)}},
        "reservedFor": lambda: [{"resource": "pods", "name": "p", "uid": uid} for uid in several(of, ["u", "v"])],
        "devices": lambda: [{**device, **some(of, reported)}],
    }
    return {"status": some(of, choices, 0.6)}


def _slice(of: random.Random) -> Object:
    def devices() -> list[Object]:
        parts = {
            "attributes": {"x": {"int": of.choice([1, 2])}},
            "capacity": {"m": {"value": of.choice(["1Gi", "2Gi"])}},
        }
        return [{"name": name, **some(of, parts)} for name in several(of, ["a", "b"])]

    pool = {"name": "p", "generation": of.choice([1, 2]), "resourceSliceCount": 1}
    return {"spec": {"driver": "d.example.com", "nodeName": "n", "pool": pool, **some(of, {"devices": devices}, 0.7)}}


def _class(of: random.Random) -> Object:
    choices = {
        "selectors": lambda: [{"cel": {"expression": of.choice(["true", "false"])}}],
        "config": lambda: [{"opaque": {"driver": "d.example.com", "parameters": {"a": of.choice([1, 2])}}}],
        "extendedResourceName": of.choice(["example.com/a", "example.com/b"]),
    }
    return {"spec": some(of, choices)}


def _container(of: random.Random, name: str) -> Object:
    choices = {
        "ports": lambda: [
            {"containerPort": port, **some(of, {"protocol": "TCP"})} for port in several(of, [9, 80, 100])
        ],
        "env": lambda: [{"name": key, **some(of, {"value": of.choice("12")})} for key in several(of, ["A", "B"])],
        "resources": lambda: some(of, {"requests": some(of, {"cpu": of.choice(["1", "1000m"]), "memory": "1Gi"})}),
        "args": lambda: [of.choice("ab")],
        "volumeMounts": lambda: [{"name": "v", "mountPath": path} for path in several(of, ["/a", "/b"])],
        "securityContext": lambda: some(of, {"privileged": False, "capabilities": {"add": ["X"]}}),
    }
    return {"name": name, "image": of.choice("ij"), **some(of, choices, 0.3)}


def _pod_spec(of: random.Random) -> Object:
    term = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    choices = {
        "nodeSelector": lambda: some(of, {"a": "b", "c": "d"}),
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "affinity": {"nodeAffinity": required},
        "hostAliases": lambda: [{"ip": ip, "hostnames": ["h"]} for ip in several(of, ["1.1.1.1", "2.2.2.2"])],
        "imagePullSecrets": lambda: [{"name": name} for name in several(of, ["s", "t"])],
    }
    names = of.choice([["c"], ["d"], ["c", "d"], ["d", "c"]])
    containers = [_container(of, name) for name in names]
    return {"containers": containers, "volumes": [{"name": "v", "emptyDir": {}}], **some(of, choices, 0.25)}


def _deployment(of: random.Random) -> Object:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": _pod_spec(of)}
    choices = {
        "replicas": of.choice([1, 2]),
        "minReadySeconds": of.choice([0, 5]),
        "strategy": {"type": "RollingUpdate", "rollingUpdate": some(of, {"maxSurge": of.choice([1, "25%"])})},
    }
    return {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, **some(of, choices, 0.3)}}


def _deployment_status(of: random.Random) -> Object:
    def conditions() -> list[Object]:
        return [{"type": kind, "status": "True"} for kind in several(of, ["Available", "Progressing"])]

    return {"status": some(of, {"replicas": of.choice([1, 2]), "observedGeneration": 1, "conditions": conditions}, 0.7)}


def _of_resources(plural: str) -> str:
    return f"{_RESOURCE}/{plural}"


def in_version(of: random.Random, sort: Sort, body: Object) -> tuple[str, Object]:
    """The collection, and a body in one of the versions of its group."""
    if not sort.api_version.startswith("resource.k8s.io"):
        return sort.collection, body
    version = of.choice(["v1", "v1", "v1beta2", "v1beta1"])
    found = {**body, "apiVersion": f"resource.k8s.io/{version}"}
    spec = body.get("spec") or {}
    if version == "v1beta1" and sort.kind == "ResourceClaim" and spec:
        requests = [{"name": one["name"], **one["exactly"]} for one in spec["devices"]["requests"]]
        found["spec"] = {"devices": {**spec["devices"], "requests": requests}}
    if version == "v1beta1" and "devices" in spec and sort.kind == "ResourceSlice":
        devices = [{"name": one["name"], "basic": {k: one[k] for k in one if k != "name"}} for one in spec["devices"]]
        found["spec"] = {**spec, "devices": devices}
    return sort.collection.replace("/v1/", f"/{version}/"), found


_CORE, _MINE = "/api/v1", f"namespaces/{NAMESPACE}"
SORTS = (
    Sort("v1", "ConfigMap", f"{_CORE}/{_MINE}/configmaps", _config_map),
    Sort("v1", "ServiceAccount", f"{_CORE}/{_MINE}/serviceaccounts", _account),
    Sort("apps/v1", "Deployment", f"/apis/apps/v1/{_MINE}/deployments", _deployment, _deployment_status),
    Sort("resource.k8s.io/v1", "ResourceClaim", _of_resources(f"{_MINE}/resourceclaims"), _claim, _claim_status),
    Sort("resource.k8s.io/v1", "ResourceSlice", _of_resources("resourceslices"), _slice),
    Sort("resource.k8s.io/v1", "DeviceClass", _of_resources("deviceclasses"), _class),
)
