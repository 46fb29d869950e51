"""The programs that a simulated container has, in the form of busybox; none is run, each is done here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from drakit_embedded.kubelet import commands
from drakit_embedded.kubelet.execution.listing import UnknownOptionError, listing
from drakit_embedded.kubelet.execution.view import View

NOT_SIMULATED = 126
_PIECE_BYTES = 64 * 1024
_FOREVER = ("inf", "infinity")
Write = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Process:
    """What a command has: its environment, files, input and output."""

    variables: Mapping[str, str]
    view: View
    # The next piece of the input; empty at its end.
    read: Callable[[], Awaitable[bytes]]
    out: Write
    error: Write

    async def complain(self, text: str) -> None:
        """Write a line to standard error."""
        await self.error(f"{text}\n".encode(errors="surrogateescape"))


class NotSimulatedError(Exception):
    """What a command would do is not known here; the message is the part of it that is not."""


Program = Callable[[Process, list[str]], Awaitable[int]]


async def cat(process: Process, arguments: list[str]) -> int:
    """Print files, or the input."""
    if any(argument.startswith("-") and argument != "-" for argument in arguments):
        raise NotSimulatedError("options of cat")
    code = 0
    for path in arguments or ["-"]:
        try:
            await (_copy_input(process) if path == "-" else _copy_file(process, path))
        except _FileError as error:
            await process.complain(f"cat: {error}")
            code = 1
    return code


class _FileError(Exception):
    pass


async def _copy_input(process: Process) -> None:
    while piece := await process.read():
        await process.out(piece)


async def _copy_file(process: Process, path: str) -> None:
    try:
        file = await process.view.run(lambda: process.view.open(path))
    except IsADirectoryError:
        raise _FileError("read error: Is a directory") from None
    except OSError as error:
        raise _FileError(f"can't open '{path}': {error.strerror}") from None
    with file:
        while piece := await _read(file.read):
            await process.out(piece)


async def _read(read: Callable[[int], bytes]) -> bytes:
    try:
        return await asyncio.to_thread(read, _PIECE_BYTES)
    except OSError as error:
        raise _FileError(f"read error: {error.strerror}") from None


async def echo(process: Process, arguments: list[str]) -> int:
    """Print words."""
    await process.out(commands.echo(arguments).encode(errors="surrogateescape"))
    return 0


async def env(process: Process, arguments: list[str]) -> int:
    """Print all variables, in the order in which the container was given them."""
    if arguments:
        raise NotSimulatedError("arguments of env")
    await _print_lines(process, [f"{name}={value}" for name, value in process.variables.items()])
    return 0


async def printenv(process: Process, arguments: list[str]) -> int:
    """Print the values of variables, or all variables."""
    if not arguments:
        return await env(process, [])
    found = [process.variables[name] for name in arguments if name in process.variables]
    await _print_lines(process, found)
    return 0 if len(found) == len(arguments) else 1


async def false(process: Process, arguments: list[str]) -> int:
    """Fail."""
    return 1


async def true(process: Process, arguments: list[str]) -> int:
    """Succeed."""
    return 0


async def ls(process: Process, arguments: list[str]) -> int:
    """List files and directories."""
    try:
        found = await process.view.run(lambda: listing(process.view, arguments))
    except UnknownOptionError as error:
        raise NotSimulatedError(f"option {error} of ls") from None
    for line in found.errors:
        await process.complain(line)
    await _print_lines(process, found.output)
    return found.code


async def sleep(process: Process, arguments: list[str]) -> int:
    """Wait for the sum of some durations."""
    if not arguments:
        await process.complain("sleep: missing operand")
        return 1
    total = 0.0
    for argument in arguments:
        seconds = float("inf") if argument in _FOREVER else commands.seconds(argument)
        if seconds is None:
            await process.complain(f"sleep: invalid number '{argument}'")
            return 1
        total += seconds
    await (asyncio.Event().wait() if total == float("inf") else asyncio.sleep(total))
    return 0


async def _print_lines(process: Process, lines: list[str]) -> None:
    await process.out("".join(f"{line}\n" for line in lines).encode(errors="surrogateescape"))


PROGRAMS: Mapping[str, Program] = {
    "cat": cat,
    "echo": echo,
    "env": env,
    "false": false,
    "ls": ls,
    "printenv": printenv,
    "sleep": sleep,
    "true": true,
}
