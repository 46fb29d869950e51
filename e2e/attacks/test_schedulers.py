"""Schedulers that are stopped, continued and killed at any moment: no device is ever given out twice."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.resources import PODS, RESOURCE_CLAIMS
from drakit_kind.cluster import ClusterSpec
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.manifests import API_VERSION, claim, pod, request
from drakit_kind.processes.supervision import endings
from drakit_kind.testing.session_clusters import StartedCluster
from e2e.attacks.victim import Victim

_DRIVER, _CLASS, _DEVICES = "raced.example.com", "raced", 5
# The name of the victim's own scheduler, which takes part, and those of the others.
_NAMES = ("default-scheduler", "one", "two")
# Takes the API server's kubeconfig and a name. Its lease expires soon, so that many are lost in a short time.
_PROCESS = """
import asyncio, sys
from drakit_allocator.scheduler import Scheduler
from drakit_allocator.scheduler.leadership.lease import LeaseTimes
from drakit_client.connection import Connection

async def main():
    async with await Connection.from_kubeconfig(sys.argv[1]) as connection:
        times = LeaseTimes(duration=1.0, deadline=0.5, retry=0.05, turn=0.1)
        await Scheduler(connection, name=sys.argv[2], lease_times=times).run()

asyncio.run(main())
"""


class Racers:
    """Scheduler processes; each can be stopped, continued and killed."""

    def __init__(self, victim: Victim, choices: random.Random) -> None:
        self._kubeconfig = str(victim.cluster.kubeconfig)
        self._random = choices
        self._running: list[subprocess.Popen[bytes]] = [self._start(name) for name in _NAMES[1:]]
        self._stopped: set[int] = set()

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", _PROCESS, self._kubeconfig, name]
        return subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def stop_one(self) -> None:
        """SIGSTOP, wherever it is."""
        process = self._random.choice(self._running)
        os.kill(process.pid, signal.SIGSTOP)
        self._stopped.add(process.pid)

    def continue_one(self) -> None:
        """Whatever it had decided it may write now, if it is let."""
        if self._stopped:
            pid = self._random.choice(sorted(self._stopped))
            os.kill(pid, signal.SIGCONT)
            self._stopped.discard(pid)

    def replace_one(self) -> None:
        """SIGKILL, and another one in its place."""
        number = self._random.randrange(len(self._running))
        self._kill(self._running[number])
        self._running[number] = self._start(_NAMES[1 + number])

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()
        self._stopped.discard(process.pid)

    def end(self) -> None:
        """All of them."""
        for process in self._running:
            self._kill(process)


@pytest.fixture
def racers(victim: Victim, attack_random: random.Random) -> Iterator[Racers]:
    racers = Racers(victim, attack_random)
    yield racers
    racers.end()


class Prizes:
    """Pods that want one of few devices each, and what must be true of their claims at any moment."""

    def __init__(self, api: Api, choices: random.Random) -> None:
        self._api = api
        self._random = choices
        self._count = 0
        self._pods: list[str] = []
        selector = f'device.driver == "{_DRIVER}"'
        spec = {"selectors": [{"cel": {"expression": selector}}]}
        api.create({"apiVersion": API_VERSION, "kind": "DeviceClass", "metadata": {"name": _CLASS}, "spec": spec})
        for node in ("node-1", "node-2"):
            pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
            devices = [{"name": f"d{number}"} for number in range(_DEVICES)]
            of_node = {"driver": _DRIVER, "pool": pool, "nodeName": node, "devices": devices}
            meta = {"name": f"raced-{node}"}
            api.create({"apiVersion": API_VERSION, "kind": "ResourceSlice", "metadata": meta, "spec": of_node})

    def begin(self) -> None:
        """Wait until each of the schedulers has shown that it is there."""
        for scheduler in _NAMES:
            name = self._add(scheduler)
            self._api.wait(PODS, name, lambda seen: "nodeName" in seen["spec"], what="bound", timeout=60)

    def add(self) -> None:
        """A pod of some scheduler, with a claim of its own."""
        self._add(self._random.choice(_NAMES))

    def _add(self, scheduler: str) -> str:
        name = f"racer-{self._count}"
        self._count += 1
        self._pods.append(name)
        self._api.create(claim(name, request("r", _CLASS)), pod(name, name, schedulerName=scheduler))
        return name

    def remove(self) -> None:
        """A pod goes with its claim."""
        if self._pods:
            name = self._pods.pop(self._random.randrange(len(self._pods)))
            for resource in (PODS, RESOURCE_CLAIMS):
                self._api.delete(resource, name)

    def must_be_had_once(self) -> None:
        """No device is in two claims, as of one moment."""
        results = [one for each in self._api.objects(RESOURCE_CLAIMS) for one in _results(each)]
        had = Counter((one["pool"], one["device"]) for one in results if one["driver"] == _DRIVER)
        assert all(count == 1 for count in had.values()), f"given out twice: {had}"

    def must_be_where_their_pods_are(self) -> None:
        """A pod that was bound has a claim with a device of its node, reserved for it."""
        pods = self._api.objects(PODS)  # first: a claim is allocated before its pod is bound
        claims = {each["metadata"]["name"]: each for each in self._api.objects(RESOURCE_CLAIMS)}
        for each in pods:
            name, node = each["metadata"]["name"], each["spec"].get("nodeName")
            if name not in self._pods or node is None or "deletionTimestamp" in each["metadata"]:
                continue
            assert [one["pool"] for one in _results(claims[name])] == [node], f"{name} runs on {node}"
            reserved = [user["uid"] for user in claims[name]["status"].get("reservedFor", [])]
            assert reserved == [each["metadata"]["uid"]]

    def clear(self) -> None:
        """Everything goes."""
        while self._pods:
            self.remove()


def _results(claim: Object) -> list[Object]:
    found: list[Object] = ((claim.get("status") or {}).get("allocation") or {}).get("devices", {}).get("results", [])
    return found


def test_no_device_is_given_out_twice(
    victim: Victim, racers: Racers, attack_random: random.Random, rounds: Callable[[], Iterator[int]]
) -> None:
    prizes = Prizes(victim.api, attack_random)
    prizes.begin()
    actions = [prizes.add] * 6 + [prizes.remove] * 3 + [racers.stop_one] * 2 + [racers.continue_one] * 3
    actions += [racers.replace_one]
    for _ in rounds():
        for action in attack_random.choices(actions, k=12):
            action()
            prizes.must_be_had_once()
    racers.end()
    prizes.must_be_had_once()
    prizes.must_be_where_their_pods_are()
    prizes.clear()


def test_a_cluster_that_was_killed_starts_again_whatever_the_spelling_of_a_claims_parameters(
    start_cluster: Callable[[ClusterSpec], StartedCluster],
) -> None:
    """Its scheduler fences all claims first. One with ``{"k": 1}`` cannot be patched in JSON, and ended the cluster."""
    cluster = start_cluster(ClusterSpec(name="killed-odd", nodes=["node-1"]))
    with Api(cluster.kubeconfig) as api:
        _create_with_parameters(cluster, "odd", '{"k": 1, "a":"<"}')
        api.create(pod("user", "odd"))
        api.wait_event("user", "FailedScheduling")
    pid = cluster.home.running_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    cluster.stop()
    cluster.start()
    with Api(cluster.kubeconfig) as api:
        api.create(pod("after"))
        api.wait_running("after")
        assert "drakit.dev/fence" in api.get(RESOURCE_CLAIMS, "odd")["metadata"]["annotations"]
    assert list(endings(cluster.home.endings)) == []


def _create_with_parameters(cluster: StartedCluster, name: str, parameters: str) -> None:
    """POST a claim in which the text of the parameters is exactly this."""
    config = f'[{{"opaque":{{"driver":"{_DRIVER}","parameters":{parameters}}}}}]'
    spec = f'{{"devices":{{"requests":[{json.dumps(request("r", "none"))}],"config":{config}}}}}'
    body = f'{{"metadata":{{"name":"{name}"}},"spec":{spec}}}'

    async def post() -> None:
        async with await Connection.from_kubeconfig(cluster.kubeconfig) as connection:
            await connection.request("POST", RESOURCE_CLAIMS.path("default"), body.encode())

    asyncio.run(post())
