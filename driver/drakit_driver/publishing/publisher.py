"""Keeps the ResourceSlices of a driver's pools as the driver wants them, against everything that happens to them.

The kubelet wipes a node's slices when it restarts, administrators edit and delete them, API servers of other versions
or gates drop fields of them. The publisher watches its own slices and repairs what differs, event-driven; what it
compares and in which order it writes is in ``slice_comparison`` and ``pool_plan``.

What it owns: with ``node_name``, every slice of the driver on that node; without, the slices of the pools that it was
given (now or before) and that belong to no node. So network-attached pools of one driver may be published by several
processes, each its own pools.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_api.typed_objects import ResourceSlice
from drakit_client.backoff import Backoff
from drakit_client.connection import Connection
from drakit_client.errors import Conflict, Invalid, NotFound
from drakit_client.events import EventRecorder
from drakit_client.reflector import Reflector
from drakit_client.work_queue import WorkQueue
from drakit_driver.api_versions import API_FAILURES
from drakit_driver.publishing.pool_plan import Desired, Plan, comparable, plan
from drakit_driver.publishing.pool_slices import Form, has_mixins, pool_name, wanted, with_taint_times
from drakit_driver.publishing.quarrels import Quarrels
from drakit_driver.publishing.slice_api import SliceApi
from drakit_driver.publishing.slice_comparison import dropped_fields, suspected_gates
from drakit_driver.publishing.written_slices import WrittenSlices
from drakit_driver.reports import REMIND_SECONDS, Problem, Reminders, Report

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates
    from drakit_api.layouts.pools import Pool

log = logging.getLogger(__name__)


# Long enough that one burst of events is one repair, short enough that nobody waits for it.
REPAIR_SECONDS = 0.1
# How often the server is asked (dry run) whether it would keep fields by now that it dropped before.
PROBE_SECONDS = 10.0
# A slice that we created and that never shows up in the watch was deleted before the watch saw it.
_UNSEEN_SECONDS = 10.0
_CONNECTING = Backoff(0.1, 5.0)
_FAILING = Backoff(0.1, 10.0)
# The end of a generated name (k8s.io/apimachinery/pkg/util/rand), which is another one in each refusal.
_GENERATED = re.compile(r'-[bcdfghjklmnpqrstvwxz2456789]{5}(?=")')


class _NotServed(Exception):
    """The API server stopped serving the version in use (it was up- or downgraded)."""


class Publisher:
    """Publishes ``pools`` of ``driver``; ``run`` works until cancelled, ``published`` waits for the first success.

    ``report`` gets one line per change of state. Slices are left behind on purpose when it stops: pods keep running
    while a driver is updated. ``cleanup`` removes them.
    """

    def __init__(
        self,
        connection: Connection,
        driver: str,
        pools: Sequence[Pool],
        *,
        node_name: str | None = None,
        gates: FeatureGates,
        report: Report = log.info,
        repair_seconds: float = REPAIR_SECONDS,
        probe_seconds: float = PROBE_SECONDS,
        remind_seconds: float = REMIND_SECONDS,
    ) -> None:
        self.driver = driver
        self.node_name = node_name
        self._api = SliceApi(connection, driver, node_name)
        self._gates = gates
        self._report = report
        self._repair_seconds = repair_seconds
        self._probe_seconds = probe_seconds
        self._events = EventRecorder(connection, driver, host=node_name or "")
        self._desired: dict[str, list[Desired]] = {}
        self._dropped: dict[str, list[str]] = {}
        self._pools: dict[str, Pool] = {}
        # By pool: the form that the server accepts, if it is not the pool's own.
        self._forms: dict[str, Form] = {}
        self._synced: set[str] = set()
        # Pools that have not changed since their last sync began.
        self._unchanged: set[str] = set()
        self._progress = asyncio.Condition()
        self._reminders = Reminders(remind_seconds)
        self._quarrels = Quarrels()
        self._queue = WorkQueue(self._publish, name="pool", limit=1, backoff=_FAILING, failed=self._failed)
        self._written = WrittenSlices(_UNSEEN_SECONDS)
        self._reflector: Reflector | None = None
        self.update(pools)

    def update(self, pools: Sequence[Pool]) -> None:
        """Replace the desired pools; unchanged pools are not touched, missing ones are removed from the server."""
        names = [pool.name for pool in pools]
        if len(set(names)) != len(names):
            raise ValueError(f"driver {self.driver}: pool names must be unique: {', '.join(sorted(names))}")
        fresh = {pool.name: self._wanted(pool, self._forms.get(pool.name, "native")) for pool in pools}
        self._pools = {pool.name: pool for pool in pools}
        for name in self._desired.keys() - fresh.keys():
            fresh[name] = []
        for name, desired in fresh.items():
            before = self._desired.get(name)
            if before is None or [item.spec for item in before] != [item.spec for item in desired]:
                self._dropped.pop(name, None)
                self._replace(name, desired)

    def _wanted(self, pool: Pool, form: Form) -> list[Desired]:
        return wanted(pool, self._gates, form)

    def _replace(self, name: str, desired: list[Desired]) -> None:
        self._desired[name] = desired
        self._changed(name)
        self._queue.add(name)

    def _changed(self, name: str) -> None:
        self._synced.discard(name)
        self._unchanged.discard(name)

    def dropped(self) -> dict[str, list[str]]:
        """Return by pool the fields that the API server does not keep."""
        return dict(self._dropped)

    async def published(self, timeout: float | None = 30.0) -> None:
        """Wait until every pool is on the server as desired (up to dropped fields); raises ``TimeoutError``."""
        try:
            async with asyncio.timeout(timeout), self._progress:
                await self._progress.wait_for(lambda: self._synced >= self._desired.keys())
        except TimeoutError as error:
            missing = ", ".join(sorted(self._desired.keys() - self._synced))
            raise TimeoutError(f"driver {self.driver}: pools not published after {timeout} s: {missing}") from error

    async def run(self) -> None:
        """Publish and repair until cancelled; an API server that is away or changes version is waited for."""
        while True:
            await self._connect()
            try:
                await self._follow()
            except* _NotServed:
                version = self._api.resource.api_version
                self._report(f"publisher {self.driver}: {version} is no longer served, asking again")

    async def cleanup(self, timeout: float = 30.0) -> None:
        """Delete every slice that this publisher owns. Call it after ``run`` was cancelled."""
        async with asyncio.timeout(timeout):
            await self._api.connect()
            owned = [slice_ for slice_ in await self._api.stored() if self._owns(slice_)]
            for slice_ in owned:
                await self._api.delete(slice_)
            if owned:
                self._report(f"publisher {self.driver}: removed {len(owned)} slices")

    async def _connect(self) -> None:
        for pause in _CONNECTING.pauses():
            try:
                await self._api.connect()
                self._reminders.over("")
                return
            except API_FAILURES as error:
                message = str(error) or type(error).__name__
                if self._reminders.due("", message):
                    self._report(Problem(f"publisher {self.driver}: waiting for the API server: {message}"))
                await asyncio.sleep(pause)

    async def _follow(self) -> None:
        self._reflector = self._api.reflector(self._seen)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._reflector.run())
            await self._reflector.synced()
            for name in self._desired.keys() | {pool_name(slice_) for slice_ in self._owned()}:
                self._queue.add(name)
            group.create_task(self._probe())
            group.create_task(self._queue.run())

    def _seen(self, old: Object | None, new: Object | None) -> None:
        slice_ = new or old
        if slice_ is None:
            return
        if not self._written.seen(old, new) and self._owns(slice_):
            name = pool_name(slice_)
            self._changed(name)
            self._queue.add_after(name, self._quarrels.pause(name, self._repair_seconds))

    def _owns(self, slice_: ReadOnlyObject) -> bool:
        if slice_["spec"].get("driver") != self.driver or (slice_["spec"].get("nodeName") or None) != self.node_name:
            return False
        return self.node_name is not None or pool_name(slice_) in self._desired

    def _owned(self) -> list[ResourceSlice]:
        assert self._reflector is not None
        stored = self._written.over(self._reflector.store)
        return [self._api.v1(item) for item in stored if self._owns(item)]

    async def _publish(self, name: str) -> None:
        try:
            await self._sync(name)
        except Invalid:
            if not await self._change_layout(name):
                raise
        else:
            self._reminders.over(name)
            self._quarrels.repaired(name)

    async def _failed(self, name: str, error: Exception, delay: float) -> None:
        if not isinstance(error, API_FAILURES):
            raise error
        if isinstance(error, Conflict):
            return  # Somebody else was faster; the watch brings what they wrote.
        if isinstance(error, NotFound) and not await self._still_served():
            raise _NotServed from error
        message = str(error) or type(error).__name__
        if self._reminders.due(name, _GENERATED.sub("", message)):
            self._report(Problem(f"pool {name}: not published, trying again in {delay:.1f} s: {message}"))
            self._events.event(self._regarding(), "Warning", "PublishFailed", f"pool {name}: {message}")

    async def _still_served(self) -> bool:
        try:
            return await self._api.still_served()
        except API_FAILURES:
            return True

    async def _sync(self, name: str) -> None:
        if self._would_write_mixins(name):
            await self._choose_form(name)
        self._unchanged.add(name)
        desired = self._desired.get(name, [])
        planned = self._plan(name)
        if not planned.empty:
            await self._write(name, desired, planned)
            action = f"published with generation {planned.generation}" if desired else "removed"
            self._report(f"pool {name}: {action}, {len(desired)} slices ({_counts(planned)})")
            self._report_dropped(name, desired)
            # Look again when a slice that the watch never shows, as it was deleted at once, is no longer believed in.
            asyncio.get_running_loop().call_later(_UNSEEN_SECONDS, self._queue.add, name)
        if name in self._unchanged:
            async with self._progress:
                self._synced.add(name)
                self._progress.notify_all()

    def _plan(self, name: str) -> Plan:
        existing = [slice_ for slice_ in self._owned() if pool_name(slice_) == name]
        return plan(self._desired.get(name, []), existing)

    def _would_write_mixins(self, name: str) -> bool:
        """Tell whether the server must be asked first, each time: it may have been restarted with its gate off."""
        pool = self._pools.get(name)
        native = pool is not None and has_mixins(pool, self._gates) and name not in self._forms
        return native and not self._plan(name).empty

    async def _write(self, name: str, desired: list[Desired], planned: Plan) -> None:
        for slice_ in planned.delete:
            await self._api.delete(slice_)
            self._written.deleted(slice_)
        pool = {"name": name, "generation": planned.generation, "resourceSliceCount": len(desired)}
        owners = await self._api.owner_references() if planned.create else []
        for index, slice_ in planned.update:
            spec = {**with_taint_times(desired[index].spec, slice_["spec"]), "pool": pool}
            self._keep(desired, index, await self._api.replace(slice_, spec))
        for index in planned.create:
            spec = {**desired[index].spec, "pool": pool}
            self._keep(desired, index, await self._api.create(index, spec, owners))

    def _keep(self, desired: list[Desired], index: int, answer: Object) -> None:
        """Remember what the server stored, so that dropped fields do not look like somebody's change for ever."""
        self._written.stored(answer)
        desired[index] = Desired(desired[index].spec, comparable(self._api.v1(answer)["spec"]))

    def _report_dropped(self, name: str, desired: list[Desired]) -> None:
        fields = sorted({path for item in desired for path in dropped_fields(comparable(item.spec), item.stored_as)})
        if fields == self._dropped.get(name, []):
            return
        if not fields:
            self._dropped.pop(name, None)
            self._report(f"pool {name}: the API server keeps all fields now")
            return
        self._dropped[name] = fields
        gates = ", ".join(suspected_gates(fields)) or "unknown"
        message = f"pool {name}: the API server dropped {', '.join(fields)}; disabled features there: {gates}"
        self._report(Problem(message))
        self._events.event(self._regarding(), "Warning", "DroppedFields", message)

    def _regarding(self) -> Object:
        if self.node_name:
            return {"apiVersion": "v1", "kind": "Node", "name": self.node_name, "uid": self.node_name}
        # Events of cluster-scoped objects go to the default namespace; a driver is not an object, its slices are.
        owned = self._owned() if self._reflector else []
        name = owned[0]["metadata"]["name"] if owned else self.driver
        return {"apiVersion": self._api.resource.api_version, "kind": "ResourceSlice", "name": name}

    async def _probe(self) -> None:
        """Ask by dry run whether what was not kept would be kept now, and republish if so."""
        while True:
            await asyncio.sleep(self._probe_seconds)
            flattened = {name for name, form in self._forms.items() if form == "flat" and name in self._pools}
            for name in {*self._dropped, *flattened}:
                try:
                    if name in flattened and has_mixins(self._pools[name], self._gates):
                        await self._choose_form(name)
                    elif await self._would_keep_more(name):
                        self._replace(name, [Desired.of(item.spec) for item in self._desired[name]])
                except API_FAILURES as error:
                    log.debug("pool %s: dry run failed: %s", name, error)

    async def _would_keep_more(self, name: str) -> bool:
        for index, item in enumerate(self._desired.get(name, [])):
            kept_all = comparable(item.spec) == item.stored_as
            if not kept_all and await self._api.would_store(name, index, item) != item.stored_as:
                return True
        return False

    async def _choose_form(self, name: str) -> None:
        """Publish a pool with mixins as it is if the server keeps them all, else flattened.

        Asked before and not found out after: a device without the consumption that its mixin has would be allocated.
        """
        native = self._wanted(self._pools[name], "native")
        kept = await self._api.takes(name, native)
        if kept and self._forms.pop(name, "native") != "native":
            self._report(f"pool {name}: the API server keeps mixins now")
            self._replace(name, native)
        elif not kept and self._forms.get(name) != "flat":
            self._report(f"pool {name}: the API server does not keep mixins, publishing the pool flattened")
            self._use_form(name, "flat")

    async def _change_layout(self, name: str) -> bool:
        """Put counters beside the devices that use them after a refusal, if the server wants that (Kubernetes 1.34)."""
        pool = self._pools.get(name)
        if pool is None or not pool.shared_counters:
            return False
        form: Form = "flat" if self._forms.get(name) == "combined" else "combined"
        try:
            if not await self._api.takes(name, self._wanted(pool, form)):
                return False
        except (*API_FAILURES, ValueError) as error:
            log.debug("pool %s as %s slices: %s", name, form, error)
            return False
        where = "in slices of their own" if form == "flat" else "beside the devices that use them"
        self._report(f"pool {name}: the API server wants counters {where}")
        self._use_form(name, form)
        return True

    def _use_form(self, name: str, form: Form) -> None:
        self._forms[name] = form
        self._replace(name, self._wanted(self._pools[name], form))


def _counts(planned: Plan) -> str:
    done = {"deleted": len(planned.delete), "updated": len(planned.update), "created": len(planned.create)}
    return ", ".join(f"{count} {verb}" for verb, count in done.items() if count)
