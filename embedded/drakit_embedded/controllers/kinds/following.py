"""Tells which kinds are served, as soon as that changes.

kube-controller-manager's controllers ask discovery every 30 seconds (k8s.io/kubernetes/pkg/controller/garbagecollector,
Sync). Here a watch of CustomResourceDefinitions says when to ask, so that tests need not wait.
"""

from __future__ import annotations

from collections.abc import Callable

from drakit_api.kubernetes_objects import Object
from drakit_client.reflector import Reflector
from drakit_client.resources import CUSTOM_RESOURCE_DEFINITIONS
from drakit_client.work_queue import WorkQueue
from drakit_embedded.controllers.informers import Informers
from drakit_embedded.controllers.kinds.discovery import Discovered, Discovery

Handler = Callable[[Discovered], None]
# Other changes of discovery are found by asking, as upstream finds all of them.
_RESYNC_SECONDS = 30.0


class Kinds:
    """The kinds of the server that the informers follow; ends the informers of those that are withdrawn."""

    def __init__(self, informers: Informers) -> None:
        self._informers = informers
        self._discovery = Discovery(informers.connection)
        self._found = Discovered()
        self._definitions: Reflector | None = None
        self._handlers: list[Handler] = []
        self._queue: WorkQueue[str] = WorkQueue(self._sync, name="kinds", limit=1)

    def on_change(self, handler: Handler) -> None:
        """Call ``handler`` with what is served, once that is known, and whenever it or a definition has changed."""
        self._handlers.append(handler)

    async def now(self) -> Discovered:
        """Ask the server."""
        return await self._discovery.ask()

    def exists(self, group: str, plural: str) -> bool:
        """Check whether a kind is served, or at least defined: it may have objects."""
        is_served = (group, plural) in self._found.kinds
        return is_served or (self._definitions is not None and self._definitions.get(f"{plural}.{group}") is not None)

    async def start(self) -> None:
        """Ask for the first time, and begin to follow the definitions, if the server has any."""
        found = await self.now()
        if (CUSTOM_RESOURCE_DEFINITIONS.group, CUSTOM_RESOURCE_DEFINITIONS.plural) in found.kinds:
            self._definitions = self._informers.reflector(CUSTOM_RESOURCE_DEFINITIONS)
            self._definitions.on_change(self._defined)
        self._tell(found)
        self._queue.add_after("", _RESYNC_SECONDS)

    async def run(self) -> None:
        """Follow until cancelled; ``start`` must have been called."""
        await self._queue.run()

    def _defined(self, old: Object | None, new: Object | None) -> None:
        self._queue.add("")

    def _tell(self, found: Discovered) -> None:
        self._found = found
        for handler in self._handlers:
            handler(found)

    async def _sync(self, _: str) -> float:
        found, before = await self.now(), self._found
        served = {each.resource for each in found.kinds.values()}
        for each in before.kinds.values():
            if each.resource not in served:
                self._informers.stop(each.resource)
        self._tell(found)
        return _RESYNC_SECONDS
