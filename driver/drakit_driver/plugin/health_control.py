"""How a test or a command reads and sets the health of the devices that a running plugin has on its node.

A socket in the plugin's data directory takes a ``Change``, or ``{}`` to change nothing, and answers with a ``Report``;
see ``drakit_client.processes.control``. Whoever may write there may as well remove the plugin's sockets, so
nobody is asked who he is.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from drakit_client.processes import control
from drakit_driver import reports
from drakit_driver.plugin.health import Health, HealthBoard
from drakit_driver.plugin.sockets import HEALTH_SOCKET, PluginPaths, remove_stale_socket

_STATES = {str(health): health for health in Health}
_ANSWER_SECONDS = 10.0


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A device with its health from now on; ``health`` is written as in a pod's status."""

    pool: str
    device: str
    health: str
    message: str = ""


class Report(msgspec.Struct, frozen=True):
    """The health of all devices that a driver has on a node."""

    driver: str
    node: str
    devices: list[Change]


async def listen(paths: PluginPaths, node: str, board: HealthBoard, report: reports.Report) -> asyncio.Server:
    """Answer for the devices of ``board``; ``report`` is told of each change. Call with the instance's lock held."""

    async def handle(request: Any) -> dict[str, Any]:
        if request != {}:
            change = _change(request)
            _set(board, change)
            said = f": {change.message}" if change.message else ""
            report(f"plugin {paths.driver} on {node}: {change.pool}/{change.device} is {change.health}{said}")
        devices = [Change(*key, str(state.health), state.message) for key, state in sorted(board.report().items())]
        answer: dict[str, Any] = msgspec.to_builtins(Report(paths.driver, node, devices))
        return answer

    remove_stale_socket(paths.health_socket)
    return await control.listen(paths.health_socket, handle)


def call(socket: Path, change: Change | None = None) -> Report:
    """Ask the plugin behind a socket, or have it change a device first.

    Raises ``control.ControlError``, as for a device that it does not have, and ``control.NobodyListens``.
    """
    who = f"driver {socket.parent.name}"
    request = msgspec.to_builtins(change) if change else {}
    return msgspec.convert(control.call(socket, request, who=who, timeout=_ANSWER_SECONDS), Report)


def sockets(kubelet_dir: Path) -> Iterator[Path]:
    """Yield where drivers would listen below a kubelet's directory: a path for each plugin, whether there or not.

    Raises ``OSError`` for a directory that cannot be read.
    """
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        yield from (directory / HEALTH_SOCKET for directory in sorted((kubelet_dir / "plugins").iterdir()))


def _change(request: Any) -> Change:
    try:
        return msgspec.convert(request, Change)
    except msgspec.ValidationError as error:
        raise control.Refusal(str(error)) from None


def _set(board: HealthBoard, change: Change) -> None:
    if change.health not in _STATES:
        raise control.Refusal(f"health {change.health!r}: use {', '.join(_STATES)}")
    try:
        board.set(change.pool, change.device, _STATES[change.health], change.message)
    except LookupError as error:
        raise control.Refusal(str(error)) from None
