"""Stories of objects that are almost, or just, too large for etcd.

They have names of their own in the namespace ``default``: the length of both is a part of what is measured. Numbers are
bytes of a text in the object; the bounds were found with a real server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object

_REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
_MERGE = "application/merge-patch+json"
_APPLY = "application/apply-patch+yaml"
_OWNERS = "metadata.managedFields"
# The longest text of a new object that is stored with managedFields, that is stored, and that is sent to etcd. An etcd
# stores one or two bytes more if the number that it gives to a request is shorter: that begins with the number of the
# server (etcd/pkg/v3/idutil/id.go), which follows from its port.
_OWNED, _STORED, _SENT = 1_572_511, 1_572_594, 2_096_900
_BY_CHANCE = 2


def made() -> Iterator[Object]:
    """All stories; each cleans up after itself."""
    yield _told("a new object", *(step for size in _AROUND for step in (_create("new", size), _delete("new"))))
    yield _told("a dry run", _create("dry", _STORED + 1, query="?dryRun=All"))
    yield _told("a patch", _create("patch", _OWNED - 400), *map(_label, (200, 300, 500)), _delete("patch"))
    yield _told("an apply patch", _create("apply", _OWNED - 400), _apply(100), _apply(500), _delete("apply"))
    yield _told("an update", _create("put", _OWNED - 400), _put(100), _put(300), _put(600), _delete("put"))
    yield _told("a deletion that waits", *_waiting(_STORED - 70))


_AROUND = (_OWNED, _OWNED + _BY_CHANCE + 1, _STORED, _STORED + _BY_CHANCE + 1, _SENT, _SENT + 1)


def _told(name: str, *steps: Object) -> Object:
    return {"name": f"size: {name}", "steps": list(steps)}


def _create(name: str, size: int, query: str = "", **metadata: Any) -> Object:
    body = _body(name, size, **metadata)
    return {"method": "POST", "path": f"{_REVISIONS}{query}", "body": body, "shows": [_OWNERS]}


def _body(name: str, size: int, **metadata: Any) -> str:
    """JSON as the server prints it: the data are stored as they are sent, and must stay so."""
    data = {"a": f"$text({size})"}
    body = {"metadata": {"name": f"size-{name}", **metadata}, "revision": 1, "data": data}
    return json.dumps(body, separators=(",", ":"))


def _delete(name: str) -> Object:
    return {"method": "DELETE", "path": f"{_REVISIONS}/size-{name}"}


def _labels(size: int) -> Object:
    return {f"l{number:02}": "x" * 46 for number in range(size // 50)}


def _label(size: int) -> Object:
    body = {"metadata": {"labels": _labels(size)}}
    return {"method": "PATCH", "path": f"{_REVISIONS}/size-patch", "type": _MERGE, "body": body, "shows": [_OWNERS]}


def _apply(size: int) -> Object:
    """Under the name of a manager of its own."""
    body = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"labels": _labels(size)}}
    path = f"{_REVISIONS}/size-apply?fieldManager=someone"
    return {"method": "PATCH", "path": path, "type": _APPLY, "body": body, "shows": [_OWNERS]}


def _put(size: int) -> Object:
    body = _body("put", _OWNED - 400, labels=_labels(size))
    return {"method": "PUT", "path": f"{_REVISIONS}/size-put", "body": body, "shows": [_OWNERS]}


def _waiting(size: int) -> Iterator[Object]:
    """It cannot be marked as leaving; without its finalizer it can leave."""
    yield _create("wait", size, finalizers=["example.com/w"])
    yield _delete("wait")
    body = {"metadata": {"finalizers": None}}
    yield {"method": "PATCH", "path": f"{_REVISIONS}/size-wait", "type": _MERGE, "body": body}
    yield _delete("wait")
