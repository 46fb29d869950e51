"""A scheduler of ours that knows patches, beside whatever schedules in a cluster, and patches that a test makes.

It is a program of its own, as a user would start it, so that it does not matter what the cluster is. Its pods name it;
kube-scheduler and ours without the gate leave them alone.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from drakit_api.features import PATCHES_GATE
from drakit_api.kubernetes_objects import Object
from drakit_client.resources import EVENTS, PODS, RESOURCE_CLAIMS, RESOURCE_SLICE_PATCHES
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.flags import gates_text
from drakit_kind.clusters.known_gates import known_gates
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.clusters.manifests import pod
from e2e.ledger import results
from e2e.programs import running

_SECONDS = 30.0
_PAUSE = 0.05


def drakit(cluster: Cluster, *arguments: str) -> str:
    """Run a command of drakit on a cluster; return what it prints."""
    command = [sys.executable, "-m", "drakit_kind", *arguments, "--kubeconfig", str(cluster.kubeconfig)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=120, check=True).stdout


def install(cluster: Cluster, *options: str) -> None:
    """Install the kind as an administrator does; it may be there already."""
    drakit(cluster, "install", "patches", *options)


@contextmanager
def scheduler(cluster: Cluster, name: str, log: Path) -> Iterator[None]:
    """Run a scheduler that knows patches until the end of the block."""
    version = cluster.spec.behaves_as("scheduler")
    gates = gates_text({**known_gates(cluster.spec.gates, version), PATCHES_GATE: True})
    command = [sys.executable, "-m", "drakit_kind", "scheduler", "run", "--kubeconfig", str(cluster.kubeconfig)]
    command += ["--scheduler-name", name, "--feature-gates", gates, "--emulated-version", version]
    with running(command, log):
        yield


class Patching:
    """Patches, and pods of the scheduler that knows them. Names of patches begin with the test's namespace."""

    def __init__(self, api: Api, scheduler_name: str) -> None:
        self.api = api
        self._scheduler = scheduler_name
        self._made: list[str] = []

    def name(self, short: str) -> str:
        """The name of a patch, which is in no namespace."""
        return f"{self.api.namespace}.{short}"

    def patch(self, short: str, *, on: Object, priority: int | None = None, **says: Any) -> Object:
        """Create a patch. ``on`` is its filter; ``says``: ``attributes``, ``capacity``, ``taints``."""
        self._made.append(self.name(short))
        devices = {"filter": on, **({} if priority is None else {"priority": priority}), **says}
        return self.api.create(
            {
                "apiVersion": RESOURCE_SLICE_PATCHES.api_version,
                "kind": RESOURCE_SLICE_PATCHES.kind,
                "metadata": {"name": self.name(short)},
                "spec": {"devices": devices},
            }
        )

    def change(self, short: str, **devices: Any) -> Object:
        """Change parts of a patch's ``spec.devices``."""
        return self.api.patch(RESOURCE_SLICE_PATCHES, self.name(short), {"spec": {"devices": devices}})

    def remove(self, *shorts: str) -> None:
        """Delete patches."""
        for short in shorts:
            self.api.delete(RESOURCE_SLICE_PATCHES, self.name(short))

    def remove_all(self) -> None:
        """Delete all that this test has made."""
        for name in self._made:
            self.api.delete(RESOURCE_SLICE_PATCHES, name)

    def faults(self, short: str) -> list[Object]:
        """The events that tell why a patch does not apply."""
        return self.api.objects(EVENTS, "default", field_selector=self._faults_of(short))

    def told(self, short: str) -> str:
        """Wait until it is told why a patch does not apply; the first message."""
        selector = self._faults_of(short)
        found = self.api.wait_all(EVENTS, bool, namespace="default", field_selector=selector, what="told")
        return str(found[0]["message"])

    def _faults_of(self, short: str) -> str:
        return f"involvedObject.name={self.name(short)},reason=FaultyPatch"

    def ask(self, claim: Object) -> str:
        """Create a claim, and a pod of the same name that uses it."""
        name: str = claim["metadata"]["name"]
        self.api.create(claim, pod(name, name, schedulerName=self._scheduler))
        return name

    def runs(self, claim: Object) -> list[str]:
        """Ask for a claim's devices, wait until the pod runs, and return them."""
        name = self.ask(claim)
        return self.started(name)

    def started(self, name: str) -> list[str]:
        """Wait until a pod runs; the devices that it got."""
        self.api.wait_running(name)
        return [result["device"] for result in results(self.api.get(RESOURCE_CLAIMS, name))]

    def waits(self, claim: Object, *, because: str = "cannot allocate all claims") -> str:
        """Ask for a claim's devices; wait until it is said why there are none."""
        name = self.ask(claim)
        self.waits_because(name, because)
        return name

    def waits_because(self, name: str, because: str) -> None:
        """Wait until the scheduler gives this reason for a pod that waits."""
        self.api.wait(PODS, name, lambda seen: because in _condition(seen), what=f"waiting because {because}")

    def ends(self, *names: str) -> None:
        """Delete pods with their claims, and wait until their devices are free."""
        for name in names:
            self.api.delete(PODS, name)
        self.api.wait_gone(PODS, names)
        for name in names:
            self.api.delete(RESOURCE_CLAIMS, name)
        self.api.wait_gone(RESOURCE_CLAIMS, names)


def _condition(seen: Object) -> str:
    conditions = (seen.get("status") or {}).get("conditions") or ()
    return next((one.get("message", "") for one in conditions if one["type"] == "PodScheduled"), "")


def eventually(holds: Callable[[], bool], what: str, *, patience: float = 1.0) -> None:
    """Wait until something holds that no watch tells."""
    deadline = time.monotonic() + _SECONDS * patience
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within {_SECONDS * patience:.0f} s"
        time.sleep(_PAUSE)
