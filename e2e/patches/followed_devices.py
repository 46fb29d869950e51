"""Devices as drakit's library sees them while slices and patches change, compared at each change with a merge by hand.

The same objects go into a ``drakit.Snapshot``, which takes in one change after the other, and into the merge, which
begins afresh each time.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from drakit import RESOURCE_SLICES, Features, Snapshot
from drakit_client.connection import Connection
from drakit_client.reflector import Reflector
from drakit_client.resources import RESOURCE_SLICE_PATCHES
from e2e.patches.merged_by_hand import Device, merged_devices

Object = dict[str, Any]


class FollowedDevices:
    """All devices of one driver, in a thread of its own between ``following`` and its end."""

    def __init__(self, driver: str) -> None:
        self.changes = 0  # after which both were compared
        self.wrong: list[str] = []
        # Which values of an attribute each device has had, one after the other.
        self.history: list[dict[str, str]] = []
        self.driver = driver
        self._snapshot = Snapshot(Features.all())
        self._slices: dict[str, Object] = {}
        self._patches: dict[str, Object] = {}
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()

    @contextlib.contextmanager
    def following(self, kubeconfig: Path) -> Iterator[None]:
        """Follow a cluster until the end of the block."""
        task: list[asyncio.Task[None]] = []

        async def follow() -> None:
            task.append(asyncio.current_task())  # type: ignore[arg-type]  # there is one
            with contextlib.suppress(asyncio.CancelledError):
                await self._follow(kubeconfig)

        thread = threading.Thread(target=self._loop.run_until_complete, args=(follow(),), daemon=True)
        thread.start()
        try:
            assert self._ready.wait(30), "slices and patches are not listed"
            yield
        finally:
            self._loop.call_soon_threadsafe(task[0].cancel)
            thread.join(10)
            self._loop.close()

    async def _follow(self, kubeconfig: Path) -> None:
        async with await Connection.from_kubeconfig(kubeconfig, user_agent="drakit-e2e") as connection:
            own = f"spec.driver={self.driver}"
            seen = self._snapshot
            on_slice = self._into(self._slices, seen.put_slice, seen.remove_slice)
            on_patch = self._into(self._patches, seen.put_patch, seen.remove_patch)
            slices = Reflector(connection, RESOURCE_SLICES, field_selector=own, on_change=[on_slice])
            patches = Reflector(connection, RESOURCE_SLICE_PATCHES, on_change=[on_patch])
            async with asyncio.TaskGroup() as tasks:
                for one in (slices, patches):
                    tasks.create_task(one.run())
                    await one.synced()
                self._ready.set()

    def _into(
        self, objects: dict[str, Object], put: Callable[[Object], None], remove: Callable[[str], None]
    ) -> Callable[[Object | None, Object | None], None]:
        """Make a handler that takes each change in on both sides, and compares them."""

        def changed(old: Object | None, new: Object | None) -> None:
            if new is not None:
                objects[new["metadata"]["name"]] = new
                put(new)
            elif old is not None:
                del objects[old["metadata"]["name"]]
                remove(old["metadata"]["name"])
            self._compare()

        return changed

    def _compare(self) -> None:
        wanted = merged_devices([*self._slices.values()], [*self._patches.values()], [])
        found = self._found()
        self.changes += 1
        if found != wanted:
            self.wrong.append(f"after {self.changes} changes: {found} is not {wanted}")
        name = f"{self.driver}/tier"
        self.history.append({device[2]: _text(one["attributes"].get(name)) for device, one in wanted.items()})

    def _found(self) -> dict[Device, Object]:
        found = {}
        for name in self._slices:
            for device in self._snapshot.slices.seen(name).devices:
                spec = device.content.spec
                found[device.id] = {
                    "attributes": dict(spec.get("attributes") or {}),
                    "capacity": dict(spec.get("capacity") or {}),
                    "taints": [*(spec.get("taints") or ()), *device.added_taints],
                }
        return found


def _text(attribute: Object | None) -> str:
    return "" if attribute is None else str(attribute.get("string", ""))
