"""Pods that are right, and exchanges made of them."""

from __future__ import annotations

from typing import Any

from drakit_api.kubernetes_objects import Object
from tests.vectors.exchanges import Vector

# As admission would have it, so that an update of what was sent changes nothing else.
_KEPT = {"serviceAccountName": "default", "automountServiceAccountToken": False}


def container(**fields: Any) -> Object:
    """A container that is right, but for ``fields``."""
    return {"name": "c", "image": "i:1", **fields}


def pod(*, annotations: Object | None = None, **spec: Any) -> Object:
    """A pod that is right, but for what is given."""
    meta: Object = {"name": "p"}
    if annotations is not None:
        meta["annotations"] = annotations
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": meta,
        "spec": {"containers": [container()], **_KEPT, **spec},
    }


def create(name: str, obj: Object, *shows: str, resource: str = "pods", server: str = "default") -> Vector:
    """A dry run of making it."""
    return {"name": name, "server": server, "op": "create", "resource": resource, "object": obj, "shows": list(shows)}


def change(name: str, old: Object, obj: Object, *shows: str, server: str = "default", op: str = "update") -> Vector:
    """A dry run of putting ``obj`` in the place of ``old``, or its status in that of its status."""
    common = {"name": name, "server": server, "op": op, "resource": "pods"}
    return {**common, "old": old, "object": obj, "shows": list(shows)}
