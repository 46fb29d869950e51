"""What the conditions in an object's status say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = Mapping[str, Any]


def is_ready(obj: Object) -> bool:
    """Whether a Node or a Pod is Ready."""
    return condition(obj, "Ready").get("status") == "True"


def is_unschedulable(pod: Object) -> bool:
    """Whether a scheduler has tried to place a Pod, and found no node."""
    return condition(pod, "PodScheduled").get("reason") == "Unschedulable"


def condition(obj: Object, kind: str) -> Object:
    """The condition of this type; empty if there is none."""
    conditions = obj.get("status", {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == kind), {})
