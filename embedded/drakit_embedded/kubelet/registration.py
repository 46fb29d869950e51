"""Finds plugins by their sockets in ``plugins_registry/`` and registers them.

Follows k8s.io/kubernetes/pkg/kubelet/pluginmanager: a socket that appears is asked who it is, one that disappears is
deregistered, one that was replaced is both, and what fails is tried again with growing delays. Error texts are those
that plugins get to see from a kubelet.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path

import grpc.aio

from drakit_api.kubelet import wire
from drakit_embedded.kubelet.plugin_calls import CallError, get_info, notify_registration, open_channel
from drakit_embedded.kubelet.plugins import PluginError, Plugins

log = logging.getLogger(__name__)

_DIAL_SECONDS = 10.0
# k8s.io/kubernetes/pkg/util/goroutinemap/exponentialbackoff.
_FIRST_DELAY = 0.5
_LONGEST_DELAY = 122.0
# A file system's clock ticks in steps of some milliseconds: a directory changed this recently may change again unseen.
_SETTLED_NANOSECONDS = 100_000_000

# Tells a socket from the one that had its name before.
_Identity = tuple[int, int]


@dataclass(slots=True)
class _Socket:
    identity: _Identity
    registered: tuple[str, str] | None = None
    attempt: asyncio.Task[None] | None = None
    delay: float = 0.0
    not_before: float = 0.0


class Registrar:
    """One node's ``plugins_registry/``; ``poll`` must be called again and again."""

    def __init__(self, directory: Path, plugins: Plugins) -> None:
        self._directory = directory
        self._plugins = plugins
        self._sockets: dict[str, _Socket] = {}
        self._modified = -1

    def poll(self) -> None:
        """Compare the directory with what is registered. Costs one stat while nothing changes."""
        try:
            modified = self._directory.stat().st_mtime_ns
        except FileNotFoundError:
            modified = 0
        if modified != self._modified:
            # Look again next time unless the directory has been quiet for a while.
            self._modified = modified if time.time_ns() - modified > _SETTLED_NANOSECONDS else -1
            self._compare(self._scan())
        now = time.monotonic()
        for path, entry in self._sockets.items():
            if entry.registered is None and entry.attempt is None and now >= entry.not_before:
                entry.attempt = asyncio.create_task(self._attempt(path, entry))

    async def close(self) -> None:
        """Stop all attempts under way."""
        attempts = [entry.attempt for entry in self._sockets.values() if entry.attempt is not None]
        self._sockets.clear()
        for attempt in attempts:
            attempt.cancel()
        await asyncio.gather(*attempts, return_exceptions=True)

    def _scan(self) -> dict[str, _Identity]:
        found = {}
        try:
            for entry in os.scandir(self._directory):
                if entry.name.startswith("."):
                    continue
                try:
                    info = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if stat.S_ISSOCK(info.st_mode):
                    found[entry.path] = (info.st_ino, info.st_mtime_ns)
        except FileNotFoundError:
            pass
        return found

    def _compare(self, found: dict[str, _Identity]) -> None:
        for path, entry in list(self._sockets.items()):
            if found.get(path) != entry.identity:
                self._drop(path, entry)
        for path, identity in found.items():
            if path not in self._sockets:
                self._sockets[path] = _Socket(identity)

    def _drop(self, path: str, entry: _Socket) -> None:
        del self._sockets[path]
        if entry.attempt is not None:
            entry.attempt.cancel()
        if entry.registered is not None:
            log.info("plugin %s at %s has gone", *entry.registered)
            self._plugins.deregister(*entry.registered)

    async def _attempt(self, path: str, entry: _Socket) -> None:
        try:
            await self._register(path, entry)
        except (PluginError, CallError, ValueError, OSError, TimeoutError) as error:
            entry.delay = min(entry.delay * 2 or _FIRST_DELAY, _LONGEST_DELAY)
            entry.not_before = time.monotonic() + entry.delay
            log.warning("plugin at %s: %s; again in %.1f s", path, error, entry.delay)
        finally:
            entry.attempt = None

    async def _register(self, path: str, entry: _Socket) -> None:
        async with open_channel(path) as channel:
            try:
                async with asyncio.timeout(_DIAL_SECONDS):
                    await channel.channel_ready()
            except TimeoutError:
                raise PluginError(f"RegisterPlugin error -- dial failed at socket {path}") from None
            info = await get_info(channel)
            endpoint = info.endpoint or path
            if info.type != wire.DRA_PLUGIN_TYPE:
                await self._refuse(channel, f"no handler registered for plugin type: {info.type} at socket {path}")
            try:
                self._plugins.validate(info.name, endpoint, info.versions)
            except PluginError as error:
                await self._refuse(channel, f"plugin validation failed with err: {error}")
            try:
                self._plugins.register(info.name, endpoint, info.versions)
            except (PluginError, ValueError) as error:
                await self._refuse(channel, f"plugin registration failed with err: {error}")
            entry.registered = (info.name, endpoint)
            try:
                await notify_registration(channel, "")
            except BaseException:
                # Also when the socket goes away meanwhile: nobody would deregister it later.
                entry.registered = None
                self._plugins.deregister(info.name, endpoint)
                raise
            log.info("registered DRA driver %s at %s", info.name, endpoint)

    async def _refuse(self, channel: grpc.aio.Channel, reason: str) -> None:
        message = f"RegisterPlugin error -- {reason}"
        await notify_registration(channel, message)
        raise PluginError(message)
