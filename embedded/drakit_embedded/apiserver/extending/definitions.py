"""What becomes of a definition once it is stored: it gets its names, is established, served, and at last cleaned up.

In kube-apiserver these are five controllers and a handler, which follow each other within milliseconds. Here it is one
loop, which is woken by changes of definitions and makes its own in a turn of its own, so that readers see each step as
they do there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from drakit_api.core import conditions
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.extending import api_services, loading, names, verdicts
from drakit_embedded.apiserver.extending.cleanup import Cleanup
from drakit_embedded.apiserver.managedfields.managers import SERVER
from drakit_embedded.apiserver.managedfields.updates import Writer
from drakit_embedded.apiserver.reading.watching import Watches
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.registry.definitions.conditions import set_condition
from drakit_embedded.apiserver.scheme.definition_states import GROUP, PLURAL, is_true
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.writing import writes
from drakit_embedded.apiserver.writing.intent import Intent


class Definitions:
    """The definitions of one server, and what is served by them."""

    def __init__(self, api: Api, watches: Watches) -> None:
        self._api, self._watches = api, watches
        found = api.catalog.find(GROUP, "v1", PLURAL)
        assert found is not None
        self._served: Served = found
        # ``spec.group`` and ``status.acceptedNames`` of each definition.
        self._accepted: dict[str, tuple[str, Object]] = {}
        # Those that have not got all of their names: others may have them.
        self._refused: set[str] = set()
        # What each served definition was read from.
        self._read: dict[str, tuple[Object, Object, bool]] = {}
        # What is not structural about each, after the UID and the generation that this was found out of.
        self._structures: dict[str, tuple[tuple[str, int], Object | None]] = {}
        self._waiting: dict[str, None] = {}
        self._position = 0
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._unsubscribe: Callable[[], None] | None = None
        self._cleanup = Cleanup(api, self.update)

    def start(self) -> None:
        """Serve what is stored, and follow the changes."""
        collection = self._served.collection
        for _, name in collection.records:
            self._waiting[name] = None
        self._position = collection.position(self._api.store.version) or 0
        self._settle()
        self._unsubscribe = collection.subscribe(self._changed)
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._run()), loop.create_task(loading.ahead())]

    async def stop(self) -> None:
        """End the loop and the deletions under way."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        await self._cleanup.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _changed(self, position: int) -> None:
        self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._api.turns.take(self._settle, 0)

    def _settle(self) -> None:
        """Treat the definitions that have changed, until nothing changes any more."""
        while self._look() or self._waiting:
            name = next(iter(self._waiting), None)
            if name is not None:
                del self._waiting[name]
                self._treat(name)

    def _look(self) -> bool:
        """Note which definitions have changed since the last look."""
        collection = self._served.collection
        events = collection.read(self._position)
        if events is None:
            # So many changes at once that their history is gone.
            self._waiting |= dict.fromkeys([*(name for _, name in collection.records), *self._accepted])
            self._position = collection.position(self._api.store.version) or 0
            return True
        self._position += len(events)
        self._waiting |= dict.fromkeys(event.record.key[1] for event in events)
        return bool(events)

    def _treat(self, name: str) -> None:
        record = self._served.collection.get("", name)
        if record is None:
            self._forget(name)
            return
        crd = record.object()
        self._accepted[name] = crd["spec"]["group"], crd["status"].get("acceptedNames") or {}
        if not (self._names(name, crd) or self._judge(name, crd)):
            self._serve(name, crd)
            self._cleanup.consider(name, crd)

    def _forget(self, name: str) -> None:
        """Withdraw what a deleted definition has served; its names are free for others."""
        group, _ = self._accepted.pop(name, ("", {}))
        self._refused.discard(name)
        self._structures.pop(name, None)
        self._withdraw(name)
        self._ask_again(group, name)

    def _ask_again(self, group: str, but: str) -> None:
        self._waiting |= {name: None for name in self._refused if self._accepted[name][0] == group and name != but}

    def _names(self, name: str, crd: Object) -> bool:
        """Decide on the names of a definition; True if its status has changed."""
        spec, accepted = crd["spec"], crd["status"].get("acceptedNames") or {}
        wanted = {field: value for field, value in spec["names"].items() if value}
        if wanted == {field: value for field, value in accepted.items() if value}:
            self._refused.discard(name)
            return False
        self._refused.add(name)
        same_group = (other for group, other in self._accepted.values() if group == spec["group"])
        found, condition = names.decided(wanted, accepted, names.Taken.of(same_group))
        old = conditions.find(crd["status"].get("conditions"), "NamesAccepted")
        if found == accepted and old is not None and all(old.get(key) == condition[key] for key in condition):
            return False

        def change(stored: Object) -> None:
            stored["status"]["acceptedNames"] = found
            set_condition(stored, condition)
            set_condition(stored, verdicts.established(stored, accepted=condition["status"] == "True"))

        self.update(name, change)
        self._ask_again(spec["group"], name)
        return True

    def _judge(self, name: str, crd: Object) -> bool:
        """Set the other conditions of a definition; True if there was something to set."""
        found = (self._establishing(crd), verdicts.approval(crd), self._structure(name, crd))
        due = [condition for condition in found if condition is not None and not verdicts.is_set(crd, condition)]
        if not due:
            return False

        def change(stored: Object) -> None:
            for condition in due:
                set_condition(stored, condition)

        return self.update(name, change)

    def _structure(self, name: str, crd: Object) -> Object | None:
        state = crd["metadata"]["uid"], crd["metadata"].get("generation") or 0
        known = self._structures.get(name)
        if known is None or known[0] != state:
            known = self._structures[name] = state, verdicts.structure(crd)
        return known[1]

    def _establishing(self, crd: Object) -> Object | None:
        if is_true(crd, "NamesAccepted") and not is_true(crd, "Established"):
            return verdicts.ESTABLISHED
        return None

    def update(self, name: str, change: Callable[[Object], object]) -> bool:
        """Change the status or the finalizers of a definition in place; False if that changes nothing."""
        record = self._served.collection.get("", name)
        if record is None:
            return False
        before = record.version

        def changed(stored: Object) -> Object:
            change(stored)
            return stored

        intent = Intent(writer=Writer(SERVER, self._served.kind, "status"))
        try:
            writes.update(self._api, self._served, ("", name), changed, intent, subresource="status")
        except StatusError:
            # Rules of a former release may have let in what no write may repeat; it is served all the same.
            return False
        record = self._served.collection.get("", name)
        return record is None or record.version != before

    def _serve(self, name: str, crd: Object) -> None:
        """Tell the catalog, if what is served follows from something else than before."""
        # Imported here: it is loaded with the first definition.
        from drakit_embedded.apiserver.scheme import definitions

        found = definitions.read(crd)
        if found is None:
            self._withdraw(name)
            return
        source = crd["spec"], found.names, found.is_terminating
        before = self._read.get(name)
        if before == source:
            return
        self._read[name] = source
        if before is not None and before[:2] != source[:2]:
            self._watches.end_of(found.name)
        self._api.catalog.serve(found)
        api_services.keep_in_step(self._api)

    def _withdraw(self, name: str) -> None:
        if self._read.pop(name, None) is not None:
            self._watches.end_of(name)
            self._api.catalog.withdraw(name)
            api_services.keep_in_step(self._api)
