"""A driver as a pod is started when it says so, however often its container had to be started for that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from drakit_client.errors import ApiError
from drakit_kind.api import WaitTimeout
from drakit_kind.cluster import ClusterError, DriverSpec
from drakit_kind.kind import drivers
from drakit_kind.kind.drivers import PodDriver

SPEC = DriverSpec(profile="a100-40gb", nodes=["node-1"], name="test.gpu.nvidia.com")
POD = {
    "metadata": {"name": "pod"},
    "spec": {},  # on no node, so nobody asks one for its log
    "status": {"containerStatuses": [{"containerID": "containerd://1", "state": {"running": {}}}]},
}


class FakeApi:
    """One pod that runs, whose log is the next of ``logs``."""

    def __init__(self, *logs: str | Exception) -> None:
        self.logs = list(logs)

    def wait_all(self, _resource: object, condition: Callable[[list[Any]], bool], **_: object) -> list[Any]:
        if not condition([POD]):
            raise WaitTimeout("pods were not running")
        return [POD]

    def apply(self, *_: object, **__: object) -> None: ...

    def log(self, _pod: str, **_: object) -> str:
        log = self.logs.pop(0) if len(self.logs) > 1 else self.logs[0]
        if isinstance(log, Exception):
            raise log
        return log

    def objects(self, *_: object, **__: object) -> list[Any]:
        return [POD]

    def events(self, *_: object) -> list[str]:
        return ["BackOff: restarting"]


def _driver(*logs: str | Exception) -> PodDriver:
    api: Any = FakeApi(*logs)
    nodes: Any = None
    return PodDriver(SPEC, api=api, nodes=nodes, image="localhost/drakit:test")


def test_it_is_started_when_it_says_ready() -> None:
    _driver("", "starting\n", ApiError(400, {"reason": "BadRequest"}), "starting\nready\n").start()


def test_one_that_never_says_so_is_named_with_its_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "_READY_SECONDS", 0.3)
    with pytest.raises(ClusterError, match=r"driver test.gpu.nvidia.com is not ready: pod pod has not.*BackOff"):
        _driver("not ready yet\n").start()
