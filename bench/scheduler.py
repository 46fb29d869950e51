"""Pods a second, and milliseconds for one pod, with MIG claims from templates on 10 and 100 DGX nodes.

The cluster is the one that users start: API server, controllers and scheduler in one process. Its nodes are only
objects, so pods are bound and do not run, as when Kubernetes was measured. A nearly full cluster is the hard case: most
nodes have to be asked in vain. In the end a ledger checks every allocation.
"""

from __future__ import annotations

import asyncio
import functools
import random
import statistics
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bench import clusters, partitions, processes
from bench.ledger import Ledger
from bench.report import Report, Step, ratio
from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.processes.ending_signals import run_until_told
from drakit_client.reflector import Reflector
from drakit_client.resources import BY_KIND, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_driver.profiles.reading import catalog
from drakit_kind.cluster import ClusterSpec
from drakit_kind.clusters import manifests
from drakit_kind.local.backend import LocalCluster


@dataclass(frozen=True, slots=True)
class Upstream:
    """kube-scheduler 1.37.1 in a process of its own, with kube-apiserver, etcd and kube-controller-manager."""

    pods_per_second: float
    single_ms: float


# By number of nodes, and whether nine of ten nodes are full and the others half full. Measured on two cores.
UPSTREAM = {
    (10, False): Upstream(43, 37),
    (10, True): Upstream(15, 63),
    (100, False): Upstream(14.6, 62),
    (100, True): Upstream(3.9, 239),
}
# The partitions that pods ask for, and how many of a hundred do.
MIX = {"1g.5gb": 45, "2g.10gb": 30, "3g.20gb": 25}

_NAMESPACE = "default"
_SECONDS = 180.0
_WRITERS = 16
_SEED = 1
_FULL_TRIES, _HALF_TRIES = 80, 16  # random partitions tried on a node: 80 leave no room, 16 take about half of it


@dataclass(frozen=True, slots=True)
class Case:
    """One cluster. ``singles`` pods come one after the other, then ``pods`` at once."""

    nodes: int
    nearly_full: bool
    singles: int
    pods: int

    @property
    def text(self) -> str:
        return f"{self.nodes} nodes, {'90 % full' if self.nearly_full else 'empty'}"


# As many pods as surely fit: a node that is half full has room for about ten more.
_CASES = (
    Case(10, nearly_full=False, singles=10, pods=200),
    Case(10, nearly_full=True, singles=3, pods=9),
    Case(100, nearly_full=False, singles=10, pods=200),
    Case(100, nearly_full=True, singles=10, pods=60),
)
_QUICK = (Case(10, nearly_full=True, singles=1, pods=2),)


@dataclass(frozen=True, slots=True)
class _Measured:
    single_ms: float
    pods_per_second: float
    cpu_ms: float
    held: int
    errors: Sequence[str]


def run(step: Step, *, quick: bool = False) -> Report:
    """A cluster for each case; an error for each allocation that is not right."""
    report = Report(
        title="Scheduler: MIG claims from templates, 8 GPUs a node",
        columns=[
            "cluster",
            "pods",
            "pods/s",
            "Kubernetes",
            "ratio",
            "1 pod ms",
            "Kubernetes",
            "ratio",
            "CPU ms",
            "held",
        ],
        notes=[
            "1 pod: median from creating it until it is bound. CPU: all of the cluster's process, divided by pods.",
            "held: devices allocated in the end, each checked: given out once, on its pod's node, its counters free.",
        ],
    )
    with report.kept():
        for case in _QUICK if quick else _CASES:
            step(f"{case.text}: start a cluster")
            with clusters.running(ClusterSpec(tls=False)) as cluster:
                measured = run_until_told(_measure(cluster, case, functools.partial(_of_case, step, case)))
            report.rows.append(_row(case, measured))
            report.errors.extend(f"{case.text}: {error}" for error in measured.errors)
    return report


def _of_case(step: Step, case: Case, text: str) -> None:
    step(f"{case.text}: {text}")


def _row(case: Case, measured: _Measured) -> list[str]:
    recorded = UPSTREAM[case.nodes, case.nearly_full]
    return [
        case.text,
        f"{case.pods}",
        f"{measured.pods_per_second:.1f}",
        f"{recorded.pods_per_second:g}",
        ratio(measured.pods_per_second, recorded.pods_per_second),
        f"{measured.single_ms:.0f}",
        f"{recorded.single_ms:g}",
        ratio(measured.single_ms, recorded.single_ms, less_is_better=True),
        f"{measured.cpu_ms:.1f}",
        f"{measured.held}",
    ]


async def _measure(cluster: LocalCluster, case: Case, step: Step) -> _Measured:
    async with Connection(cluster.url, token=cluster.spec.token, user_agent="drakit-bench") as connection:
        await _furnish(connection, case, step)
        async with _following(connection) as bindings:
            wanted = random.Random(_SEED).choices(list(MIX), list(MIX.values()), k=case.singles + case.pods)
            singles = []
            for number, profile in enumerate(wanted[: case.singles]):
                step(f"pod {number + 1} of {case.singles} that come one by one")
                singles.append(await _bind(connection, bindings, {f"single-{number}": profile}))
            step(f"{case.pods} pods at once")
            burst = {f"pod-{number}": profile for number, profile in enumerate(wanted[case.singles :])}
            used = _cpu_seconds(cluster)
            seconds = await _bind(connection, bindings, burst, step)
            used = _cpu_seconds(cluster) - used
        step("check the allocations")
        held, errors = await _check(connection)
    return _Measured(
        single_ms=1000 * statistics.median(singles),
        pods_per_second=case.pods / seconds,
        cpu_ms=1000 * used / case.pods,
        held=held,
        errors=errors,
    )


