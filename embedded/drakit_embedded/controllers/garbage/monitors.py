"""One reflector for each kind that can be deleted, as long as the kind is served (graph_builder.go, syncMonitors)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from drakit_client.reflector import Reflector
from drakit_client.resources import Resource
from drakit_embedded.controllers.informers import Informers
from drakit_embedded.controllers.kinds.discovery import Discovered

# Not watched: there are many events, and they own nothing (DefaultIgnoredResources).
_IGNORED = frozenset({("", "events"), ("events.k8s.io", "events")})
_VERBS = ("delete", "list", "watch")

_Key = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Monitor:
    """A kind in the version in which it is watched."""

    resource: Resource
    reflector: Reflector


class Monitors:
    """Calls ``changed(resource, old, new)`` for each change of each object of the kinds that are watched."""

    def __init__(self, informers: Informers, changed: Callable[[Resource, Any, Any], None]) -> None:
        self._informers, self._changed = informers, changed
        self._monitors: dict[_Key, Monitor] = {}

    def get(self, resource: Resource) -> Monitor | None:
        """Find the monitor of a kind, which may watch it in another version."""
        return self._monitors.get((resource.group, resource.plural))

    def follow(self, found: Discovered) -> set[_Key]:
        """Watch exactly these kinds; return those that were watched before and are not, or not in that version."""
        wanted = {(each.group, each.plural): each for each in found.supporting(*_VERBS)}
        ended = set()
        for key, monitor in list(self._monitors.items()):
            if wanted.get(key) != monitor.resource:
                del self._monitors[key]
                ended.add(key)
        for key in wanted.keys() - self._monitors.keys() - _IGNORED:
            self._begin(key, wanted[key])
        return ended

    def _begin(self, key: _Key, resource: Resource) -> None:
        monitor = self._monitors[key] = Monitor(resource, self._informers.passing(resource))
        for obj in monitor.reflector.store.values():
            self._changed(resource, None, obj)
        monitor.reflector.on_change(partial(self._forward, key, monitor))

    def _forward(self, key: _Key, monitor: Monitor, old: Any, new: Any) -> None:
        if self._monitors.get(key) is monitor:
            self._changed(monitor.resource, old, new)
