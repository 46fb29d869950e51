"""Starts components again that end by themselves, and gives the cluster up if one does so again and again.

A panic of one program must not take away a cluster that somebody works with; but a cluster of which a part is missing
for good would let tests fail for reasons that nobody finds. What has ended and why is kept in a file, where `drakit
cluster status` finds it, also when the cluster has stopped.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from drakit_api.golang import gotime
from drakit_client.backoff import Backoff
from drakit_client.files import private_files, regular_files
from drakit_kind.cluster import ClusterError

log = logging.getLogger("drakit")

_LARGEST_BYTES = 16 * regular_files.MEBIBYTE


class Ending(msgspec.Struct, frozen=True):
    """One end of a component: when, in UTC, and why, which may be several lines of its log."""

    component: str
    at: str
    reason: str


@dataclass(frozen=True)
class Patience:
    """When to give up: at the ``ends``-th end of a component in a row, without having run ``seconds`` in between.

    The pause before it is started again, in seconds, doubles with each end.
    """

    ends: int = 5
    seconds: float = 60.0
    first_pause: float = 0.25

    def pause(self, ends: int) -> float:
        """Return the seconds to wait after so many ends in a row."""
        return Backoff(self.first_pause, math.inf).seconds(ends)


@dataclass
class _Component:
    """The ends of one component in a row, when it last was ready, and the task that is starting it again."""

    ends: int = 0
    ready_since: float = 0.0
    restart: asyncio.Task[None] | None = None
    ended_meanwhile: bool = False


@dataclass(eq=False)
class Supervisor:
    """Watches over components by name.

    ``again`` starts one once more; ``give_up`` is told why the cluster is to stop; ``file`` keeps the ends. ``now`` is
    a clock, in seconds.
    """

    again: Callable[[str], Awaitable[None]]
    give_up: Callable[[str], None]
    file: Path
    patience: Patience = field(default_factory=Patience)
    now: Callable[[], float] = time.monotonic
    _components: dict[str, _Component] = field(default_factory=dict)
    _stopped: bool = False

    def ended(self, name: str, reason: str) -> None:
        """Note that a component has ended by itself, and start it again after a pause, or give up."""
        if self._stopped:
            return
        found = self._components.setdefault(name, _Component())
        if found.restart is not None:
            found.ended_meanwhile = True
        if self._noted(name, found, reason) and found.restart is None:
            found.restart = asyncio.create_task(self._restart(name, found), name=f"restart {name}")

    async def stop(self) -> None:
        """Start nothing any more; returns when no start is under way."""
        self._stopped = True
        restarts = [found.restart for found in self._components.values() if found.restart is not None]
        for restart in restarts:
            restart.cancel()
        await asyncio.gather(*restarts, return_exceptions=True)

    async def idle(self) -> None:
        """Wait until nothing is being started again."""
        while restarts := [found.restart for found in self._components.values() if found.restart is not None]:
            await asyncio.wait(restarts)

    def _noted(self, name: str, found: _Component, reason: str) -> bool:
        """Count and record an end; return whether to start the component again, else give up."""
        if found.ends and self.now() - found.ready_since >= self.patience.seconds:
            found.ends = 0
        found.ends += 1
        at = gotime.now()
        with private_files.append_to(self.file) as output:
            output.write(msgspec.json.encode(Ending(name, at, reason)) + b"\n")
        if found.ends < self.patience.ends:
            return True
        self._stopped = True
        self.give_up(f"{name} has ended {found.ends} times in a row, the last time: {reason}")
        return False

    async def _restart(self, name: str, found: _Component) -> None:
        try:
            while not self._stopped:
                pause = self.patience.pause(found.ends)
                log.warning("%s is started again in %.2g s", name, pause)
                await asyncio.sleep(pause)
                found.ended_meanwhile = False
                # Until it is ready it has not run at all.
                found.ready_since = self.now() + self.patience.seconds
                try:
                    await self.again(name)
                except Exception as error:
                    log.exception("%s did not start again", name)
                    self._noted(name, found, str(error) or type(error).__name__)
                    continue
                found.ready_since = self.now()
                if not found.ended_meanwhile:
                    return
        finally:
            found.restart = None


def endings(file: Path) -> Iterator[Ending]:
    """Read the ends that a supervisor recorded, oldest first; raise ``ClusterError`` for a damaged file."""
    try:
        lines = regular_files.read(file, limit=_LARGEST_BYTES).splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=Ending)
        except msgspec.MsgspecError as error:
            raise ClusterError(f"{file} is damaged: {error}") from None
