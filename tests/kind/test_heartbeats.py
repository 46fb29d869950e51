"""Whether a Node's status is from the kubelet that was just started."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from drakit_kind.clusters.heartbeats import is_ready_since, next_second, seconds_until

BEGAN = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def condition(kind: str, status: str, heartbeat: str) -> dict[str, str]:
    return {"type": kind, "status": status, "lastHeartbeatTime": heartbeat}


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        ([], False),
        ([condition("Ready", "True", "2026-01-01T12:00:00Z")], True),
        ([condition("Ready", "True", "2026-01-01T11:59:59Z")], False),  # an earlier kubelet's word
        ([condition("Ready", "False", "2026-01-01T12:00:01Z")], False),
        ([condition("MemoryPressure", "True", "2026-01-01T12:00:01Z")], False),
    ],
)
def test_a_node_is_ready_when_this_kubelet_says_so(conditions: list[dict[str, str]], ready: bool) -> None:
    assert is_ready_since({"status": {"conditions": conditions}}, BEGAN) is ready
    assert is_ready_since({"status": {}}, BEGAN) is False
    assert is_ready_since(None, BEGAN) is False


@pytest.mark.parametrize("now", [BEGAN, BEGAN + timedelta(microseconds=1), BEGAN + timedelta(microseconds=999_999)])
def test_what_has_ended_reports_of_no_second_that_is_to_come(now: datetime) -> None:
    assert next_second(now) == BEGAN + timedelta(seconds=1)


def test_what_is_past_is_not_waited_for() -> None:
    assert seconds_until(BEGAN) == 0
    assert 0 < seconds_until(datetime.now(UTC) + timedelta(hours=1)) <= 3600
