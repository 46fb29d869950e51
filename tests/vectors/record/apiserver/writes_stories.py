"""Stories of writes that are seldom made: odd patches, deletions in every state, dry runs, odd metadata.

``tests.vectors.writes`` plays them. The name of a story begins with its matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Object = dict[str, Any]

_CORE = "/api/v1/namespaces/$namespace"
_MAPS = f"{_CORE}/configmaps"
_MAP = f"{_MAPS}/a"
_JSON_PATCH = "application/json-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"
_FINALIZER = "example.com/wait"


def made() -> Iterator[Object]:
    """All stories."""
    yield from _json_patches()
    yield from _strategic_patches()


def _step(method: str, path: str, body: Any = None, kind: str = "", shows: Sequence[str] = ()) -> Object:
    given = {"body": body, "type": kind, "shows": list(shows)}
    return {"method": method, "path": path, **{key: value for key, value in given.items() if value or value == {}}}


def _config_map(name: str = "a", **metadata: Any) -> Object:
    return {"metadata": {"name": name, **metadata}, "data": {"k": "v"}}


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
