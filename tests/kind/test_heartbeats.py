"""Whether a Node's status is from the kubelet that was just started."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from drakit_kind.heartbeats import is_ready_since, next_second, seconds_until

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


def test_what_ended_before_the_next_second_reports_of_none_that_is_as_late() -> None:
    before = datetime.now(UTC)
    began = next_second()
    assert began.microsecond == 0
    assert before.replace(microsecond=0) < began
    assert 0 < seconds_until(began) <= 1
    assert seconds_until(began - timedelta(seconds=2)) == 0
