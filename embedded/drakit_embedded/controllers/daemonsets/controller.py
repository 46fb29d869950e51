"""The daemon set controller itself: does what the plans say, and writes down how far it is."""

from __future__ import annotations

import time
from collections import defaultdict

from drakit_api.core.pod_claims import is_terminal
from drakit_api.kubernetes_objects import Object
from drakit_client.errors import ApiError, NotFound
from drakit_client.events import EventRecorder
from drakit_client.reflector import Key, key_of
from drakit_client.resources import DAEMON_SETS, NODES, PODS
from drakit_client.work_queue import WorkQueue
from drakit_embedded.controllers.adoption import PodOwnership
from drakit_embedded.controllers.daemonsets import node_fit, plans
from drakit_embedded.controllers.daemonsets.history import History
from drakit_embedded.controllers.daemonsets.plans import DaemonSetView, Plan
from drakit_embedded.controllers.informers import Created, Informers
from drakit_embedded.controllers.ownership import typed
from drakit_embedded.controllers.pods import Deletions, PodControl, is_going, slow_start

# No more pods than this in one round (daemon_controller.go, BurstReplicas).
_BURST = 250
# How long a node keeps a failed pod, doubled each time (NewDaemonSetsController's flowcontrol.NewBackOff).
_FIRST_FAILED_SECONDS = 1.0
_LONGEST_FAILED_SECONDS = 15 * 60.0