class _Bindings:
    """When each pod was bound, as a watch tells it."""

    def __init__(self) -> None:
        self.at: dict[str, float] = {}
        self._obstacles: dict[str, str] = {}
        self._changed = asyncio.Event()

    def see(self, old: Object | None, new: Object | None) -> None:
        """A handler of a reflector."""
        if new is None:
            return
        name = new["metadata"]["name"]
        if new["spec"].get("nodeName"):
            self.at.setdefault(name, time.monotonic())
            self._changed.set()
        for condition in new["status"].get("conditions") or []:
            self._obstacles[name] = condition.get("message", "")

    async def wait(self, names: Iterable[str], step: Step) -> None:
        """Until all these pods are bound; ``RuntimeError`` with the scheduler's reason when that takes minutes."""
        waiting = set(names)
        count = len(waiting)
        try:
            async with asyncio.timeout(_SECONDS):
                while waiting := waiting - self.at.keys():
                    step(f"{count - len(waiting)} of {count} pods bound")
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            name = min(waiting)
            reason = self._obstacles.get(name) or "the scheduler says nothing about it"
            raise RuntimeError(f"pod {name} was not bound within {_SECONDS:.0f} s: {reason}") from None


@asynccontextmanager
async def _following(connection: Connection) -> AsyncIterator[_Bindings]:
    bindings = _Bindings()
    pods = Reflector(connection, PODS, namespace=_NAMESPACE, on_change=[bindings.see])
    following = asyncio.create_task(pods.run())
    try:
        await pods.synced()
        yield bindings
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _bind(
    connection: Connection, bindings: _Bindings, profiles_of: Mapping[str, str], step: Step = lambda _: None
) -> float:
    """Seconds from creating the first of these pods until the last is bound."""
    began = time.monotonic()
    await _create(connection, [manifests.pod(name, template=_template(p)) for name, p in profiles_of.items()])
    await bindings.wait(profiles_of, step)
    return max(bindings.at[name] for name in profiles_of) - began


async def _create(connection: Connection, objects: Iterable[Object]) -> None:
    """Create them in this order, sixteen at a time."""
    left = iter(objects)

    async def writer() -> None:
        for obj in left:
            await connection.create(BY_KIND[obj["kind"]], obj, _NAMESPACE)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_WRITERS):
            tasks.create_task(writer())


async def _furnish(connection: Connection, case: Case, step: Step) -> None:
    """Nodes, their slices, device classes and claim templates, and what is in use before the first pod comes."""
    names = [f"dgx-{number:04}" for number in range(case.nodes)]
    step("create nodes and slices")
    await _create(connection, map(_node, names))
    await _create(connection, (item for name in names for item in partitions.node_slices(name)))
    await _create(connection, catalog.device_classes(partitions.PROFILE))
    await _create(connection, (manifests.claim_template(_template(p), partitions.request(p)) for p in MIX))
    if case.nearly_full:
        full = round(0.9 * case.nodes)
        for number, name in enumerate(names):
            step(f"put claims on node {number + 1} of {case.nodes}")
            await _occupy(
                connection, name, partitions.packed(MIX, _FULL_TRIES if number < full else _HALF_TRIES, number)
            )


def _template(profile: str) -> str:
    return f"mig-{profile.replace('.', '-')}"


def _node(name: str) -> Object:
    now = gotime.now()
    capacity = {"cpu": "128", "memory": "1Ti", "pods": "110", "ephemeral-storage": "1Ti"}
    ready = {"type": "Ready", "status": "True", "reason": "Bench", "lastHeartbeatTime": now, "lastTransitionTime": now}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": capacity, "allocatable": capacity, "conditions": [ready]},
    }


async def _occupy(connection: Connection, node: str, devices: Sequence[tuple[str, str]]) -> None:
    """One bound pod that holds all these devices, each by a claim of its own; the scheduler has no part in it."""
    names = [f"{node}-{number}" for number in range(len(devices))]
    pod = manifests.pod(f"holder-{node}", nodeName=node)
    pod["spec"]["resourceClaims"] = [{"name": name, "resourceClaimName": name} for name in names]
    holder = await connection.create(PODS, pod, _NAMESPACE)
    user = {"resource": "pods", "name": holder["metadata"]["name"], "uid": holder["metadata"]["uid"]}
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]

    async def hold(name: str, profile: str, device: str) -> None:
        claim = manifests.claim(name, partitions.request(profile))
        claim["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]
        stored = await connection.create(RESOURCE_CLAIMS, claim, _NAMESPACE)
        result = {"request": "mig", "driver": partitions.DRIVER, "pool": node, "device": device}
        allocation = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": terms}}
        status = {"allocation": allocation, "reservedFor": [user]}
        await connection.replace_status(RESOURCE_CLAIMS, {**stored, "status": status}, _NAMESPACE)

    await asyncio.gather(*(hold(name, *device) for name, device in zip(names, devices, strict=True)))


async def _check(connection: Connection) -> tuple[int, list[str]]:
    """How many devices are held, and what is wrong."""
    slices, claims, pods = [
        (await connection.list(resource))["items"] for resource in (RESOURCE_SLICES, RESOURCE_CLAIMS, PODS)
    ]
    ledger = Ledger(slices, claims)
    return ledger.held, ledger.errors(pods)


def _cpu_seconds(cluster: LocalCluster) -> float:
    pid = cluster.home.running_pid()
    assert pid is not None
    return processes.cpu_seconds(pid)
