"""What every component of a cluster looks like to the process that supervises it, whoever wrote the component."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import ssl
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from drakit_client.connection import Connection
from drakit_kind.cluster import ClusterError
from drakit_kind.processes.concurrency import first_of

if TYPE_CHECKING:
    from drakit_kind.clusters.flags import Behaviour

log = logging.getLogger("drakit")


# Called with the reason when a component ends without being asked to.
Ended = Callable[[str], None]


class Slot(Protocol):
    """One component: ours, or a real one's process."""

    async def start(self) -> object:
        """Start it and wait until it does its work."""

    async def stop(self) -> None:
        """Shut the component down cleanly."""


@runtime_checkable
class RestartingAlone(Protocol):
    """A slot in which one program can be restarted while others go on: containers outlive their kubelet."""

    async def restart(self, behaviour: Behaviour) -> None:
        """Restart it as another version or with other gates."""


@dataclass(frozen=True)
class Access:
    """How components reach the API server: its address, or its unix ``socket``; ``certificate`` is the PEM to trust."""

    url: str
    token: str
    certificate: bytes | None
    socket: Path | None = None

    def connect(self, component: str) -> Connection:
        """Open a connection for one component, which shows itself as ``drakit-<component>``."""
        agent = f"drakit-{component}"
        if self.socket is not None:
            return Connection("http://localhost", socket=self.socket, token=self.token, user_agent=agent)
        tls = ssl.create_default_context(cadata=self.certificate.decode()) if self.certificate else None
        return Connection(self.url, token=self.token, tls=tls, user_agent=agent)


class Loop:
    """A component that is one coroutine, run until it is stopped.

    ``ready`` is set when it has its caches; ``ended`` is called with the reason when it ends by itself after that.
    """

    def __init__(
        self,
        name: str,
        connection: Connection,
        run: Callable[[], Coroutine[None, None, None]],
        ready: asyncio.Event,
        ended: Ended,
    ) -> None:
        self._name = name
        self._connection = connection
        self._run = run
        self._ready = ready
        self._tell = ended
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Run it in a task of its own; ``ClusterError`` if it ends before it is ready."""
        self._task = asyncio.create_task(self._run(), name=self._name)
        await first_of(self._ready.wait(), asyncio.wait([self._task]))
        if self._task.done():
            error = self._task.exception()
            raise ClusterError(f"{self._name} ended before it was ready: {error or 'nobody told it to'}") from error
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        log.error("%s ended by itself", self._name, exc_info=error)
        self._tell(f"{self._name} ended by itself: {readable_cause(error)}")

    async def stop(self) -> None:
        """Cancel it and close its connection."""
        if self._task is not None:
            self._task.remove_done_callback(self._ended)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._connection.close()


def readable_cause(error: BaseException | None) -> str:
    """Say in one line why a task has ended; of a group of tasks it is the first error, which ended the others."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}" if error is not None else "nobody told it to"


def end_cluster(problem: str) -> None:
    """End this process in order, because a component has ended and is not started again.

    Half a cluster would let tests fail for reasons that nobody finds: better none, and this in the log.
    """
    log.error("%s; so the cluster stops", problem.partition("\n")[0])
    os.kill(os.getpid(), signal.SIGTERM)
