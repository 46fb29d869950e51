"""Any number of kubelets in one process: one watch on pods, one loop over plugin directories, one port.

A thousand real kubelets are a thousand watches and a thousand timers; a simulator with a reflector for each node would
be as heavy. Here nodes are objects, and only those on which something happens cost anything.
"""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_client.backoff import Backoff
from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES
from drakit_client.reflector import Reflector
from drakit_client.resources import PODS
from drakit_client.work_queue import WorkQueue
from drakit_embedded import certificates
from drakit_embedded.kubelet.endpoint import Endpoint, Found
from drakit_embedded.kubelet.kubelet import Kubelet, Surroundings
from drakit_embedded.kubelet.nodes import NodeSpec, register, renew_lease
from drakit_embedded.kubelet.release import Release
from drakit_embedded.kubelet.timings import Timings

log = logging.getLogger(__name__)

_PARALLEL_REQUESTS = 32
_RETRY_SECONDS = 0.2
# Looking at plugin directories must not take more than this part of a core, however many nodes there are.
_POLL_SHARE = 0.05
_NETWORK = ipaddress.IPv4Network("10.0.0.0/8")


class KubeletSimulator:
    """Kubelets for ``nodes``, each with its directory ``root/NODE``.

    The port is open to bearers of ``token`` and to client certificates of ``client_ca_file``. The connection
    belongs to the simulator from now on: ``stop`` closes it. ``release`` is the kubelet that is imitated. ``broken`` is
    called with the first error that no task should raise; the simulator does not do all its work from then on.
    """

    def __init__(
        self,
        connection: Connection,
        nodes: Sequence[NodeSpec],
        root: Path,
        *,
        token: str,
        timings: Timings | None = None,
        cdi_directories: Sequence[Path] = (),
        port: int = 0,
        client_ca_file: Path | None = None,
        release: Release | None = None,
        broken: Callable[[BaseException], None] | None = None,
    ) -> None:
        self._connection = connection
        self._broken = broken
        self._specs = {spec.name: spec for spec in nodes}
        self._root = root
        self._port = port
        self._timings = timings or Timings()
        self._release = release or Release()
        self._nodes: dict[str, Object] = {}
        self._kubelets: dict[str, Kubelet] = {}
        self._addresses = itertools.count(1)
        keep = (root / certificates.OF_KUBELETS).with_suffix(".pem")
        self._endpoint = Endpoint(self._find_run, token, client_ca_file=client_ca_file, keep=keep)
        self._pods = Reflector(connection, PODS, on_change=[self._pod_changed])
        backoff = Backoff(0.005, 5.0)
        self._queue: WorkQueue[tuple[str, str]] = WorkQueue(self._sync, name="pod", limit=0, backoff=backoff)
        self._surroundings = Surroundings(
            connection,
            self._timings,
            lambda node, uid: self._queue.add((node, uid)),
            self._new_address,
            tuple(cdi_directories),
            self._release,
        )
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def kubelets(self) -> dict[str, Kubelet]:
        """The running kubelets by node name."""
        return dict(self._kubelets)

    async def start(self) -> None:
        """Register all nodes and begin to run their pods; returns when the nodes are Ready.

        Raises ``CheckpointError`` for a node whose state file is damaged, and ``OSError`` if its port or a certificate
        cannot be used. Waits for an API server that is away.
        """
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        port = await self._endpoint.start(self._port)
        for name in self._specs:
            self._kubelets[name] = Kubelet(name, self._root / name, self._surroundings)
        await self._for_each(lambda name: self._register(name, port))
        for kubelet in self._kubelets.values():
            kubelet.open()
        self._spawn(self._pods.run())
        await self._pods.synced()
        self._addresses = itertools.count(1 + max(map(_number_of, self._pods.store.values()), default=0))
        self._spawn(self._queue.run())
        self._spawn(self._poll())
        self._spawn(self._reconcile())
        if self._timings.heartbeat:
            self._spawn(self._heartbeat())

    async def stop(self) -> None:
        """Stop all kubelets. Nodes and pods stay as they are, as if the machines had lost their kubelets."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await asyncio.gather(*(kubelet.close() for kubelet in self._kubelets.values()))
        self._kubelets.clear()
        await self._endpoint.stop()
        await self._connection.close()

    async def restart_node(self, name: str) -> None:
        """Restart the kubelet of one node; its pods keep running meanwhile. ``KeyError`` for an unknown node."""
        old = self._kubelets.pop(name)
        await old.close()
        kubelet = Kubelet(name, self._root / name, self._surroundings)
        self._kubelets[name] = kubelet
        kubelet.open()
        for pod in self._pods.store.values():
            if pod["spec"].get("nodeName") == name:
                kubelet.pod_changed(pod, pod["metadata"]["uid"])
        await kubelet.reconcile()

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        pod = new if new is not None else old
        assert pod is not None
        kubelet = self._kubelets.get(pod["spec"].get("nodeName", ""))
        if kubelet is not None:
            kubelet.pod_changed(new, pod["metadata"]["uid"])

    async def _sync(self, key: tuple[str, str]) -> float | None:
        node, uid = key
        kubelet = self._kubelets.get(node)
        return await kubelet.sync(uid) if kubelet is not None else None

    def _new_address(self) -> str:
        """Allocate a pod IP that no pod has had since the start; nothing listens there."""
        return str(_NETWORK[next(self._addresses) % _NETWORK.num_addresses])

    def _find_run(self, namespace: str, pod_name: str) -> Found | None:
        pod = self._pods.get(pod_name, namespace)
        kubelet = self._kubelets.get(pod["spec"].get("nodeName", "")) if pod is not None else None
        if pod is None or kubelet is None or (run := kubelet.pods.get(pod["metadata"]["uid"])) is None:
            return None
        return Found(kubelet, run)

    async def _register(self, name: str, port: int) -> None:
        while True:
            try:
                self._nodes[name] = await register(self._connection, self._specs[name], port, self._release)
                return
            except REQUEST_FAILURES as error:
                log.info("registering node %s: %s; again in %.1f s", name, error, _RETRY_SECONDS)
                await asyncio.sleep(_RETRY_SECONDS)

    async def _heartbeat(self) -> None:
        """Renew all leases once in a period, spread over it so that the server sees no bursts."""
        while True:
            began = time.monotonic()
            for index, (name, node) in enumerate(list(self._nodes.items())):
                try:
                    await renew_lease(self._connection, node, self._timings.lease)
                except REQUEST_FAILURES as error:
                    log.debug("lease of node %s: %s", name, error)
                due = began + self._timings.heartbeat * (index + 1) / len(self._nodes)
                await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def _poll(self) -> None:
        while True:
            began = time.monotonic()
            for kubelet in list(self._kubelets.values()):
                kubelet.registrar.poll()
            spent = time.monotonic() - began
            await asyncio.sleep(max(self._timings.poll, spent / _POLL_SHARE))

    async def _reconcile(self) -> None:
        while True:
            for kubelet in list(self._kubelets.values()):
                await kubelet.reconcile()
            await asyncio.sleep(self._timings.reconcile)

    async def _for_each(self, action: Callable[[str], Awaitable[None]]) -> None:
        """Run something for every node, for some of them at a time."""
        names = iter(list(self._specs))

        async def work() -> None:
            for name in names:
                await action(name)

        await asyncio.gather(*(work() for _ in range(min(_PARALLEL_REQUESTS, len(self._specs)))))

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(coroutine)
        task.add_done_callback(self._task_ended)
        self._tasks.append(task)

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        """Report the first task that fails, which none should; the others go on."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        log.error("a task of the kubelets failed", exc_info=error)
        broken, self._broken = self._broken, None
        if broken is not None:
            broken(error)


def _number_of(pod: Object) -> int:
    """Find which address of the network an earlier simulator gave to a pod; 0 if none."""
    try:
        address = ipaddress.IPv4Address(pod.get("status", {}).get("podIP", ""))
    except ValueError:
        return 0
    return int(address) - int(_NETWORK.network_address) if address in _NETWORK else 0
