"""One command of a client in one container, from its first byte to its exit status."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

from drakit_embedded.kubelet import logs
from drakit_embedded.kubelet.containers import Container
from drakit_embedded.kubelet.execution.programs import Process, Write
from drakit_embedded.kubelet.execution.shell import run
from drakit_embedded.kubelet.execution.terminal import Terminal
from drakit_embedded.kubelet.execution.view import View
from drakit_embedded.kubelet.streaming.streams import Outcome, Streams

# 128 and the number of the signal.
_INTERRUPTED, _KILLED = 130, 137
# What a container runtime adds, first and last.
_PATH = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
_HOME = {"HOME": "/root"}


async def execute(streams: Streams, command: Sequence[str], container: Container, view: View) -> Outcome:
    """Execute a command in a container; it is killed if the container ends before it."""
    terminal = Terminal(streams) if streams.options.tty else None
    process = Process(
        variables=_variables(container, on_terminal=terminal is not None),
        view=view,
        read=terminal.read if terminal else streams.stdin.read,
        out=terminal.write if terminal else streams.out,
        error=terminal.write if terminal else streams.error,
    )
    if not streams.options.stdin:
        await streams.stdin.close()
    async with _running(run(process, command), container.ended.wait(), *_at_terminal(terminal)) as tasks:
        running, killed, *interrupted = tasks[:3]
        await asyncio.wait((running, killed, *interrupted), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            return Outcome(running.result(), command)
        return Outcome(_KILLED if killed.done() else _INTERRUPTED, command)


async def attach(streams: Streams, container: Container) -> Outcome:
    """Show what a container prints from its start until it ends; what the client sends goes nowhere.

    A real one shows only what is printed from now on. A simulated one has printed nearly all of it when it starts,
    which is before anybody can attach. Ctrl-C at a terminal, which might end a real one, ends only this.
    """
    terminal = Terminal(streams) if streams.options.tty else None
    if terminal is None:
        await streams.stdin.close()
    showing = _show(terminal.write if terminal else streams.out, container)
    async with _running(showing, *_at_terminal(terminal)) as tasks:
        await asyncio.wait(tasks[:2], return_when=asyncio.FIRST_COMPLETED)
    return Outcome()


async def _show(write: Write, container: Container) -> None:
    shown = container.printed()
    await write("".join(text for _, text in shown).encode())
    async for news in logs.following(container, len(shown), asyncio.Event()):
        await write("".join(text for _, text in news).encode())


def _at_terminal(terminal: Terminal | None) -> Sequence[Coroutine[Any, Any, Any]]:
    """List what goes on beside a command at a terminal: waiting for Ctrl-C, and typing."""
    return (terminal.interrupted.wait(), terminal.type()) if terminal is not None else ()


def _variables(container: Container, *, on_terminal: bool) -> dict[str, str]:
    """Collect the environment, in the order in which a process has it."""
    term = {"TERM": "xterm"} if on_terminal else {}
    return {**_PATH, **container.variables, **term, **_HOME} | dict(container.variables)


@asynccontextmanager
async def _running(*work: Coroutine[Any, Any, Any]) -> AsyncIterator[list[asyncio.Task[Any]]]:
    """Run all of it at once; what has not ended by the end of the block is cancelled."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
