"""The end of a definition: its objects are deleted first, as long as its finalizer keeps it.

k8s.io/apiextensions-apiserver v0.37 pkg/controller/finalizer/crd_finalizer.go.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.reading import conversions
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.registry.definitions.conditions import set_condition, terminating
from drakit_embedded.apiserver.registry.definitions.deletion import FINALIZER
from drakit_embedded.apiserver.reruns import driver
from drakit_embedded.apiserver.scheme import definition_states
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.storage.store import Key
from drakit_embedded.apiserver.writing import deletes
from drakit_embedded.apiserver.writing.intent import Intent

# Seconds after which the definition says that its objects are not going; it waits on all the same.
_PATIENCE = 60.0
# Seconds until objects that could not be converted are read again, for the first time.
_FIRST_PAUSE = 0.1
Update = Callable[[str, Callable[[Object], object]], bool]
# Admission has nothing to say about it.
_UNASKED = Intent(admitted=True)
log = logging.getLogger(__name__)


class Cleanup:
    """The deletions under way; ``update`` changes the status and the finalizers of a definition."""

    def __init__(self, api: Api, update: Update) -> None:
        self._api, self._update = api, update
        self._under_way: dict[str, asyncio.Task[None]] = {}

    def consider(self, name: str, crd: Object) -> None:
        """Begin to clean up after a definition, if it is being deleted and has the finalizer for that."""
        meta = crd["metadata"]
        if not meta.get("deletionTimestamp") or FINALIZER not in (meta.get("finalizers") or ()):
            return
        if name not in self._under_way:
            self._under_way[name] = asyncio.get_running_loop().create_task(self._clean(name, crd))

    async def stop(self) -> None:
        """Cancel all of them; they begin anew with the next server."""
        for task in self._under_way.values():
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    async def _clean(self, name: str, crd: Object) -> None:
        try:
            await self._say(name, "InstanceDeletionInProgress", "CustomResource deletion is in progress")
            if definition_states.is_true(crd, "Established"):
                await self._delete_instances(name)
                await self._finish(name, "InstanceDeletionCompleted", "removed all instances")
            else:
                await self._finish(name, "NeverEstablished", "resource was never established")
        except Exception:
            log.exception("CustomResourceDefinition %s: its objects could not be deleted", name)
        finally:
            self._under_way.pop(name, None)

    async def _say(self, name: str, reason: str, message: str, *, status: str = "True") -> None:
        condition = terminating(reason, message, status=status)
        change = partial(set_condition, new=condition)
        await self._api.turns.take(lambda: self._update(name, change), 0)

    async def _finish(self, name: str, reason: str, message: str) -> None:
        condition = terminating(reason, message, status="False")

        def change(crd: Object) -> None:
            set_condition(crd, condition)
            crd["metadata"]["finalizers"] = [each for each in crd["metadata"]["finalizers"] if each != FINALIZER]

        await self._api.turns.take(lambda: self._update(name, change), 0)

    async def _delete_instances(self, name: str) -> None:
        found = await self._readable(name)
        if found is None:
            return
        for key in list(found.collection.records):
            await driver.settled(partial(self._api.turns.take, partial(self._delete, found, key), 0))
        await self._gone(name, found)

    async def _readable(self, name: str) -> Served | None:
        """Find the kind of a definition, once all of its objects can be read; None if there is no such kind."""
        pause = _FIRST_PAUSE
        while (definition := self._api.catalog.definition(name)) is not None:
            found = self._api.catalog.stored_kind(definition)
            try:
                await conversions.prepared(found, list(found.collection.records.values()))
                return found
            except StatusError as error:
                await self._say(name, "InstanceDeletionFailed", f"could not list instances: {error.message}")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _PATIENCE)
        return None

    def _delete(self, served: Served, key: Key) -> None:
        if key not in served.collection.records:
            return
        try:
            deletes.delete(self._api, served, key, deletes.Options(), _UNASKED)
        except StatusError as error:
            log.warning("%s/%s cannot be deleted: %s", served.kind.plural, key[1], error.message)

    async def _gone(self, name: str, served: Served) -> None:
        """Wait until there are no objects left; others may have to remove finalizers."""
        changed = asyncio.Event()
        unsubscribe = served.collection.subscribe(lambda _: changed.set())
        try:
            while served.collection.records:
                changed.clear()
                try:
                    async with asyncio.timeout(_PATIENCE):
                        await changed.wait()
                except TimeoutError:
                    await self._say(
                        name,
                        "InstanceDeletionCheck",
                        "could not confirm zero CustomResources remaining: timed out waiting for the condition",
                    )
        finally:
            unsubscribe()
