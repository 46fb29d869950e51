"""What a story of the matrix works with: a cluster, drivers on its node, and pods that must outlive every change.

Pods that a story started with ``runs`` are watched by the stage: after every change of the cluster each of them must be
the same pod, still running, without a restart but for those that a story wants, on the same devices.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_client.errors import ApiError
from drakit_client.resources import (
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    SERVICE_ACCOUNTS,
)
from drakit_kind.cluster import Component, Driver, DriverSpec, minor_version
from drakit_kind.clusters import manifests
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.lifecycle import Cluster
from e2e.hardware import Gpus
from e2e.ledger import Ledger, results
from e2e.matrix.versions import last_started
from e2e.subject import is_complete

# Controllers evict at once; whoever does not do it does not do it later either.
_EVICTION_SECONDS = 10.0
# How often a driver's log is looked at; nothing tells when it grows.
_LOOK_SECONDS = 0.05
# A kubelet lets a container wait before it starts it for the third time: 10 s, and twice as long each time after that.
_RESTART_SECONDS = 60.0


@dataclass(frozen=True)
class Survivor:
    """What must not change of a pod that runs: its uid, how often its containers started, its claim's devices.

    ``restarts`` is None of one whose container ends again and again.
    """

    uid: str
    restarts: int | None
    claims: dict[str, list[str]]


class Stage:
    """One cluster for the time of one story. ``directory`` takes the layouts of its ``drivers``."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.cluster = cluster
        self.node = cluster.spec.nodes[0]
        self.api = Api(cluster.kubeconfig, patience=cluster.spec.patience)
        self._directory = directory
        self.drivers: list[Driver] = []
        # What the components are, as last checked.
        self.versions: dict[Component, str] = {}
        self._survivors: dict[str, Survivor] = {}
        self._ending: set[str] = set()
        # kube-apiserver refuses pods of a namespace that has no default service account yet.
        self.api.wait(SERVICE_ACCOUNTS, "default")

    # Drivers.

    def driver(self, profile: str, **options: Any) -> Driver:
        """Start a driver on the node, of a profile of ``drakit driver profiles``."""
        driver = self.cluster.driver(DriverSpec(profile=profile, nodes=[self.node], **options))
        driver.start()
        self.drivers.append(driver)
        return driver

    def gpus(self, count: int = 1, **options: Any) -> Gpus:
        """Start a driver of A100s with all their partitions."""
        return Gpus(self.driver("a100-40gb", gpus=count, **options))

    def layout(self, text: str, **options: Any) -> Driver:
        """Start a driver of the devices in a layout; its class has the driver's name."""
        path = self._directory / f"layout-{len(self.drivers)}.yaml"
        path.write_text(text)
        return self.driver("layout", layout=str(path), **options)

    def told(self, driver: Driver, text: str, *, timeout: float = 60.0) -> str:
        """Wait until a driver has printed a line with a text; the line."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            for line in reversed(driver.logs().splitlines()):
                if text in line:
                    return line
            time.sleep(_LOOK_SECONDS)
        raise AssertionError(f"driver {driver.name} did not say {text!r} within {timeout:.0f} s:\n{driver.logs()}")

    # Pods and claims.

    def runs(self, claim: Object) -> list[str]:
        """Create a claim and a pod of the same name, wait until it runs; the devices that it got."""
        self.creates(claim)
        return self.started(claim["metadata"]["name"])

    def creates(self, claim: Object) -> None:
        """Create a claim and a pod of the same name that uses it."""
        self.api.create(claim)
        self.creates_pod(claim["metadata"]["name"], claim["metadata"]["name"])

    def creates_pod(self, name: str, claim: str) -> None:
        """Create a pod that uses a claim."""
        self.api.create(manifests.pod(name, claim))

    def started(self, name: str) -> list[str]:
        """Wait until a pod runs; from now on it must survive. The devices that it got, in order."""
        (pod,) = self.api.wait_running(name)
        self._survivors[name] = survivor = self._look(pod)
        return [device for devices in survivor.claims.values() for device in devices]

    def runs_for(self, seconds: int, claim: Object) -> list[str]:
        """As ``runs``, but the container ends after some seconds, and its kubelet starts it again and again."""
        name = claim["metadata"]["name"]
        pod = manifests.pod(name, name)
        # Without a pipe, as simulated kubelets have to understand it.
        pod["spec"]["containers"][0]["command"] = ["sh", "-c", f"env; sleep {seconds}"]
        self._ending.add(name)
        self.api.create(claim, pod)
        return self.started(name)

    def restarted(self, name: str) -> dict[str, str]:
        """Wait until a container that ends again and again has been started once more; its environment then."""
        before = _restarts(self.api.get(PODS, name))

        def again(pod: Object) -> bool:
            (container,) = pod["status"]["containerStatuses"]
            return _restarts(pod) > before and "running" in container["state"]

        self.api.wait(PODS, name, again, what="started once more", timeout=_RESTART_SECONDS)
        return self.api.environment(name)

    def waits(self, claim: Object, why: str) -> None:
        """Create a claim and a pod that is not scheduled, with a message that matches ``why``."""
        self.creates(claim)
        self.not_scheduled(claim["metadata"]["name"], why)

    def not_scheduled(self, name: str, why: str) -> None:
        """Wait until a pod's condition says, in a message that matches ``why``, that it was tried and not scheduled."""

        def told(pod: Object) -> bool:
            conditions = (pod.get("status") or {}).get("conditions") or []
            return any(
                condition["type"] == "PodScheduled"
                and condition["status"] == "False"
                and re.search(why, condition.get("message", ""))
                for condition in conditions
            )

        self.api.wait(PODS, name, told, what=f"refused by the scheduler because of {why!r}")

    def ends(self, *names: str) -> None:
        """Delete pods and wait until they are gone and what they used is given back."""
        uids = {self.api.get(PODS, name)["metadata"]["uid"] for name in names}
        for name in names:
            self.api.delete(PODS, name)
            self._survivors.pop(name, None)
        self.api.wait_gone(PODS, names)
        self._given_back(uids)

    def lets_go(self, *names: str) -> None:
        """Pods that run need not survive the next change: after it, somebody may evict them at once."""
        for name in names:
            del self._survivors[name]

    def evicted(self, name: str) -> None:
        """Wait until somebody else has ended a pod of a claim of its own, and what it used is given back."""
        self._survivors.pop(name, None)
        self.api.wait_gone(PODS, [name], timeout=_EVICTION_SECONDS)
        self.api.wait(RESOURCE_CLAIMS, name, lambda claim: not results(claim), what="given back")

    def refused(self, obj: Object) -> str:
        """Try to create an object that the API server must refuse; what it says."""
        try:
            self.api.create(obj)
        except ApiError as error:
            return str(error)
        raise AssertionError(f"{obj['kind']} {obj['metadata']['name']} was accepted")

    def results(self, claim: str) -> list[Object]:
        """The allocated devices of a claim as its status has them."""
        return results(self.api.get(RESOURCE_CLAIMS, claim))

    def ledger(self, driver: Driver) -> Ledger:
        """Who holds what of a driver, once all slices of its pool are there."""
        self.api.wait_all(
            RESOURCE_SLICES,
            lambda slices: bool(slices) and is_complete(slices),
            field_selector=f"spec.driver={driver.name}",
            what="complete",
        )
        return Ledger(self.api, driver.name)

    def check_versions(self, versions: Mapping[Component, str], *, emulated: str | None) -> None:
        """The cluster is what the row says, by what its components say themselves.

        Of ours, scheduler and controllers say nothing.
        """
        self.versions = dict(versions)
        assert self.api.version() == (emulated or minor_version(versions["apiserver"]))
        node = self.api.get(NODES, self.node)
        assert node["status"]["nodeInfo"]["kubeletVersion"] == f"v{versions['kubelet']}"
        real = self.cluster.spec.real
        said = {component: last_started(component, self.cluster.logs(component)) for component in real}
        assert said == {component: versions[component] for component in real}

    def slices(self) -> set[str]:
        """The node's ResourceSlices, by uid."""
        slices = self.api.objects(RESOURCE_SLICES, field_selector=f"spec.nodeName={self.node}")
        return {item["metadata"]["uid"] for item in slices}

    def await_wiping(self, slices: set[str]) -> None:
        """Wait until a kubelet that has started has deleted these, which are its node's, by uid."""
        self.api.wait_all(
            RESOURCE_SLICES,
            lambda seen: not slices & {item["metadata"]["uid"] for item in seen},
            what="wiped by the kubelet",
        )

    def check_survivors(self) -> None:
        """Every pod that ran still does, undisturbed."""
        now = {name: self._look(self.api.get(PODS, name)) for name in self._survivors}
        assert now == self._survivors

    def close(self) -> None:
        """End all pods; nothing of them may be left, neither on the node nor in the claims."""
        self.check_survivors()
        names = [pod["metadata"]["name"] for pod in self.api.objects(PODS)]
        self.ends(*names)
        left = {driver.name: files for driver in self.drivers if (files := driver.cdi_files(self.node))}
        assert left == {}

    def abandon(self) -> None:
        """Stop what the stage started, whatever state it is in."""
        for driver in self.drivers:
            driver.kill()
        with contextlib.suppress(OSError):
            self.api.close()

    def _look(self, pod: Object) -> Survivor:
        name, phase = pod["metadata"]["name"], pod["status"]["phase"]
        assert phase == "Running", f"pod {name} is {phase}"
        # Evicted, it runs on until its containers have ended.
        assert "deletionTimestamp" not in pod["metadata"], f"pod {name} is being deleted"
        restarts = None if name in self._ending else _restarts(pod)
        claims = {claim: [result["device"] for result in self.results(claim)] for claim in self._claims_of(pod)}
        return Survivor(pod["metadata"]["uid"], restarts, claims)

    def _claims_of(self, pod: Object) -> list[str]:
        """Names of a pod's claims, also of those that were generated for it."""
        generated = {
            status["name"]: status.get("resourceClaimName")
            for status in (pod.get("status") or {}).get("resourceClaimStatuses") or []
        }
        references = pod["spec"].get("resourceClaims") or []
        names = [each.get("resourceClaimName") or generated.get(each["name"]) for each in references]
        extended = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
        return [name for name in (*names, extended.get("resourceClaimName")) if name]

    def _given_back(self, pods: set[str]) -> None:
        """Wait until no claim is reserved for these pods (by uid), and those that are for nobody hold no device."""

        def free(claim: Object) -> bool:
            consumers = {consumer["uid"] for consumer in (claim.get("status") or {}).get("reservedFor") or []}
            return not consumers & pods and bool(consumers or not results(claim))

        self.api.wait_all(RESOURCE_CLAIMS, lambda claims: all(map(free, claims)), what="given back")


def _restarts(pod: Object) -> int:
    return sum(status["restartCount"] for status in pod["status"]["containerStatuses"])
