"""The registered DRA plugins of one node: their connections, their health streams, and what happens when they leave.

Follows k8s.io/kubernetes/pkg/kubelet/cm/dra/plugin (dra_plugin_manager.go, dra_plugin.go).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import grpc

from drakit_api.kubelet import wire
from drakit_embedded.kubelet.device_health import Report
from drakit_embedded.kubelet.plugin_calls import CallError, PluginClient, open_channel
from drakit_embedded.kubelet.release import Release

log = logging.getLogger(__name__)

# Newest first, as kubelets list them in their errors; the plugin's order decides.
DRA_VERSIONS = (wire.DRA_V1, wire.DRA_V1BETA1)


class PluginError(Exception):
    """A plugin cannot be registered or used; the message is the kubelet's."""


class Plugin:
    """One registered endpoint of a driver and the tasks that watch it."""

    def __init__(self, driver: str, endpoint: str, dra_version: str, health_version: str | None) -> None:
        self.driver = driver
        self.endpoint = endpoint
        self.connected = False
        self.health_version = health_version
        self.channel = open_channel(endpoint)
        self.client = PluginClient(self.channel, dra_version, health_version)
        self.tasks: list[asyncio.Task[None]] = []

    async def close(self) -> None:
        """Stop watching and drop the connection."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.channel.close()


class Plugins:
    """Plugins by driver name, in the order in which they came.

    ``wipe(driver)`` is called when no plugin of a driver has been connected for ``wiping`` seconds;
    ``health(driver, reports)`` for each message of a health stream, with None when the stream ends.
    """

    def __init__(
        self,
        *,
        wiping: float,
        health_retry: float,
        wipe: Callable[[str], None],
        health: Callable[[str, Sequence[Report] | None], None],
        release: Release,
    ) -> None:
        self._release = release
        self._wiping = wiping
        self._health_retry = health_retry
        self._wipe = wipe
        self._health = health
        self._plugins: dict[str, list[Plugin]] = {}
        self._pending_wipes: dict[str, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def names(self) -> list[str]:
        """List the drivers with at least one registered plugin."""
        return list(self._plugins)

    def get(self, driver: str) -> Plugin:
        """Find the newest connected plugin of a driver, or the newest if none is connected.

        Raises:
            PluginError: if no plugin of the driver is registered.
        """
        plugins = self._plugins.get(driver)
        if not plugins:
            raise PluginError(f"DRA driver {driver} is not registered")
        return next((plugin for plugin in reversed(plugins) if plugin.connected), plugins[-1])

    def validate(self, driver: str, endpoint: str, versions: Sequence[str]) -> str:
        """Choose the DRA version to use: the first of the plugin's list that the kubelet knows.

        Raises:
            PluginError: if it knows none of them.
        """
        where = f"invalid supported gRPC versions of DRA driver plugin {driver} at endpoint {endpoint}"
        if not versions:
            raise PluginError(f"{where}: empty list of supported gRPC services (aka supported versions)")
        known = next((version for version in versions if version in DRA_VERSIONS), None)
        if known is None:
            raise PluginError(
                f"{where}: none of services supported by the plugin ({_quoted(versions)}) "
                f"are supported by the kubelet ({_quoted(DRA_VERSIONS)})"
            )
        return known

    def register(self, driver: str, endpoint: str, versions: Sequence[str]) -> None:
        """Register a plugin. Raises ``PluginError`` as ``validate`` does, and if its endpoint is registered already."""
        dra_version = self.validate(driver, endpoint, versions)
        health_version = self._release.health_version(versions)
        if any(plugin.endpoint == endpoint for plugin in self._plugins.get(driver, ())):
            raise PluginError(f"endpoint {endpoint} already registered for DRA driver plugin {driver}")
        plugin = Plugin(driver, endpoint, dra_version, health_version)
        self._plugins.setdefault(driver, []).append(plugin)
        plugin.tasks.append(asyncio.create_task(self._follow_connection(plugin)))
        if health_version is not None:
            plugin.tasks.append(asyncio.create_task(self._follow_health(plugin)))
        self._check_usable(driver)

    def deregister(self, driver: str, endpoint: str) -> None:
        """Forget a plugin whose registration socket is gone."""
        plugins = self._plugins.get(driver, [])
        for plugin in [plugin for plugin in plugins if plugin.endpoint == endpoint]:
            plugins.remove(plugin)
            task = asyncio.create_task(plugin.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        if not plugins:
            self._plugins.pop(driver, None)
        self._check_usable(driver)

    async def close(self) -> None:
        """Close all connections and cancel all pending wipes."""
        for timer in self._pending_wipes.values():
            timer.cancel()
        self._pending_wipes.clear()
        plugins = [plugin for plugins in self._plugins.values() for plugin in plugins]
        self._plugins.clear()
        await asyncio.gather(*(plugin.close() for plugin in plugins), *self._closing)

    def _check_usable(self, driver: str) -> None:
        """Cancel or start the countdown after which the driver's slices are deleted."""
        if any(plugin.connected for plugin in self._plugins.get(driver, ())):
            if (timer := self._pending_wipes.pop(driver, None)) is not None:
                timer.cancel()
        elif driver not in self._pending_wipes:
            loop = asyncio.get_running_loop()
            self._pending_wipes[driver] = loop.call_later(self._wiping, self._expire, driver)

    def _expire(self, driver: str) -> None:
        del self._pending_wipes[driver]
        self._wipe(driver)

    async def _follow_connection(self, plugin: Plugin) -> None:
        """Keep the connection up, so that a plugin that is gone (or back) is noticed without calling it."""
        while True:
            state = plugin.channel.get_state(try_to_connect=True)
            connected = state == grpc.ChannelConnectivity.READY
            if connected != plugin.connected:
                plugin.connected = connected
                log.info("DRA driver %s at %s: connected=%s", plugin.driver, plugin.endpoint, connected)
                self._check_usable(plugin.driver)
            await plugin.channel.wait_for_state_change(state)

    async def _follow_health(self, plugin: Plugin) -> None:
        while True:
            try:
                async for reports in plugin.client.watch_health():
                    self._health(plugin.driver, reports)
            except CallError as error:
                log.info("health stream of DRA driver %s: %s", plugin.driver, error)
                if error.unimplemented:
                    return
            finally:
                self._health(plugin.driver, None)
            await asyncio.sleep(self._health_retry)


def _quoted(versions: Sequence[str]) -> str:
    """Print a list of strings as Go's %q does."""
    return "[" + " ".join(f'"{version}"' for version in versions) + "]"
