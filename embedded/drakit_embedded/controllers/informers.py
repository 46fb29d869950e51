"""The collections that the controllers watch, each of them once, with indexes.

A dozen controllers read pods; one reflector serves them all, as the shared informers of kube-controller-manager do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.reflector import Key, Reflector, key_of
from drakit_client.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource


def _without_schemas(crd: Object) -> Object:
    """Leave out of a definition what makes it large, and no controller reads."""
    crd["metadata"].pop("managedFields", None)
    for version in crd["spec"]["versions"]:
        version.pop("schema", None)
    return crd


_TRANSFORMS = {CUSTOM_RESOURCE_DEFINITIONS: _without_schemas}


class Index:
    """Finds objects of a reflector by something in them, e.g. pods by the uid of their owner."""

    def __init__(self, reflector: Reflector, values: Callable[[Any], Iterable[Hashable]]) -> None:
        self._reflector = reflector
        self._values = values
        self._keys: dict[Hashable, dict[Key, None]] = {}
        for obj in reflector.store.values():
            self._change(None, obj)
        reflector.on_change(self._change)

    def get(self, value: Hashable) -> list[Any]:
        """List the objects under a value as last seen; read-only, as everything in a reflector."""
        store = self._reflector.store
        return [store[key] for key in self._keys.get(value, ()) if key in store]

    def _change(self, old: Object | None, new: Object | None) -> None:
        before = set(self._values(old)) if old is not None else set()
        after = set(self._values(new)) if new is not None else set()
        for value in before - after:
            assert old is not None
            keys = self._keys[value]
            keys.pop(key_of(old), None)
            if not keys:
                del self._keys[value]
        for value in after - before:
            assert new is not None
            self._keys.setdefault(value, {})[key_of(new)] = None


class Informers:
    """One reflector for each resource, started when first asked for (or by ``run``, if that comes later)."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._reflectors: dict[Resource, Reflector] = {}
        self._running: dict[Resource, asyncio.Task[None]] = {}
        # Those that ``stop`` ends.
        self._passing: set[Resource] = set()
        self._tasks: asyncio.TaskGroup | None = None

    def reflector(self, resource: Resource) -> Reflector:
        """Find or start the shared reflector of a resource in all namespaces."""
        self._passing.discard(resource)
        return self._find(resource)

    def passing(self, resource: Resource) -> Reflector:
        """Find or start the reflector of a kind that was discovered: unless others rely on it, ``stop`` ends it."""
        if resource not in self._reflectors:
            self._passing.add(resource)
        return self._find(resource)

    def stop(self, resource: Resource) -> None:
        """End the reflector of a kind that is withdrawn; for those who have it, it stays as it is."""
        if resource in self._passing:
            self._passing.discard(resource)
            del self._reflectors[resource]
            if (task := self._running.pop(resource, None)) is not None:
                task.cancel()

    def _find(self, resource: Resource) -> Reflector:
        reflector = self._reflectors.get(resource)
        if reflector is None:
            transform = _TRANSFORMS.get(resource)
            reflector = self._reflectors[resource] = Reflector(self.connection, resource, transform=transform)
            if self._tasks is not None:
                self._start(self._tasks, reflector)
        return reflector

    def _start(self, tasks: asyncio.TaskGroup, reflector: Reflector) -> None:
        self._running[reflector.resource] = tasks.create_task(reflector.run())

    def index(self, resource: Resource, values: Callable[[Any], Iterable[Hashable]]) -> Index:
        """Create an index; ask for it before registering handlers that read it, so that it is up to date in them."""
        return Index(self.reflector(resource), values)

    async def run(self) -> None:
        """Follow all resources until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            for reflector in self._reflectors.values():
                self._start(tasks, reflector)

    async def synced(self) -> None:
        """Wait until every reflector that exists now has its first list."""
        for reflector in list(self._reflectors.values()):
            await reflector.synced()


class Created:
    """Objects that a controller has created and that its reflector does not show yet.

    Without it a controller that looks again too soon would create them twice. client-go has a mutation cache for this;
    here an entry is dropped once the reflector has seen the object's resourceVersion, which is an increasing number
    in every Kubernetes API server from 1.35 on (KEP-5504).
    """

    def __init__(self, reflector: Reflector) -> None:
        self._reflector = reflector
        self._objects: dict[Key, Object] = {}
        reflector.on_change(self._change)

    def add(self, obj: Object) -> None:
        """Remember an object as the server returned it from create."""
        if key_of(obj) not in self._reflector.store:
            self._objects[key_of(obj)] = obj

    def pending(self) -> list[Object]:
        """List the objects that the watch does not show yet."""
        seen = int(self._reflector.resource_version or 0)
        for key, obj in list(self._objects.items()):
            if int(obj["metadata"]["resourceVersion"]) <= seen:
                del self._objects[key]
        return list(self._objects.values())

    def get(self, key: Key) -> Object | None:
        """Look up an object that we created and that is not shown by the watch yet."""
        return self._objects.get(key)

    def _change(self, old: Object | None, new: Object | None) -> None:
        changed = new if new is not None else old
        assert changed is not None
        self._objects.pop(key_of(changed), None)
