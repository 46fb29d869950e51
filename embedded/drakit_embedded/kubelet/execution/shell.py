"""A command as it is given to exec: a program, or a script for ``sh -c`` whose commands are done one after the other.

What is not known here ends with a text that says so, and with status 126, that of a shell for what cannot be executed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from drakit_embedded.kubelet import commands, shell_scripts
from drakit_embedded.kubelet.execution.programs import NOT_SIMULATED, PROGRAMS, NotSimulatedError, Process, Write
from drakit_embedded.kubelet.shell_scripts import Flow, NotForeseen, Redirection

_KNOWN = f"{', '.join(PROGRAMS)}, and sh -c of these"
_WHERE_WE_ARE = {"/dev/stdout": "&1", "/dev/stderr": "&2"}


async def run(process: Process, command: Sequence[str]) -> int:
    """Do what a command would do; its exit status."""
    script = commands.script_of(command)
    try:
        if script is not None:
            return await _script(process, script)
        return await _program(process, list(command))
    except NotSimulatedError as error:
        await process.complain(f"drakit: {error}: not simulated; a container of a simulated node has {_KNOWN}")
        return NOT_SIMULATED


async def _program(process: Process, words: list[str]) -> int:
    name = commands.program(words[0]) if words else ""
    known = PROGRAMS.get(name)
    if known is None:
        raise NotSimulatedError(words[0] if words else "no command")
    return await known(process, words[1:])


async def _script(process: Process, script: commands.Script) -> int:
    if len(script.text) > commands.LONGEST_SCRIPT:
        raise NotSimulatedError("sh: a long script")
    try:
        # All of it is read first: of a script that goes on as nobody knows, no part is done.
        found = list(shell_scripts.commands(script.text, process.variables))
    except NotForeseen as error:
        raise NotSimulatedError(f"sh: {error} in a script") from None
    flow = Flow(stop=script.stop)
    for command in found:
        if flow.ends_before(command.joint):
            break
        if flow.leaves_out(command.joint):
            continue
        if command.words[0] == "exit":
            return _exit_code(command.words, flow.code)
        flow.code = await _step(_redirected(process, command.redirections), command.words)
    return flow.code


async def _step(process: Process, words: list[str]) -> int:
    if words[0] == ":":
        return 0
    try:
        return await _program(process, words)
    except NotSimulatedError as error:
        await process.complain(f"sh: {error}: not simulated; a container of a simulated node has {_KNOWN}")
        return NOT_SIMULATED


def _exit_code(words: list[str], last: int) -> int:
    if len(words) == 1:
        return last
    if len(words) > 2 or not re.fullmatch(r"\d{1,9}", words[1]):
        raise NotSimulatedError("sh: exit with that argument")
    return int(words[1]) % 256


def _redirected(process: Process, redirections: Sequence[Redirection]) -> Process:
    """Connect the output as a script wants it, one redirection after the other."""
    places: dict[str, Write] = {"&1": process.out, "&2": process.error}
    for descriptor, target in redirections:
        target = _WHERE_WE_ARE.get(target, target)
        if target != "/dev/null" and target not in places:
            raise NotSimulatedError(f"sh: writing to {target}")
        places[f"&{descriptor}"] = _nowhere if target == "/dev/null" else places[target]
    return replace(process, out=places["&1"], error=places["&2"])


async def _nowhere(data: bytes) -> None:
    return