class DaemonSetController:
    """Creates, replaces and deletes pods until each node has the one that it should have."""

    def __init__(self, informers: Informers) -> None:
        self._connection = informers.connection
        self._events = EventRecorder(informers.connection, "daemonset-controller")
        self._control = PodControl(informers.connection, DAEMON_SETS, self._events)
        self._sets = informers.reflector(DAEMON_SETS)
        self._nodes = informers.reflector(NODES)
        self._pods = informers.reflector(PODS)
        self._created = Created(self._pods)
        self._ownership = PodOwnership(informers, DAEMON_SETS, self._created)
        self._history = History(informers)
        self._deleted = Deletions(self._pods, self._control)
        self._failed: dict[tuple[str, str], tuple[float, float]] = {}
        self._queue: WorkQueue[Key] = WorkQueue(self._sync, name="daemonset", limit=2)
        self._sets.on_change(self._set_changed)
        self._nodes.on_change(self._node_changed)
        self._pods.on_change(self._pod_changed)

    async def run(self) -> None:
        """Reconcile until cancelled; the reflectors must be synced."""
        await self._queue.run()

    def _set_changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._queue.add(key_of(new))
        elif old is not None:
            self._queue.forget(key_of(old))
            uid = old["metadata"]["uid"]
            self._failed = {key: value for key, value in self._failed.items() if key[0] != uid}

    def _node_changed(self, old: Object | None, new: Object | None) -> None:
        if old is not None and new is not None and _placement(old) == _placement(new):
            return
        for key in self._sets.store:
            self._queue.add(key)

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        for key in self._ownership.concerned(old, new):
            self._queue.add(key)

    async def _sync(self, key: Key) -> float | None:
        daemon_set = self._sets.store.get(key)
        if daemon_set is None or daemon_set["metadata"].get("deletionTimestamp"):
            return None
        if not daemon_set["spec"]["selector"]:
            message = "This daemon set is selecting all pods. A non-empty selector is required."
            self._events.event(typed(DAEMON_SETS, daemon_set), "Warning", "SelectingAll", message)
            return None
        revisions = await self._history.of(daemon_set)
        waits: list[float] = []
        try:
            view = await self._view(daemon_set, revisions.hash)
            plan = plans.upkeep(view, lambda node: self._may_delete_failed(daemon_set, node, waits))
            await self._apply(view, plan)
            if not plan and _is_rolling(daemon_set):
                await self._apply(view, plans.rolling_update(view))
            labels = (pod["metadata"].get("labels") or {} for pods in view.pods.values() for pod in pods)
            in_use = {each.get(node_fit.HASH_LABEL, "") for each in labels}
            await self._history.clean_up(daemon_set, revisions.old, in_use)
        finally:
            view = await self._view(daemon_set, revisions.hash)
            await self._update_status(view)
        if minimum := daemon_set["spec"].get("minReadySeconds"):
            ready = [pod for pods in view.pods.values() for pod in pods if not view.is_available(pod)]
            waits += [float(minimum)] if ready else []
        return min(waits, default=None)

    async def _view(self, daemon_set: Object, revision_hash: str) -> DaemonSetView:
        pods: defaultdict[str, list[Object]] = defaultdict(list)
        for pod in await self._ownership.claim(daemon_set):
            node = node_fit.target_node(pod)
            if node is None or (is_going(pod) and is_terminal(pod)):
                continue
            if pod in self._deleted:
                pod = {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "now"}}
            pods[node].append(pod)
        nodes = [node for _, node in sorted(self._nodes.store.items())]
        return DaemonSetView(daemon_set, revision_hash, nodes, pods)

    async def _apply(self, view: DaemonSetView, plan: Plan) -> None:
        for pod in plan.ended:
            self._tell_end(view.daemon_set, pod)
        nodes = iter(plan.create[:_BURST])
        try:
            await slow_start(len(plan.create[:_BURST]), lambda: self._create(view, next(nodes)))
        except ApiError as error:
            if not any(cause.get("reason") == "NamespaceTerminating" for cause in error.causes):
                raise
        for pod in plan.delete[:_BURST]:
            await self._deleted.delete(view.daemon_set, pod)

    async def _create(self, view: DaemonSetView, node: str) -> None:
        template = node_fit.pod_template(view.daemon_set, view.hash, node)
        self._created.add(await self._control.create(view.daemon_set, template))

    def _tell_end(self, daemon_set: Object, pod: Object) -> None:
        failed = pod["status"]["phase"] == "Failed"
        where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']} on node {node_fit.target_node(pod)}"
        end = (
            "Found failed daemon pod {}, will try to kill it"
            if failed
            else ("Found succeeded daemon pod {}, will try to delete it")
        )
        self._events.event(
            typed(DAEMON_SETS, daemon_set),
            "Warning" if failed else "Normal",
            "FailedDaemonPod" if failed else "SucceededDaemonPod",
            end.format(where),
        )

    def _may_delete_failed(self, daemon_set: Object, node: str, waits: list[float]) -> bool:
        """Check whether to delete a failed pod now; if later, as it may fail again, add the seconds to ``waits``."""
        key, now = (daemon_set["metadata"]["uid"], node), time.monotonic()
        delay, since = self._failed.get(key, (0.0, 0.0))
        if now - since < delay:
            waits.append(delay - (now - since))
            return False
        expired = now - since > 2 * _LONGEST_FAILED_SECONDS
        longer = _FIRST_FAILED_SECONDS if not delay or expired else min(2 * delay, _LONGEST_FAILED_SECONDS)
        self._failed[key] = longer, now
        return True

    async def _update_status(self, view: DaemonSetView) -> None:
        daemon_set = view.daemon_set
        old = daemon_set.get("status") or {}
        kept = {key: old[key] for key in ("collisionCount", "conditions") if old.get(key)}
        status = {
            **plans.status(view),
            "observedGeneration": daemon_set["metadata"].get("generation", 0),
            **kept,
        }
        if {key: value for key, value in old.items() if value or key in status} == status:
            return
        try:
            await self._connection.replace_status(
                DAEMON_SETS, {**daemon_set, "status": status}, daemon_set["metadata"]["namespace"]
            )
        except NotFound:
            return


def _is_rolling(daemon_set: Object) -> bool:
    strategy = daemon_set["spec"].get("updateStrategy") or {}
    return bool(strategy.get("type", "RollingUpdate") == "RollingUpdate")


def _placement(node: Object) -> tuple[object, object]:
    return node["metadata"].get("labels"), node["spec"].get("taints")
