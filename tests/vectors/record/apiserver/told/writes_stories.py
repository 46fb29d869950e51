"""Stories of writes that are seldom made: odd patches, deletions in every state, dry runs, odd metadata.

``tests.vectors.writes`` plays them. The name of a story begins with its matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from drakit_api.kubernetes_objects import Object
from tests.vectors.record.apiserver.told import writes_of_size

_CORE = "/api/v1/namespaces/$namespace"
_MAPS = f"{_CORE}/configmaps"
_MAP = f"{_MAPS}/a"
_JSON_PATCH = "application/json-patch+json"
_APPLY = "application/apply-patch+yaml"
_STRATEGIC = "application/strategic-merge-patch+json"
_MERGE = "application/merge-patch+json"
_APPS = "/apis/apps/v1/namespaces/$namespace"
_PODS = f"{_CORE}/pods"
_POD = f"{_PODS}/p"
_FINALIZER = "example.com/wait"
_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
_FREED = {"metadata": {"finalizers": None}}


def made() -> Iterator[Object]:
    """All stories."""
    yield from _json_patches()
    yield from _strategic_patches()
    yield from _deletions()
    yield from _deletions_of_collections()
    yield from _delete_options()
    yield from _namespaces()
    yield from _evictions()
    yield from _bindings()
    yield from _names()
    yield from _scales()
    yield from _versions()
    yield from writes_of_size.made()
    yield from _places()
    yield from _owners()
    yield from _last_applied()
    yield from _warnings()


def _step(method: str, path: str, body: Any = None, kind: str = "", shows: Sequence[str] = ()) -> Object:
    given = {"body": body, "type": kind, "shows": list(shows)}
    return {"method": method, "path": path, **{key: value for key, value in given.items() if value or value == {}}}


def _config_map(name: str = "a", **metadata: Any) -> Object:
    return {"metadata": {"name": name, **metadata}, "data": {"k": "v"}}


def _pod(node: str = "n", **metadata: Any) -> Object:
    placed = {"nodeName": node} if node else {}
    return {"metadata": {"name": "p", **metadata}, "spec": {**placed, "containers": [{"name": "c", "image": "i"}]}}


def _deployment() -> Object:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"metadata": {"name": "a"}, "spec": spec}


def _story(name: str, *steps: Object, watch: str = "") -> Object:
    return {"name": name, "steps": list(steps), **({"watch": watch} if watch else {})}


def _json_patches() -> Iterator[Object]:
    finalizers = "/metadata/finalizers"
    # What is in the way of each: the limit of 3 MiB, and that an index is a number of Go.
    doubled: list[Object] = [{"op": "add", "path": "/a", "value": ["x" * 100]}]
    doubled += [{"op": "copy", "from": "/a", "path": "/a/-"}] * 25
    most = 3 * 1024 * 1024 // len('"' + "x" * 1000 + '"')
    copies = [{"op": "copy", "from": "/data/k", "path": "/data/l"}] * most
    tried: dict[str, list[Object]] = {
        "a copy of itself, again and again": doubled,
        "as much as may be copied": [*copies, {"op": "remove", "path": "/data/l"}],
        "more than may be copied": [*copies, copies[0], {"op": "remove", "path": "/data/l"}],
        "an index of many digits": [{"op": "add", "path": f"{finalizers}/{'1' * 5000}", "value": "c/c"}],
        "an index of many zeros": [{"op": "add", "path": f"{finalizers}/{'0' * 5000}1", "value": "c/c"}],
        "an index beyond int64": [{"op": "remove", "path": f"{finalizers}/9223372036854775808"}],
        "an index with an underscore": [{"op": "add", "path": f"{finalizers}/0_1", "value": "c/c"}],
        "an index below the first": [{"op": "remove", "path": f"{finalizers}/-3"}],
    }
    obj = {"metadata": {"name": "a", "finalizers": ["a/a", "b/b"]}, "data": {"k": "x" * 1000}}
    for name, operations in tried.items():
        yield _story(
            f"json patch: {name}", _step("POST", _MAPS, obj), _step("PATCH", _MAP, operations, _JSON_PATCH, ["data.l"])
        )


def _strategic_patches() -> Iterator[Object]:
    tried: dict[str, Object] = {
        "a port beside two of one number": {"ports": [{"name": "web", "port": 80}]},
        "a port of two of one number": {"ports": [{"port": 53, "targetPort": 1053}]},
        "two ports of one number are deleted": {"ports": [{"port": 53, "$patch": "delete"}, {"port": 80}]},
        "the new port is the first": {
            "$setElementOrder/ports": [{"port": 80}, {"port": 53}],
            "ports": [{"port": 80, "name": "x"}],
        },
        "the new port is the last": {
            "$setElementOrder/ports": [{"port": 53}, {"port": 53}, {"port": 80}],
            "ports": [{"port": 80, "name": "x"}],
        },
        "an order, and nothing else": {"$setElementOrder/ports": [{"port": 53}, {"port": 53}]},
        "two ports of one number replace all": {
            "ports": [{"$patch": "replace"}, {"port": 53, "name": "a", "protocol": "UDP"}, {"port": 53, "name": "b"}]
        },
        "one port, twice": {"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b", "protocol": "UDP"}]},
        "a text as number": {"ports": [{"port": "53", "name": "a"}]},
        "an item that is deleted, but not which": {"ports": [{"$patch": "delete"}]},
        "an item that replaces is none itself": {
            "ports": [{"port": 53, "name": "q", "$patch": "replace"}, {"port": 80}]
        },
        "an item that is to be merged": {"ports": [{"port": 80, "$patch": "merge"}]},
        "an item with another directive": {"ports": [{"port": 53, "$patch": "foo"}]},
        "no number": {"ports": [{"name": "a"}]},
    }
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]
    service = {"metadata": {"name": "a"}, "spec": {"selector": {"a": "b"}, "ports": ports}}
    made = _step("POST", f"{_CORE}/services", service)
    for name, spec in tried.items():
        patch = _step("PATCH", f"{_CORE}/services/a", {"spec": spec}, _STRATEGIC, ["spec.ports"])
        yield _story(f"strategic patch: {name}", made, patch)
    for finalizers in (["b/b", "c/c", "c/c"], ["c/c", "a/a"], ["a/a", "a/a"], [1], [["a/a"]]):
        yield _story(
            f"strategic patch: finalizers {finalizers}",
            _step("POST", _MAPS, _config_map(finalizers=["a/a", "b/b"])),
            _step("PATCH", _MAP, {"metadata": {"finalizers": finalizers}}, _STRATEGIC),
        )


def _deletions() -> Iterator[Object]:
    """What watchers see of each, and how many versions it takes."""
    held = _step("POST", _MAPS, _config_map(finalizers=[_FINALIZER]))
    delete, free = _step("DELETE", _MAP), _step("PATCH", _MAP, _FREED, _MERGE)
    last = {"metadata": {"finalizers": None, "labels": {"x": "y"}}, "data": {"k": "new"}}
    of_maps = {
        "at once": [_step("POST", _MAPS, _config_map()), delete],
        "the last finalizer, by a patch": [held, delete, _step("PATCH", _MAP, last, _MERGE, ["data"])],
        "the last finalizer, by a PUT": [held, delete, _step("PUT", _MAP, _config_map(labels={"x": "y"}))],
        "the last finalizer, not really": [
            held,
            delete,
            _step("PATCH", f"{_MAP}?dryRun=All", last, _MERGE, ["data"]),
            _step("GET", _MAP),
        ],
        "again, and in the foreground": [
            held,
            delete,
            _step("DELETE", f"{_MAP}?propagationPolicy=Foreground"),
            _step("DELETE", f"{_MAP}?propagationPolicy=Background"),
            free,
        ],
        "in the foreground": [
            _step("POST", _MAPS, _config_map()),
            _step("DELETE", f"{_MAP}?propagationPolicy=Foreground"),
            free,
        ],
        "in the background, of what is an orphan's": [
            _step("POST", _MAPS, _config_map(finalizers=["orphan"])),
            _step("DELETE", f"{_MAP}?propagationPolicy=Background"),
        ],
        "and made again before it is gone": [held, delete, _step("POST", _MAPS, _config_map())],
        "many, not really": [
            _step("POST", _MAPS, _config_map()),
            _step("DELETE", f"{_MAPS}?dryRun=All"),
            _step("GET", _MAP),
        ],
    }
    for name, steps in of_maps.items():
        yield _story(f"deletion: {name}", *steps, watch=_MAPS)
    yield from _deletions_of_pods()


def _deletions_of_pods() -> Iterator[Object]:
    bound, waiting = _step("POST", _PODS, _pod()), _step("POST", _PODS, _pod(""))
    held = _step("POST", _PODS, _pod(finalizers=[_FINALIZER]))
    delete, now = _step("DELETE", _POD), _step("DELETE", f"{_POD}?gracePeriodSeconds=0")
    free = _step("PATCH", _POD, _FREED, _MERGE)
    foreground = f"{_POD}?propagationPolicy=Foreground"
    version = {"gracePeriodSeconds": 0, "preconditions": {"resourceVersion": f"$version({_POD})"}}
    stories = {
        "without node": [waiting, delete],
        "without node, with orphans": [waiting, _step("DELETE", f"{_POD}?propagationPolicy=Orphan")],
        "without node, held": [_step("POST", _PODS, _pod("", finalizers=[_FINALIZER])), delete, free],
        "at once": [bound, now],
        "at once, not really": [bound, _step("DELETE", f"{_POD}?gracePeriodSeconds=0&dryRun=All"), _step("GET", _POD)],
        "with grace, then at once": [bound, delete, now],
        "with grace, then at once if it is as it was": [bound, delete, _step("DELETE", _POD, version)],
        "with grace, then another": [
            bound,
            delete,
            _step("DELETE", f"{_POD}?gracePeriodSeconds=60"),
            _step("DELETE", f"{_POD}?gracePeriodSeconds=10"),
            _step("DELETE", f"{_POD}?gracePeriodSeconds=-3"),
        ],
        "with a grace below zero": [bound, _step("DELETE", f"{_POD}?gracePeriodSeconds=-3")],
        "again, and in the foreground": [
            bound,
            delete,
            _step("DELETE", foreground),
            _step("DELETE", f"{foreground}&gracePeriodSeconds=10"),
        ],
        "in the foreground": [
            bound,
            _step("DELETE", foreground),
            _step("DELETE", f"{_POD}?propagationPolicy=Background"),
            now,
            _step("DELETE", f"{_POD}?propagationPolicy=Background&gracePeriodSeconds=0"),
        ],
        "held": [held, delete, now, free],
        "held, at once": [held, now, now, free],
        "freed while it has grace": [held, delete, free, now],
        "all of them": [waiting, _step("DELETE", f"{_PODS}?gracePeriodSeconds=0")],
    }
    for name, steps in stories.items():
        yield _story(f"deletion: a pod {name}", *steps, watch=_PODS)


def _deletions_of_collections() -> Iterator[Object]:
    """Of three config maps, of which the second waits for a finalizer."""
    made = [
        _step("POST", _MAPS, _config_map("a", labels={"odd": "yes"})),
        _step("POST", _MAPS, _config_map("b", finalizers=[_FINALIZER])),
        _step("POST", _MAPS, _config_map("c", labels={"odd": "yes"})),
    ]
    queries = {
        "all": "",
        "a page": "limit=2",
        "a page of what is selected": "limit=1&labelSelector=odd%3Dyes",
        "a page from the cache": "limit=2&resourceVersion=0",
        "a page of no size": "limit=-1",
        "a page of a letter": "limit=x",
        "selected by labels": "labelSelector=odd%3Dyes",
        "selected by a field": "fieldSelector=metadata.name%3Dc",
        "selected by a field that there is not": "fieldSelector=data.k%3Dv",
        "as they were": f"resourceVersion=$version({_MAP})&resourceVersionMatch=Exact",
        "a page as they were": f"resourceVersion=$version({_MAP})&limit=5",
        "not older": f"resourceVersion=$version({_MAP})&resourceVersionMatch=NotOlderThan",
        "newer than something": f"resourceVersion=$version({_MAP})",
        "of a version in letters": "resourceVersion=x",
        "of no version": "resourceVersionMatch=Exact",
        "the rest of no list": "continue=x",
        "with initial events": "sendInitialEvents=true",
        "not really, a page": "dryRun=All&limit=2",
        "of orphans": "propagationPolicy=Orphan&limit=2",
        "in the foreground": "propagationPolicy=Foreground",
        "in an unknown way": "propagationPolicy=Sideways",
        "printed": "pretty=true&limit=1",
    }
    for name, query in queries.items():
        gone = _step("DELETE", f"{_MAPS}?{query}")
        yield _story(f"deletions: {name}", *made, gone, _step("GET", _MAPS), watch=_MAPS)
    bodies: dict[str, Object] = {
        "if one has a version": {"preconditions": {"resourceVersion": f"$version({_MAP})"}},
        "if they have a UID": {"preconditions": {"uid": "u"}},
        "not really, by the body": {"dryRun": ["All"]},
        "of orphans, by the body": {"propagationPolicy": "Orphan"},
    }
    for name, body in bodies.items():
        gone = _step("DELETE", f"{_MAPS}?limit=2", body)
        yield _story(f"deletions: {name}", *made, gone, _step("GET", _MAPS), watch=_MAPS)
    again = _step("DELETE", _MAPS)
    yield _story("deletions: again", *made, again, again, _step("PATCH", f"{_MAPS}/b", _FREED, _MERGE), watch=_MAPS)


def _delete_options() -> Iterator[Object]:
    """Each is asked of an object that is there; those that refuse leave it there for the next."""
    asked: list[tuple[str, Any]] = [
        *((f"?dryRun={values}", None) for values in ("x", "x&dryRun=All", "", "All", "All&dryRun=All", "All&dryRun=x")),
        *(("", {"dryRun": values}) for values in (["x"], ["All", "x"], ["All"], ["All", "All"], [])),
        *((f"?{query}", {}) for query in ("dryRun=All", "dryRun=x", "propagationPolicy=x", "gracePeriodSeconds=x")),
        *((f"?{query}", None) for query in ("fieldManager=" + "x" * 200, "fieldValidation=x", "gracePeriodSeconds=x")),
        *(
            (f"?{query}&dryRun=All", None)
            for query in ("orphanDependents=x", "orphanDependents=false", "preconditions=x")
        ),
        *((f"?{query}&dryRun=All", None) for query in ("uid=x", "resourceVersion=1", "uid=", "resourceVersion=")),
        ("?orphanDependents=true&propagationPolicy=Orphan", None),
        *(("", {"preconditions": one}) for one in ({"uid": ""}, {"resourceVersion": ""}, {"resourceVersion": "0"})),
    ]
    for query, body in asked:
        shown = query[:40] if body is None else f"{query} {body}"
        make = _step("POST", _MAPS, _config_map())
        yield _story(f"delete options: {shown}", make, _step("DELETE", _MAP + query, body), _step("GET", _MAP))
        if not shown.startswith("?resourceVersion=1"):  # this is also the version of the list, which says no
            yield _story(
                f"delete options: of all {shown}", make, _step("DELETE", _MAPS + query, body), _step("GET", _MAP)
            )
    for option in ({"orphanDependents": False}, {"orphanDependents": True}, {"propagationPolicy": "Foreground"}):
        make = _step("POST", _MAPS, _config_map())
        yield _story(f"delete options: answer to {option}", make, _step("DELETE", _MAP, option), _step("DELETE", _MAP))
        yield _story(
            f"delete options: answer about a pod to {option}",
            _step("POST", _PODS, _pod()),
            _step("DELETE", _POD, option),
        )


def _namespaces() -> Iterator[Object]:
    final = {"metadata": {"name": "$namespace"}, "spec": {}}
    finalize, delete = (
        _step("PUT", f"{_CORE}/finalize", final, "", ["spec"]),
        _step("DELETE", _CORE, None, "", ["status"]),
    )
    look = _step("GET", _CORE, None, "", ["spec", "status"])
    stories = {
        "deleted, then finalized": [delete, delete, finalize, look],
        "finalized, then deleted": [finalize, delete, look, delete, look],
        "finalized, then deleted, then changed": [
            finalize,
            delete,
            _step("PATCH", _CORE, {"metadata": {"labels": {"x": "y"}}}, _MERGE),
            look,
        ],
        "held": [
            _step("PATCH", _CORE, {"metadata": {"finalizers": [_FINALIZER]}}, _MERGE),
            delete,
            finalize,
            delete,
            look,
        ],
        "in the foreground": [_step("DELETE", f"{_CORE}?propagationPolicy=Foreground"), finalize, delete, look],
        "another": [
            _step("DELETE", _CORE, {"preconditions": {"uid": "x"}}),
            _step("DELETE", _CORE, {"preconditions": {"resourceVersion": "1"}}),
            look,
        ],
        "deleted and finalized, not really": [
            _step("DELETE", f"{_CORE}?dryRun=All", None, "", ["status"]),
            look,
            delete,
            _step("PUT", f"{_CORE}/finalize?dryRun=All", final, "", ["spec"]),
            look,
        ],
        "finalized, not really": [_step("PUT", f"{_CORE}/finalize?dryRun=All", final, "", ["spec"]), look],
    }
    for name, steps in stories.items():
        yield _story(f"namespaces: {name}", *steps)
    yield from _statuses_of_namespaces(delete)


def _statuses_of_namespaces(delete: Object) -> Iterator[Object]:
    condition = {"type": "Odd", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}

    def put(status: Object | None) -> Object:
        given = {} if status is None else {"status": status}
        return _step("PUT", f"{_CORE}/status", {"metadata": {"name": "$namespace"}, **given}, "", ["status"])

    def patch(status: Object | None) -> Object:
        return _step("PATCH", f"{_CORE}/status", {"status": status}, _MERGE, ["status"])

    for name, write in {"put": put, "patched": patch}.items():
        for state in ("active", "terminating"):
            for said, status in {
                "none": None,
                "empty": {},
                "no phase": {"phase": ""},
                "Active": {"phase": "Active"},
                "Terminating": {"phase": "Terminating"},
                "Odd": {"phase": "Odd"},
                "conditions": {"conditions": [condition]},
            }.items():
                steps = [delete] if state == "terminating" else []
                yield _story(f"statuses of namespaces: {said}, {name}, {state}", *steps, write(status))


def _evictions() -> Iterator[Object]:
    def evict(query: str = "", **options: Any) -> Object:
        given = {"deleteOptions": options} if options else {}
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}, **given}
        return _step("POST", f"{_POD}/eviction{query}", eviction)

    bound, look = _step("POST", _PODS, _pod()), _step("GET", _POD, None, "", ["status.conditions"])
    right = {"resourceVersion": f"$version({_POD})", "uid": f"$uid({_POD})"}
    stories = {
        "a pod": [bound, evict(), evict()],
        "a pod without node": [_step("POST", _PODS, _pod("")), evict()],
        "at once": [bound, evict(gracePeriodSeconds=0)],
        "a finished pod": [
            bound,
            _step("PATCH", f"{_POD}/status", {"status": {"phase": "Succeeded"}}, _MERGE),
            evict(),
        ],
        "none": [evict()],
        "another pod": [bound, evict(preconditions={"uid": "x"}), look],
        "a pod of no UID": [bound, evict(preconditions={"uid": ""}), look],
        "a pod as it was": [bound, evict(preconditions={"resourceVersion": "1"}), look],
        "a pod of no version": [bound, evict(preconditions={"resourceVersion": ""}), look],
        "the right pod": [bound, evict(preconditions=right)],
        "not really": [
            bound,
            evict("?dryRun=All", preconditions={"resourceVersion": "1"}),
            evict("?dryRun=All"),
            evict(dryRun=["All"]),
            evict("?dryRun=All", dryRun=["All"]),
            look,
        ],
        "not really, in other words": [
            bound,
            evict(dryRun=["x"]),
            evict("?dryRun=x"),
            evict("?dryRun=All", dryRun=["x"]),
            look,
        ],
        "in an unknown way": [bound, evict(propagationPolicy="x"), look],
    }
    for name, steps in stories.items():
        yield _story(f"eviction: {name}", *steps, watch=_PODS)


def _bindings() -> Iterator[Object]:
    look = _step("GET", _POD, None, "", ["spec.nodeName"])
    for collection in ("bindings", "pods/p/binding"):

        def bind(query: str = "", collection: str = collection, **metadata: Any) -> Object:
            return _step("POST", f"{_CORE}/{collection}{query}", {"metadata": metadata, "target": {"name": "n"}})

        yield _story(
            f"bindings: to {collection}",
            _step("POST", _PODS, _pod("")),
            bind("?dryRun=All", name="p"),
            look,
            bind("?dryRun=x", name="p"),
            bind(name="p", uid="x"),
            bind(name="p", resourceVersion="1"),
            bind(name="p", resourceVersion="0"),
            bind(name="other"),
            bind(),
            look,
            bind(name="p"),
            look,
            bind(name="p"),
            watch=_PODS,
        )


def _names() -> Iterator[Object]:
    make, both = _step("POST", _MAPS, _config_map()), _config_map(generateName="g-")
    yield _story("names: generated", *(_step("POST", _MAPS, {"metadata": {"generateName": "g-"}}) for _ in range(2)))
    yield _story("names: taken", make, make, _step("POST", f"{_MAPS}?dryRun=All", _config_map()))
    yield _story("names: given and taken, though one could be generated", make, _step("POST", _MAPS, both))


def _scales() -> Iterator[Object]:
    exists = {"key": "a", "operator": "Exists"}
    several: list[Object] = [
        {"key": "z", "operator": "NotIn", "values": ["b", "a"]},
        {"key": "x", "operator": "DoesNotExist"},
        {"key": "a", "operator": "In", "values": ["b"]},
        {"key": "a", "operator": "In", "values": ["c", "b"]},
    ]
    selectors: dict[str, Object] = {
        "labels": {"matchLabels": {"a": "b"}},
        "labels and an expression": {"matchLabels": {"a": "b"}, "matchExpressions": [exists]},
        "expressions": {"matchExpressions": several},
    }
    template = _deployment()["spec"]["template"]
    for plural in ("deployments", "replicasets", "statefulsets"):
        for name, selector in selectors.items():
            body = {"metadata": {"name": "a"}, "spec": {"replicas": 0, "selector": selector, "template": template}}
            look = _step("GET", f"{_APPS}/{plural}/a/scale", None, "", ["spec", "status"])
            yield _story(f"scales: of {plural} by {name}", _step("POST", f"{_APPS}/{plural}", body), look)
    spec = {"replicas": 0, "selector": {"a": "b"}, "template": template}
    # Their labels are those of the template, by default.
    body = {"metadata": {"name": "a", "labels": {"a": "b"}}, "spec": spec}
    look = _step("GET", f"{_CORE}/replicationcontrollers/a/scale", None, "", ["spec", "status"])
    yield _story("scales: of replicationcontrollers", _step("POST", f"{_CORE}/replicationcontrollers", body), look)


def _versions() -> Iterator[Object]:
    """The resourceVersion that an object says it has: what is no number, what is none, and another one."""
    for version in ("0", "00", "abc", "-1", "+1", "1x", " 1", "1", "9" * 20, "9" * 5000):
        yield from _versions_of(version if len(version) < 100 else "much too long", version)


def _versions_of(shown: str, version: str) -> Iterator[Object]:
    given, typed = {"resourceVersion": version}, {"apiVersion": "v1", "kind": "ConfigMap"}
    make, body = _step("POST", _MAPS, _config_map()), _config_map(**given)
    operation = {"op": "add", "path": "/metadata/resourceVersion", "value": version}
    yield _story(
        f"versions: {shown}, created",
        _step("POST", _MAPS, body),
        _step("POST", f"{_MAPS}?dryRun=All", _config_map("b", **given)),
    )
    yield _story(f"versions: {shown}, put", make, _step("PUT", _MAP, body), _step("PUT", f"{_MAP}?dryRun=All", body))
    yield _story(
        f"versions: {shown}, patched",
        make,
        _step("PATCH", _MAP, {"metadata": given}, _MERGE),
        _step("PATCH", _MAP, {"metadata": given}, _STRATEGIC),
        _step("PATCH", _MAP, [operation], _JSON_PATCH),
        _step("PATCH", f"{_MAP}?fieldManager=x", {**typed, "metadata": given}, _APPLY),
    )
    yield _story(
        f"versions: {shown}, applied", _step("PATCH", f"{_MAP}?fieldManager=x", {**typed, "metadata": given}, _APPLY)
    )
    lease = "/apis/coordination.k8s.io/v1/namespaces/$namespace/leases/a"
    put = _step("PUT", lease, {"metadata": {"name": "a", **given}, "spec": {}})
    yield _story(f"versions: {shown}, of what a PUT makes", put, put)
    name = "c-$namespace"
    yield _story(
        f"versions: {shown}, of a class",
        _step("POST", _CLASSES, {"metadata": {"name": name}, "spec": {}}),
        _step("PUT", f"{_CLASSES}/{name}", {"metadata": {"name": name, **given}, "spec": {}}),
        _step("DELETE", f"{_CLASSES}/{name}"),
    )
    scale, three = f"{_APPS}/deployments/a/scale", {"spec": {"replicas": 3}}
    yield _story(
        f"versions: {shown}, of a scale",
        _step("POST", f"{_APPS}/deployments", _deployment()),
        _step("PUT", scale, {"metadata": {"name": "a", **given}, **three}, "", ["spec"]),
        _step("PATCH", scale, {"metadata": given, "spec": {"replicas": 4}}, _MERGE, ["spec"]),
        _step("PUT", scale, {"metadata": {"name": "a", "uid": "x"}, **three}, "", ["spec"]),
    )
    binding = {"metadata": {"name": "p", **given}, "target": {"name": "n"}}
    yield _story(
        f"versions: {shown}, of a binding", _step("POST", _PODS, _pod("")), _step("POST", f"{_POD}/binding", binding)
    )


def _places() -> Iterator[Object]:
    """The namespace that an object says it is in, which may have none."""
    # Every new node comes to have this taint with the real server.
    taints = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    node = {"metadata": {"name": "n-$namespace", "namespace": "default"}, "spec": {"taints": taints}}
    one = "/api/v1/nodes/n-$namespace"
    moved, typed = {"metadata": {"namespace": "x"}}, {"apiVersion": "v1", "kind": "Node"}
    yield _story(
        "places: of a node",
        _step("POST", "/api/v1/nodes", node),
        _step("PUT", one, node),
        _step("PATCH", one, moved, _MERGE),
        _step("PATCH", one, moved, _STRATEGIC),
        _step("PATCH", f"{one}?fieldManager=x", {**typed, **moved}, _APPLY),
        _step("PUT", f"{one}/status", node),
        _step("PATCH", f"{one}/status", moved, _MERGE),
        _step("DELETE", one),
    )
    made = {"metadata": {"name": "c-$namespace", "namespace": "x"}, "spec": {}}
    versioned = {**made, "metadata": {**made["metadata"], "resourceVersion": f"$version({_CLASSES}/c-$namespace)"}}
    yield _story(
        "places: of a class",
        _step("POST", _CLASSES, made),
        _step("PUT", f"{_CLASSES}/c-$namespace", versioned),
        _step("DELETE", f"{_CLASSES}/c-$namespace"),
    )
    other = {"metadata": {"name": "$namespace", "namespace": "other"}}
    yield _story(
        "places: of a namespace",
        *(
            _step("POST", "/api/v1/namespaces", {"metadata": {"name": f"$namespace-{at}", "namespace": at}})
            for at in "xy"
        ),
        _step("PUT", _CORE, other),
        _step("PATCH", _CORE, {"metadata": {"namespace": "other"}}, _MERGE),
        _step("PATCH", _CORE, {"metadata": {"namespace": "$namespace"}}, _MERGE),
        _step("PUT", f"{_CORE}/status", {**other, "status": {"phase": "Active"}}),
        _step("PUT", f"{_CORE}/finalize", {**other, "spec": {"finalizers": ["kubernetes"]}}),
    )
    for name, namespace in (("a", None), ("b", ""), ("c", "x")):
        yield _story(
            f"places: of a config map in {namespace!r}",
            _step("POST", _MAPS, _config_map(name, namespace=namespace)),
            _step("PATCH", f"{_MAPS}/{name}", {"metadata": {"namespace": namespace}}, _MERGE),
        )
    target = {"metadata": {"name": "p", "namespace": "x"}, "target": {"name": "n"}}
    yield _story(
        "places: of a pod's verbs",
        _step("POST", _PODS, _pod("")),
        _step("POST", f"{_POD}/eviction", {"metadata": {"name": "p", "namespace": "x"}}),
        _step("POST", f"{_POD}/binding", target),
        _step("POST", f"{_CORE}/bindings", target),
        _step("GET", _POD),
    )


def _owners() -> Iterator[Object]:
    """Owners that an object names twice."""
    one = {"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "u"}
    twice, thrice = {"metadata": {"ownerReferences": [one, one]}}, [one, one, one]
    other = {"metadata": {"ownerReferences": [one, {**one, "name": "z"}, {**one, "controller": False}, one]}}
    operation = {"op": "add", "path": "/metadata/ownerReferences", "value": thrice}
    apply = _step("PATCH", f"{_MAP}?fieldManager=x", {"apiVersion": "v1", "kind": "ConfigMap", **twice}, _APPLY)
    by_uids = _step("PATCH", _MAP, twice, _STRATEGIC)
    # The server applies a patch to what its watch cache has first, and warns of that too, which may be the map before.
    seen = _step("GET", f"{_MAPS}?resourceVersion=$version({_MAP})")
    stories = {
        "created": [_step("POST", _MAPS, _config_map(ownerReferences=[one, one]))],
        "put": [_step("PUT", _MAP, _config_map(ownerReferences=[one, one]))],
        "patched": [_step("PATCH", _MAP, twice, _MERGE), _step("PATCH", _MAP, other, _MERGE)],
        "patched by operations": [_step("PATCH", _MAP, [operation], _JSON_PATCH)],
        "patched by their UIDs": [by_uids, seen, by_uids],
        "applied": [apply],
    }
    for name, steps in stories.items():
        first = [] if name == "created" else [_step("POST", _MAPS, _config_map())]
        yield _story(f"owners: {name}", *first, *steps)
    yield _story("owners: applied first", apply)


def _last_applied() -> Iterator[Object]:
    """Configurations that kubectl's manager applies to what client-side apply has made."""
    annotation = "kubectl.kubernetes.io/last-applied-configuration"
    before = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}'
    made = _step("POST", _MAPS, _config_map(annotations={annotation: before}))
    metadata: dict[str, Object] = {
        "none": {},
        "null": {"metadata": None},
        "annotations that are null": {"metadata": {"annotations": None}},
        "a name": {"metadata": {"name": "a"}},
        "an annotation": {"metadata": {"name": "a", "annotations": {"x": "y"}}},
        "the annotation itself": {"metadata": {"annotations": {annotation: "{}"}}},
    }
    for name, given in metadata.items():
        config = {"apiVersion": "v1", "kind": "ConfigMap", **given, "data": {"k": "new"}}
        for manager in ("kubectl", "x"):
            path = f"{_MAP}?fieldManager={manager}&force=true"
            yield _story(
                f"last applied: metadata: {name}, by {manager}", made, _step("PATCH", path, config, _APPLY, ["data"])
            )


def _warnings() -> Iterator[Object]:
    """Fields that are not known, of which clients are warned in a header."""
    fields = {
        "few": {f"f{number}": 1 for number in range(3)},
        "many": {f"f{number}": 1 for number in range(500)},
        "a long one": {"f" * 5000: 1},
        "a long one, and others": {"f" * 3000: 1, "g" * 3000: 1, "h": 1},
        "as many as are shown": {f"f{number:03}": 1 for number in range(195)},
    }
    for name, unknown in fields.items():
        yield _story(f"warnings: of fields: {name}", _step("POST", _MAPS, {**_config_map(), **unknown}))
