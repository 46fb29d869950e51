"""A driver as a pod is started when it says so, however often its container had to be started for that."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drakit_client.errors import ApiError
from drakit_client.processes.process_logging import TextFormatter
from drakit_client.resources import Resource
from drakit_kind.cluster import ClusterError, DriverSpec
from drakit_kind.clusters.api import WaitTimeout
from drakit_kind.kind import drivers
from drakit_kind.kind.drivers import PodDriver
from drakit_kind.kind.workloads import NAME_LABEL, instance_name

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


def _logged(*messages: str) -> str:
    """What a driver prints of these messages: all of drakit's commands log in one way."""
    records = [logging.makeLogRecord({"name": "driver", "levelname": "INFO", "msg": message}) for message in messages]
    return "".join(f"{TextFormatter().format(record)}\n" for record in records)


def test_it_is_started_when_it_says_ready() -> None:
    begun, ready = _logged("starting"), _logged("starting", "ready")
    assert ready.count("\n") == 2
    _driver("", begun, ApiError(400, {"reason": "BadRequest"}), ready).start()


def test_one_that_never_says_so_is_named_with_its_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "_READY_SECONDS", 0.3)
    with pytest.raises(ClusterError, match=r"driver test.gpu.nvidia.com is not ready: pod pod has not.*BackOff"):
        _driver(_logged("not ready", "ready for claims")).start()


class _Commands:
    """Nodes that remember which commands kubectl was given."""

    def __init__(self) -> None:
        self.given: list[tuple[str, ...]] = []

    def kubectl(self, *arguments: str) -> None:
        self.given.append(arguments)


def _plugin_pod(node: str) -> dict[str, Any]:
    labels = {NAME_LABEL: instance_name(_TWO_NODES)}
    return {"metadata": {"name": f"on-{node}", "labels": labels}, "spec": {"nodeName": node}, "status": POD["status"]}


_TWO_NODES = replace(SPEC, nodes=["node-1", "node-2"])


def test_health_is_set_by_a_command_in_the_pod_on_the_node_that_has_the_device() -> None:
    api: Any = FakeApi("")
    api.objects = lambda *_, **__: [_plugin_pod("node-1"), _plugin_pod("node-2")]
    commands: Any = _Commands()
    driver = PodDriver(_TWO_NODES, api=api, nodes=commands, image="localhost/drakit:test")
    driver.set_health("node-2", "gpu-0", "Unhealthy", "ECC errors")
    (given,) = commands.given
    assert given[:4] == ("exec", "--namespace=drakit-system", "on-node-2", "--")
    assert " ".join(given[4:8]) == "drakit driver health node-2/gpu-0"
    with pytest.raises(ClusterError, match=r"driver test\.gpu\.nvidia\.com: no pool node-3; there is node-1, node-2"):
        driver.set_health("node-3", "gpu-0", "Unhealthy")
    assert len(commands.given) == 1


class Objects:
    """An API server that keeps what is applied, and runs no pods."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Any] = {}

    def apply(self, *objects: Any, **_: object) -> None:
        for item in objects:
            self.kept[item["kind"], item["metadata"]["name"]] = item

    def objects(self, resource: Resource, *_: object, label_selector: str = "", field_selector: str = "") -> list[Any]:
        return [
            item
            for (kind, _name), item in self.kept.items()
            if kind == resource.kind
            and all(label in label_selector for label in (item["metadata"].get("labels") or {}).values())
            and (not field_selector or field_selector == f"spec.driver={item['spec']['driver']}")
        ]

    def delete(self, resource: Resource, name: str, *_: object, **__: object) -> None:
        self.kept.pop((resource.kind, name), None)

    def wait_all(self, _resource: Resource, /, *_: object, **__: object) -> list[Any]:
        return []


def _start(api: Any, spec: DriverSpec) -> PodDriver:
    """An instance, and the slices that its pods publish."""
    nodes: Any = None
    driver = PodDriver(spec, api=api, nodes=nodes, image="localhost/drakit:test")
    driver.start()
    for node in spec.nodes:
        for number in range(2):
            api.apply(
                {
                    "kind": "ResourceSlice",
                    "metadata": {"name": f"{driver.name}-{node}-{number}"},
                    "spec": {"driver": driver.name, "nodeName": node, "pool": {"name": node}},
                }
            )
    return driver


def test_a_stopped_instance_takes_only_its_own_with_it() -> None:
    layout = Path(__file__).parents[3] / "driver/examples/layouts/four-gpus.yaml"
    spec = replace(SPEC, profile="layout", layout=str(layout))
    api = Objects()
    first = _start(api, spec)
    of_first = set(api.kept)
    second = _start(api, replace(spec, nodes=["node-2"]))
    of_second = set(api.kept) - of_first
    classes = {key for key in of_first if key[0] == "DeviceClass"}
    assert classes
    assert any(kind == "ConfigMap" for kind, _ in of_first)

    first.stop()
    assert set(api.kept) == of_second | classes
    second.stop()
    assert set(api.kept) == set()


class Told(Objects):
    """The same, and its nodes; ``told`` is what was asked of both."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def delete(self, resource: Resource, name: str, *arguments: object, **options: object) -> None:
        self.told.append(f"delete {resource.kind}")
        super().delete(resource, name, *arguments, **options)

    def wait_all(self, resource: Resource, /, *_: object, **__: object) -> list[Any]:
        self.told.append(f"no {resource.kind} is left")
        return []

    def container(self, node: str) -> str:
        return node

    def pod_log(self, *_: object) -> str:
        return ""

    def signal_task(self, _container: str, _task: str, signal: str) -> None:
        self.told.append(signal)


def test_a_killed_one_is_killed_last_as_the_kubelet_keeps_its_slices_for_half_a_minute_only() -> None:
    """Its workloads go when the garbage collector says so, which is a controller and may be away."""
    cluster: Any = Told()
    driver = PodDriver(SPEC, api=cluster, nodes=cluster, image="localhost/drakit:test")
    driver.start()
    (workload,) = (item for (kind, _), item in cluster.kept.items() if kind == "DaemonSet")
    cluster.apply({**POD, "kind": "Pod", "spec": {"nodeName": "node-1"}, "metadata": workload["metadata"]})
    cluster.told.clear()
    driver.kill()
    assert cluster.told == [
        "SIGSTOP",
        "delete DaemonSet",
        *(f"no {kind} is left" for kind in ("DaemonSet", "Deployment", "ReplicaSet")),
        "delete Pod",
        "SIGKILL",
        "no Pod is left",
    ]
