"""One command of a client in one container, from its first byte to its exit status."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from drakit_embedded.kubelet import logs
from drakit_embedded.kubelet.containers import Container
from drakit_embedded.kubelet.execution.programs import Process
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
        variables={**_PATH, **container.variables, **_HOME} | dict(container.variables),
        view=view,
        read=terminal.read if terminal else streams.stdin.read,
        out=terminal.write if terminal else streams.out,
        error=terminal.write if terminal else streams.error,
    )
    if not streams.options.stdin:
        await streams.stdin.close()
    running = asyncio.create_task(run(process, command))
    killers = {asyncio.create_task(container.ended.wait()): _KILLED}
    if terminal is not None:
        killers[asyncio.create_task(terminal.interrupted.wait())] = _INTERRUPTED
    typing = [asyncio.create_task(terminal.type())] if terminal is not None else []
    try:
        await asyncio.wait((running, *killers), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            return Outcome(running.result(), command)
        return Outcome(next(code for killer, code in killers.items() if killer.done()), command)
    finally:
        for task in (running, *killers, *typing):
            task.cancel()
        await asyncio.gather(running, *killers, *typing, return_exceptions=True)


async def attach(streams: Streams, container: Container) -> Outcome:
    """Show what a container prints from its start until it ends; what the client sends goes nowhere.

    A real one shows only what is printed from now on. A simulated one has printed nearly all of it when it starts,
    which is before anybody can attach.
    """
    terminal = Terminal(streams) if streams.options.tty else None
    write = terminal.write if terminal else streams.out
    shown = container.printed()
    await write("".join(text for _, text in shown).encode())
    async for news in logs.following(container, len(shown), asyncio.Event()):
        await write("".join(text for _, text in news).encode())
    return Outcome()
