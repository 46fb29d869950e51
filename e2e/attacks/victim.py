"""A cluster under attack, and what "unharmed" means."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from drakit_client.resources import NAMESPACES
from drakit_kind.cluster import DriverSpec
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.manifests import claim, pod
from drakit_kind.testing.session_clusters import StartedCluster
from e2e.hardware import GpuClaims

_LATENCIES = 200


class Victim:
    """An embedded cluster, its API, and a driver of MIG GPUs on its first node."""

    def __init__(self, cluster: StartedCluster, api: Api) -> None:
        self.cluster = cluster
        self.api = api
        self.driver = cluster.driver(DriverSpec(profile="a100-40gb", nodes=[cluster.spec.nodes[0]], gpus=1))
        self.gpus = GpuClaims(self.driver.name)
        pid = cluster.home.running_pid()
        assert pid is not None
        self.pid = pid

    def must_be_unharmed(self) -> None:
        """The process of the start still runs, and a new pod gets a device and is gone again with its namespace."""
        assert self.cluster.home.running_pid() == self.pid, f"the cluster has ended:\n{self.cluster.logs()[-4000:]}"
        name = f"unharmed-{secrets.token_hex(3)}"
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        request = self.gpus.partition("1g.5gb")
        for obj in (claim("small", request), pod("user", "small")):
            obj["metadata"]["namespace"] = name
            self.api.create(obj)
        self.api.wait_running("user", namespace=name)
        self.api.delete(NAMESPACES, name)
        self.api.wait_gone(NAMESPACES, [name], timeout=30)

    def new_connection(self) -> None:
        """Somebody with a credential who was not connected before is answered."""
        with Api(self.cluster.kubeconfig) as api:
            api.get(NAMESPACES, "default")

    def cpu_seconds(self) -> float:
        """The time that the victim's process has worked so far (proc_pid_stat(5))."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def slow_answers(self, limit: float = 0.1) -> list[float]:
        """Seconds of the small GETs that took longer than ``limit``, of 200, one after the other.

        More than two of them are a 99th percentile above the limit.
        """
        slow = []
        for _ in range(_LATENCIES):
            began = time.monotonic()
            self.api.get(NAMESPACES, "default")
            if (took := time.monotonic() - began) > limit:
                slow.append(took)
        return slow

    def slow_answers_while(self, attack: Callable[[], object], limit: float) -> list[float]:
        """The same of all small GETs while something goes on in another thread, whose error is raised."""
        slow = []
        with ThreadPoolExecutor(1) as pool:
            going_on = pool.submit(attack)
            while not going_on.done():
                began = time.monotonic()
                self.api.get(NAMESPACES, "default")
                if (took := time.monotonic() - began) > limit:
                    slow.append(took)
            going_on.result()
        return slow
