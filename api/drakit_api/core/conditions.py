"""Status conditions: lists of ``{type, status, reason, message}``; their transition time changes with the status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object


def find(conditions: Iterable[Object] | None, kind: str) -> Object | None:
    """Return the first condition of a type; None if there is none."""
    return next((condition for condition in conditions or () if condition.get("type") == kind), None)


def condition_of(obj: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return the condition of this type in an object's status; empty if there is none."""
    return find((obj.get("status") or {}).get("conditions"), kind) or {}


def is_true(obj: Mapping[str, Any], kind: str) -> bool:
    """Say whether ``status.conditions`` of an object has this type with status True."""
    return condition_of(obj, kind).get("status") == "True"


def is_ready(obj: Mapping[str, Any]) -> bool:
    """Say whether a Node or a Pod is Ready."""
    return is_true(obj, "Ready")


def is_unschedulable(pod: Mapping[str, Any]) -> bool:
    """Say whether a scheduler has tried to place a Pod, and found no node."""
    return condition_of(pod, "PodScheduled").get("reason") == "Unschedulable"


def with_condition(conditions: Iterable[Object] | None, new: Object, *, update_time: bool = False) -> list[Object]:
    """Return the conditions with ``new`` as the last; unchanged if its status and reason are there already.

    The ``lastTransitionTime`` is kept if only the reason differs. ``update_time`` also sets ``lastUpdateTime``, which
    Deployments have.
    """
    kept = [condition for condition in conditions or () if condition["type"] != new["type"]]
    old = find(conditions, new["type"])
    if old is not None and old["status"] == new["status"] and old.get("reason") == new.get("reason"):
        return list(conditions or ())
    now = gotime.now()
    times = {"lastTransitionTime": now}
    if old is not None and old["status"] == new["status"]:
        times["lastTransitionTime"] = old.get("lastTransitionTime", now)
    if update_time:
        times["lastUpdateTime"] = now
    return [*kept, {**new, **times}]


def updated(conditions: Iterable[Object] | None, new: Object) -> list[Object]:
    """Return the conditions with ``new`` in the place of its type, or at the end (meta.SetStatusCondition).

    The ``lastTransitionTime`` is kept as long as the status is the same.
    """
    found = [dict(condition) for condition in conditions or ()]
    old = find(found, new["type"])
    if old is None:
        return [*found, {**new, "lastTransitionTime": gotime.now()}]
    time = {} if old["status"] == new["status"] else {"lastTransitionTime": gotime.now()}
    old |= {**new, **time}
    return found


def without(conditions: Iterable[Object] | None, kind: str) -> list[Object]:
    """Return the conditions without those of a type."""
    return [condition for condition in conditions or () if condition.get("type") != kind]
