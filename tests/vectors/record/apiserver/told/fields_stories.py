"""The stories that are told of managed fields: some by name, and many by chance."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object
from tests.vectors.managed_fields import NAMESPACE
from tests.vectors.record.apiserver.told.fields_bodies import SORTS, Sort, in_version, metadata

APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
STRATEGIC, OPERATIONS = "application/strategic-merge-patch+json", "application/json-patch+json"
_MANAGERS = ("alice", "bob", "carol", "kubectl")
_LATER = ("PUT", "OVER", "MERGE", "STRATEGIC", "JSON", "APPLY", "APPLY", "APPLY", "APPLY", "FORGET")
_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


def made(count: int, seed: int = 0) -> Iterator[Object]:
    """All stories by name, and so many by chance."""
    yield from named()
    of = random.Random(seed)
    for number in range(count):
        yield {"name": f"by chance {number}", "steps": list(_steps(of, of.choice(SORTS), f"o-{number}"))}


def _steps(of: random.Random, sort: Sort, name: str) -> Iterator[Object]:
    first = True
    for _ in range(of.randrange(3, 9)):
        status = None if first or of.random() > 0.4 else sort.status
        body = {
            "apiVersion": sort.api_version,
            "kind": sort.kind,
            "metadata": {"name": name, **metadata(of)},
            **(status or sort.body)(of),
        }
        collection, body = in_version(of, sort, body)
        path = f"{collection}/{name}" + ("/status" if status is not None else "")
        verb = of.choice(("POST", "APPLY", "APPLY") if first else _LATER)
        yield _step(of, verb, collection if verb == "POST" else path, body)
        first = False


def _step(of: random.Random, verb: str, path: str, body: Object) -> Object:
    manager = of.choice(_MANAGERS)
    step: Object = {"method": "PATCH", "path": path, "agent": f"{manager}/1.0"}
    bare = {key: value for key, value in body.items() if key not in ("apiVersion", "kind")}
    match verb:
        case "POST" | "PUT":
            return {**step, "method": verb, "body": body}
        case "OVER":
            return {**step, "method": "PUT", "over": True, "body": {k: v for k, v in bare.items() if k != "metadata"}}
        case "APPLY":
            force = {"force": "true"} if of.random() < 0.4 else {}
            return {**step, "type": APPLY, "query": {"fieldManager": manager, **force}, "body": body}
        case "FORGET":
            return {**step, "type": MERGE, "body": {"metadata": {"managedFields": of.choice([[], [{}]])}}}
        case "JSON":
            add = {"op": "add", "path": "/metadata/labels", "value": {"j": of.choice("12")}}
            return {
                **step,
                "type": OPERATIONS,
                "body": [add, {"op": "remove", "path": "/metadata/labels/j"}][: of.choice([1, 2])],
            }
    return {**step, "type": MERGE if verb == "MERGE" else STRATEGIC, "body": bare}


def named() -> Iterator[Object]:
    """What is worth a name: options, refusals, and whatever chance does not find."""
    yield _story(
        "who says who he is", [_post("a", agent="one/2 three"), _post("b", agent=""), _post("c", manager="four")]
    )
    yield _story("names that are none", [_post("d", manager="x" * 129), _post("e", manager="a\u0007b")])
    yield _story("many managers", [_post("f"), *(_merge("f", {f"k{n}": "1"}, f"m{n}") for n in range(14))])
    yield _story("refused options", _refused_options())
    yield _story("refused configurations", [_apply("g", body) for body in _wrong_configurations()])
    yield _story("no YAML", [{**_apply("g", ""), "body": text} for text in ("{", "[]", "a: b: c", "", "a: 1\n  b: 2")])
    twice = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: h}\ndata:\n  a: x\n  a: z\n"
    yield _story("a key twice", [_apply("h", twice, fieldValidation="Strict"), _apply("h", twice)])
    yield _story("from client-side apply", list(_from_client_side()))
    yield _story("pods", list(_of_pods()))
    yield _story("entries of the client's own", list(_own_entries()))
    yield _story("scales", list(_of_scales()))


def _story(name: str, steps: list[Object]) -> Object:
    return {"name": name, "steps": steps}


def _map(name: str, data: Any = None, **more: Any) -> Object:
    given = {} if data is None else {"data": data}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more}, **given}


def _post(name: str, *, agent: str = "tests/1", manager: str = "") -> Object:
    query = {"fieldManager": manager} if manager else {}
    return {"method": "POST", "path": _MAPS, "agent": agent, "query": query, "body": _map(name, {"a": "1"})}


def _merge(name: str, data: Object, agent: str) -> Object:
    return {"method": "PATCH", "path": f"{_MAPS}/{name}", "type": MERGE, "agent": agent, "body": {"data": data}}


def _apply(name: str, body: Any, manager: str = "me", **query: str) -> Object:
    options = {"fieldManager": manager, **query}
    return {"method": "PATCH", "path": f"{_MAPS}/{name}", "type": APPLY, "query": options, "body": body}


def _refused_options() -> list[Object]:
    plain = _merge("a", {"a": "1"}, "me")
    return [
        {**_apply("a", _map("a")), "query": {}},
        {**_apply("a", _map("a")), "query": {"dryRun": "x", "fieldValidation": "y"}},
        {**plain, "query": {"force": "true"}},
        {**plain, "query": {"force": "false", "fieldManager": "b\u0007"}},
    ]


def _wrong_configurations() -> list[Any]:
    bare = {"apiVersion": "v1", "kind": "ConfigMap"}
    return [
        *(_map("g", {"a": value}) for value in (1, True, [1, "x"], {"b": 1})),
        _map("g", [1]),
        {**_map("g"), "immutable": "x"},
        {**_map("g"), "immutable": {}},
        {**_map("g"), "unknown": 1},
        _map("another"),
        bare,
        {**bare, "metadata": {}},
        {**bare, "metadata": []},
        {**bare, "metadata": {"name": 1}},
        {"metadata": {"name": "g"}},
        {**bare, "kind": "Pod", "metadata": {"name": "g"}},
        _map("g", managedFields=[]),
        _map("g", managedFields=[{"manager": "x"}]),
        _map("g", namespace="another"),
        _map("g", uid="12"),
        _map("g", resourceVersion="12"),
        _map("g", uid="12"),
        _map("g", resourceVersion="12"),
    ]


def _from_client_side() -> Iterator[Object]:
    last = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"l"},"data":{"a":"1","b":"2"}}\n'
    annotation = {"kubectl.kubernetes.io/last-applied-configuration": last}
    body = _map("l", {"a": "1", "b": "3"}, annotations=annotation)
    yield {"method": "POST", "path": _MAPS, "agent": "kubectl", "query": {"fieldManager": "csa"}, "body": body}
    yield _apply("l", _map("l", {"a": "9", "b": "9"}), "other")
    yield _apply("l", _map("l", {"a": "9", "b": "9"}), "kubectl")
    yield _apply("l", _map("l", {"a": "9", "b": "3", "c": "<&>"}), "kubectl")


def _own_entries() -> Iterator[Object]:
    entry = {"manager": "x", "operation": "Update", "apiVersion": "v1", "time": "2020-01-01T00:00:00Z"}
    fields = {"fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:q": {}, ".": {}}, "x:y": {}}}
    good = {**entry, **fields}
    entries = (
        [good],
        [{**good, "apiVersion": "v7"}],
        [{**good, "operation": "Apply", "subresource": "status"}, good],
        [{**entry, "operation": "Bad"}],
        [entry],
        [{**good, "fieldsV1": {"k:{": {}}}],
        [{**good, "fieldsV1": {"f:data": {'k:{"b": 1, "a":"x"}': {}, "v: 1": {}, "i:3": {}}}}],
        [{**good, "fieldsV1": {}}],
        [{**good, "manager": "m" * 200}],
    )
    for number, given in enumerate(entries):
        name = f"e-{number}"
        yield {"method": "POST", "path": _MAPS, "agent": "tests/1", "body": _map(name, {"a": "1"}, managedFields=given)}
        changed = _map(name, {"a": "2"}, managedFields=given)
        yield {"method": "PUT", "path": f"{_MAPS}/{name}", "agent": "tests/1", "body": changed}


def _of_pods() -> Iterator[Object]:
    def pod(*containers: Any, **spec: Any) -> Object:
        found = {"serviceAccountName": "default", "automountServiceAccountToken": False, **spec}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {"containers": list(containers), **found},
        }

    def applied(body: Object, manager: str, **query: str) -> Object:
        return {**_apply("p", body, manager, **query), "path": f"{_PODS}/p"}

    good: Object = {"name": "c", "image": "i"}
    for wrong in (
        None,
        "x",
        {**good, "imag": 1},
        {**good, "ports": [{}, {}]},
        {**good, "resources": {"limits": {"cpu": []}}},
    ):
        yield applied(pod(wrong), "me")
    yield applied(pod(good, good), "me")
    yield applied(pod(good, terminationGracePeriodSeconds=1.5), "me")
    yield applied(pod(good, terminationGracePeriodSeconds="x", tolerations=[{"operator": 1}]), "me")
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}, {"containerPort": 9}]
    yield {"method": "POST", "path": _PODS, "agent": "tests/1", "body": pod({**good, "ports": ports})}
    yield applied(pod({**good, "image": "j"}), "me")
    yield applied(pod({**good, "image": "j"}), "me", force="true")
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "hostIP": "1.1.1.1"}
    yield {
        "method": "PATCH",
        "path": f"{_PODS}/p/status",
        "type": STRATEGIC,
        "agent": "kubelet/1",
        "body": {"status": status},
    }
    yield applied(pod({**good, "image": "k"}), "you")


def _of_scales() -> Iterator[Object]:
    collection = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    base = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "s"}}
    whole = {"method": "GET", "path": f"{collection}/s"}
    yield {"method": "POST", "path": collection, "agent": "tests/1", "body": {**base, "spec": spec}}
    for number, replicas in enumerate((3, 3, 0, 2)):
        body = {"spec": {"replicas": replicas}}
        scale = {"method": "PATCH", "path": f"{collection}/s/scale", "type": MERGE, "agent": f"m{number}/1"}
        yield {**scale, "body": body}
        yield whole
    whole_spec = {**base, "spec": {"replicas": 2, **spec}}
    yield {**_apply("s", whole_spec, "me", force="true"), "path": f"{collection}/s"}
    yield {"method": "PATCH", "path": f"{collection}/s/scale", "type": MERGE, "body": {"spec": {"replicas": 2}}}
    yield whole
    yield {"method": "PATCH", "path": f"{collection}/s/scale", "type": MERGE, "body": {"spec": {"replicas": 4}}}
    yield whole
    yield {**_apply("s", whole_spec, "me"), "path": f"{collection}/s"}
