"""The life of a plugin: lock, recover, listen, register; and the reverse.

The plugin's own socket listens before the registration socket exists, because the kubelet connects to it as soon as it
has seen the latter.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from pathlib import Path

import grpc

from drakit_driver.plugin import health_control
from drakit_driver.plugin.health import HealthBoard
from drakit_driver.plugin.services import ALL_SERVICES, plugin_handlers, registration_handler
from drakit_driver.plugin.sockets import InstanceLock, PluginError, PluginPaths, remove_stale_socket
from drakit_driver.preparing.prepare import Preparer
from drakit_driver.reports import REMIND_SECONDS, Problem, Report

log = logging.getLogger(__name__)

_STOP_SECONDS = 5.0
# A kubelet looks into its directory of plugins at once: whatever takes longer is worth a line.
_UNNOTICED_SECONDS = 5.0


class KubeletPlugin:
    """Serves one driver to one kubelet. ``versions`` is what is advertised and served, in the order of preference."""

    def __init__(
        self,
        paths: PluginPaths,
        preparer: Preparer,
        board: HealthBoard,
        *,
        versions: Sequence[str] = ALL_SERVICES,
        report: Report = log.info,
    ) -> None:
        self.paths = paths
        self.preparer = preparer
        self.board = board
        self._versions = tuple(versions)
        self._report = report
        self._lock = InstanceLock(paths)
        self._servers: list[tuple[grpc.aio.Server, Path]] = []
        self._control: asyncio.Server | None = None
        self._registered = asyncio.Event()
        self._last_verdict: tuple[bool, str] | None = None

    async def start(self) -> None:
        """Start serving; raises ``PluginError`` or ``CheckpointError`` and leaves nothing behind."""
        self.paths.make_directories()
        self._lock.acquire()
        try:
            await self.preparer.recover()
            handlers = plugin_handlers(self._versions, self.preparer, self.board, self._report)
            await self._serve(self.paths.dra_socket, handlers)
            self._control = await health_control.listen(self.paths, self.preparer.node, self.board, self._report)
            registration = registration_handler(
                self.paths.driver, str(self.paths.dra_socket), self._versions, self._verdict
            )
            await self._serve(self.paths.registration_socket, [registration])
        except OSError as error:
            await self.stop()
            raise PluginError(f"cannot start in {self.paths.data_dir}: {error}") from error
        except BaseException:
            await self.stop()
            raise
        self._report(f"plugin {self.paths.driver} on {self.preparer.node}: listening in {self.paths.kubelet_dir}")

    async def registered(self, timeout: float | None) -> None:
        """Wait until a kubelet has accepted the plugin; raises ``TimeoutError`` with its last refusal, if any."""
        try:
            async with asyncio.timeout(timeout):
                await self._registered.wait()
        except TimeoutError as error:
            refusal = self._last_verdict[1] if self._last_verdict else "no kubelet has asked"
            raise TimeoutError(f"plugin {self.paths.driver} is not registered after {timeout} s: {refusal}") from error

    async def tell_that_no_kubelet_asks(self, after: float = _UNNOTICED_SECONDS, again: float = REMIND_SECONDS) -> None:
        """Report after ``after`` seconds, and each ``again``, that no kubelet asked to register it; ends when one does.

        It is the only sign of a wrong ``--kubelet-dir``: sockets can be made in any directory.
        """
        waited = 0.0
        while True:
            await asyncio.sleep(after)
            if self._last_verdict is not None:
                return
            waited, after = waited + after, again
            self._report(
                Problem(
                    f"plugin {self.paths.driver} on {self.preparer.node}: no kubelet has registered it for "
                    f"{waited:.0f} s; does one run that watches {self.paths.registration_socket.parent}? If not, name "
                    "its directory with --kubelet-dir, or use --publish-only"
                )
            )

    async def stop(self) -> None:
        """Unregister first, so that no new call arrives, finish what runs, remove the sockets, free the lock."""
        self.board.close()
        while self._servers:
            server, path = self._servers.pop()
            path.unlink(missing_ok=True)
            await server.stop(_STOP_SECONDS)
        if self._control is not None:
            self._control.close()
            self.paths.health_socket.unlink(missing_ok=True)
            self._control = None
        self._lock.release()

    async def _serve(self, path: Path, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        remove_stale_socket(path)
        server = grpc.aio.server(handlers=list(handlers), options=(("grpc.so_reuseport", 0),))
        # Between bind and chmod the socket must not be open to others. The directory of the registration socket is the
        # kubelet's, so its mode is no protection.
        before = os.umask(0o177)
        try:
            server.add_insecure_port(f"unix:{path}")
        except RuntimeError as error:
            raise PluginError(f"cannot listen on {path}: {error}") from error
        finally:
            os.umask(before)
        self._servers.append((server, path))
        await server.start()

    def _verdict(self, accepted: bool, error: str) -> None:
        if accepted:
            self._registered.set()
        else:
            self._registered.clear()
        if (accepted, error) != self._last_verdict:
            line = f"plugin {self.paths.driver} on {self.preparer.node}: "
            refusal = Problem(f"{line}refused by the kubelet: {error}")
            self._report(f"{line}registered with the kubelet" if accepted else refusal)
        self._last_verdict = (accepted, error)
