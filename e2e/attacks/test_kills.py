"""Processes are killed at moments that nobody chose; what was acknowledged holds afterwards."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from drakit_client.errors import UNREACHABLE
from drakit_client.resources import CONFIG_MAPS, PODS, RESOURCE_CLAIMS
from drakit_kind.cluster import ClusterSpec
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.manifests import claim, pod
from drakit_kind.testing.session_clusters import StartedCluster
from e2e.attacks.victim import Victim
from e2e.ledger import Ledger

StartCluster = Callable[[ClusterSpec], StartedCluster]
Rounds = Callable[[], Iterator[int]]
_WRITERS = 3
_NAMES = 20
# Seconds; a kill comes at any time within.
_LONGEST_ROUND = 0.5
_MISSING = None


@dataclass
class _Writer:
    """Writes config maps of its own until the server is gone.

    ``acknowledged`` has the last state of each that the server confirmed, and ``asked`` those of the one write without
    an answer, which may have happened or not: the number it writes, or None for deleted.
    """

    prefix: str
    chosen: random.Random
    acknowledged: dict[str, int | None] = field(default_factory=dict)
    asked: dict[str, int | None] = field(default_factory=dict)
    writes: int = 0

    def run(self, api: Api) -> None:
        """Create, change and delete at random; returns at the first write that nobody answers."""
        while True:
            name = f"{self.prefix}-{self.chosen.randrange(_NAMES)}"
            self.asked = {name: self.writes if self._writes(name) else _MISSING}
            try:
                self._ask(api, name)
            except UNREACHABLE:
                return
            self.acknowledged |= self.asked
            self.asked = {}
            self.writes += 1

    def _writes(self, name: str) -> bool:
        return self.acknowledged.get(name) is _MISSING or self.chosen.random() < 0.7

    def _ask(self, api: Api, name: str) -> None:
        number = self.asked[name]
        body = {"metadata": {"name": name}, "data": {"number": str(number)}}
        if number is _MISSING:
            api.delete(CONFIG_MAPS, name)
        elif self.acknowledged.get(name) is _MISSING:
            api.create({"apiVersion": "v1", "kind": "ConfigMap", **body})
        else:
            api.patch(CONFIG_MAPS, name, body)

    def check(self, stored: dict[str, int]) -> None:
        """Compare with what a restarted server has, and go on from there."""
        for name, expected in self.acknowledged.items():
            assert stored.get(name) in {expected, self.asked.get(name, expected)}, f"{name} of {self.prefix}"
        self.acknowledged = {name: stored.get(name) for name in self.acknowledged.keys() | self.asked.keys()}
        self.asked = {}


def test_a_cluster_killed_while_it_writes_keeps_all_that_it_acknowledged(
    start_cluster: StartCluster, attack_random: random.Random, rounds: Rounds
) -> None:
    cluster = start_cluster(ClusterSpec(name="killed-writing", nodes=["node-1"]))
    writers = [_Writer(f"writer-{index}", random.Random(attack_random.random())) for index in range(_WRITERS)]
    for _ in rounds():
        _write_until_killed(cluster, writers, after=attack_random.uniform(0, _LONGEST_ROUND))
        cluster.stop()
        cluster.start()
        with Api(cluster.kubeconfig) as api:
            found = api.objects(CONFIG_MAPS, "default")
        numbers = [(item["metadata"]["name"], item["data"].get("number")) for item in found]
        stored = {name: int(number) for name, number in numbers if number is not None}
        for writer in writers:
            writer.check(stored)
    assert sum(writer.writes for writer in writers) > 0


def _write_until_killed(cluster: StartedCluster, writers: list[_Writer], *, after: float) -> None:
    pid = cluster.home.running_pid()
    assert pid is not None
    apis = [Api(cluster.kubeconfig) for _ in writers]
    threads = [threading.Thread(target=writer.run, args=(api,)) for writer, api in zip(writers, apis, strict=True)]
    try:
        for thread in threads:
            thread.start()
        time.sleep(after)  # the moment of the kill
        os.kill(pid, signal.SIGKILL)
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
    finally:
        for api in apis:
            api.close()


def test_a_driver_killed_while_it_prepares_agrees_with_the_claims(
    victim: Victim, attack_random: random.Random, rounds: Rounds
) -> None:
    """Its CDI files, its checkpoint and the claims name the same, however often it was killed."""
    api, driver = victim.api, victim.driver
    for number in rounds():
        names = [f"round-{number}-{index}" for index in range(4)]
        for name in names:
            api.create(claim(name, victim.gpus.partition("1g.5gb")), pod(name, name))
        _kill_and_start(victim, attack_random)
        api.wait_running(*names, timeout=60)
        Ledger(api, driver.name).check()
        held = {api.get(RESOURCE_CLAIMS, name)["metadata"]["uid"] for name in names}
        assert _prepared(victim) == held
        for name in names:
            api.delete(PODS, name)
        _kill_and_start(victim, attack_random)
        api.wait_gone(PODS, names, timeout=60)
        assert _prepared(victim) == set()
        assert driver.cdi_files(victim.cluster.spec.nodes[0]) == []
        for name in names:
            api.delete(RESOURCE_CLAIMS, name)


def _kill_and_start(victim: Victim, attack_random: random.Random) -> None:
    time.sleep(attack_random.uniform(0, 0.2))  # the moment of the kill
    victim.driver.kill()
    victim.driver.start()


def _prepared(victim: Victim) -> set[str]:
    """UIDs of the claims in the driver's checkpoint."""
    node = victim.cluster.home.nodes / victim.cluster.spec.nodes[0]
    (file,) = node.rglob("checkpoint.json")
    claims: dict[str, Any] = json.loads(file.read_bytes())["data"]["claims"]
    return set(claims)
