"""Finds plugins by their sockets in ``plugins_registry/`` and registers them.

Follows k8s.io/kubernetes/pkg/kubelet/pluginmanager: a socket that appears is asked who it is, one that disappears is
deregistered, one that was replaced is both, and what fails is tried again with growing delays, which belong to the path
and outlast a replacement. Error texts are those that plugins get to see from a kubelet.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import grpc.aio

from drakit_api.kubelet import wire
from drakit_client.backoff import Backoff
from drakit_embedded.kubelet.plugin_calls import CallError, get_info, notify_registration, open_channel
from drakit_embedded.kubelet.plugins import PluginError, Plugins

log = logging.getLogger(__name__)

_DIAL_SECONDS = 10.0
# k8s.io/kubernetes/pkg/util/goroutinemap/exponentialbackoff.
_BACKOFF = Backoff(0.5, 122.0)
# A file system's clock ticks in steps of some milliseconds: a directory changed this recently may change again unseen.
_SETTLED_NANOSECONDS = 100_000_000

# Identifies a socket, so that a new one of the same name is noticed.
_Identity = tuple[int, int]


@dataclass(slots=True)
class _Socket:
    identity: _Identity
    registered: tuple[str, str] | None = None
    attempt: asyncio.Task[None] | None = None


@dataclass(slots=True)
class _Failures:
    count: int = 0
    not_before: float = 0.0

    def add(self) -> float:
        """Count one more; returns the seconds to wait."""
        self.count += 1
        delay = _BACKOFF.seconds(self.count)
        self.not_before = time.monotonic() + delay
        return delay


class Registrar:
    """One node's ``plugins_registry/``; ``poll`` must be called again and again."""

    def __init__(self, directory: Path, plugins: Plugins) -> None:
        self._directory = directory
        self._plugins = plugins
        self._sockets: dict[str, _Socket] = {}
        # Failures by path, until a registration there succeeds: a new socket does not reset the backoff.
        self._failures: dict[str, _Failures] = {}
        # When each directory was last changed; empty if the times cannot be relied on.
        self._modified: dict[Path, int] = {}

    def poll(self) -> None:
        """Compare the directory with what is registered. Costs one stat of each directory while nothing changes."""
        if not self._modified or any(_modified(path) != then for path, then in self._modified.items()):
            directories, found = self._scan()
            # Look again next time unless all directories have been quiet for a while.
            settled = time.time_ns() - max(directories.values()) > _SETTLED_NANOSECONDS
            self._modified = directories if settled else {}
            self._compare(found)
        now = time.monotonic()
        for path, entry in self._sockets.items():
            if entry.registered is None and entry.attempt is None and now >= self._not_before(path):
                entry.attempt = asyncio.create_task(self._attempt(path, entry))

    async def close(self) -> None:
        """Stop all attempts under way."""
        attempts = [entry.attempt for entry in self._sockets.values() if entry.attempt is not None]
        self._sockets.clear()
        for attempt in attempts:
            attempt.cancel()
        await asyncio.gather(*attempts, return_exceptions=True)

    def _not_before(self, path: str) -> float:
        failures = self._failures.get(path)
        return failures.not_before if failures is not None else 0.0

    def _scan(self) -> tuple[dict[Path, int], dict[str, _Identity]]:
        """List all directories with their times, taken before they were read, and all sockets in them."""
        directories: dict[Path, int] = {}
        found: dict[str, _Identity] = {}
        waiting = [self._directory]
        while waiting:
            directory = waiting.pop()
            directories[directory] = _modified(directory)
            with suppress(FileNotFoundError), os.scandir(directory) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    with suppress(FileNotFoundError):
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(Path(entry.path))
                        elif stat.S_ISSOCK(entry.stat().st_mode):
                            # The name decides, also for a link to a socket.
                            info = entry.stat(follow_symlinks=False)
                            found[entry.path] = (info.st_ino, info.st_mtime_ns)
        return directories, found

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
            delay = self._failures.setdefault(path, _Failures()).add()
            log.warning("plugin at %s: %s; again in %.1f s", path, error, delay)
        else:
            self._failures.pop(path, None)
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
                # Registered also if the socket goes away meanwhile: otherwise nobody would deregister it later.
                entry.registered = None
                self._plugins.deregister(info.name, endpoint)
                raise
            log.info("registered DRA driver %s at %s", info.name, endpoint)

    async def _refuse(self, channel: grpc.aio.Channel, reason: str) -> None:
        message = f"RegisterPlugin error -- {reason}"
        await notify_registration(channel, message)
        raise PluginError(message)


def _modified(directory: Path) -> int:
    """Read when a directory was last changed, in nanoseconds; 0 if it does not exist."""
    try:
        return directory.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
