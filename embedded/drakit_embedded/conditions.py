"""Status conditions: lists of ``{type, status, reason, message}``; their transition time changes with the status."""

from __future__ import annotations

from collections.abc import Iterable

from drakit_client.connection import Object
from drakit_client.events import timestamp


def find(conditions: Iterable[Object] | None, kind: str) -> Object | None:
    """The condition of a type, or None."""
    return next((condition for condition in conditions or () if condition["type"] == kind), None)


def is_true(obj: Object, kind: str) -> bool:
    """Whether ``status.conditions`` of an object has this type with status True."""
    condition = find(obj.get("status", {}).get("conditions"), kind)
    return condition is not None and condition["status"] == "True"


def with_condition(conditions: Iterable[Object] | None, new: Object, *, update_time: bool = False) -> list[Object]:
    """The conditions with ``new`` in them; unchanged if status and reason are the same already.

    ``update_time`` also keeps ``lastUpdateTime``, which Deployments have.
    """
    kept = [condition for condition in conditions or () if condition["type"] != new["type"]]
    old = find(conditions, new["type"])
    if old is not None and old["status"] == new["status"] and old.get("reason") == new.get("reason"):
        return list(conditions or ())
    now = timestamp()
    times = {"lastTransitionTime": now}
    if old is not None and old["status"] == new["status"]:
        times["lastTransitionTime"] = old.get("lastTransitionTime", now)
    if update_time:
        times["lastUpdateTime"] = now
    return [*kept, {**new, **times}]


def without(conditions: Iterable[Object] | None, kind: str) -> list[Object]:
    """The conditions without those of a type."""
    return [condition for condition in conditions or () if condition["type"] != kind]
