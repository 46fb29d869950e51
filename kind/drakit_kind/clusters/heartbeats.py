"""Which kubelet a Node's status is from: the one that was just started, or the one before it.

What a kubelet has said stays in the Node until the next one reports: Ready, versions and all. Reports have the time of
the machine, in whole seconds (``lastHeartbeatTime``; pkg/kubelet/nodestatus/setters.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from drakit_api.core.conditions import condition_of, is_ready

Node = Mapping[str, Any]


def next_second(now: datetime) -> datetime:
    """Return the next whole second: heartbeats of a kubelet that has ended by now are all older."""
    return now.replace(microsecond=0) + timedelta(seconds=1)


def seconds_until(moment: datetime) -> float:
    """Return the seconds until then; 0 if it is past."""
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def is_ready_since(node: Node | None, began: datetime) -> bool:
    """Whether a Node is Ready by a report that is not older than ``began``, which is a whole second."""
    if node is None or not is_ready(node):
        return False
    return datetime.fromisoformat(condition_of(node, "Ready")["lastHeartbeatTime"]) >= began
