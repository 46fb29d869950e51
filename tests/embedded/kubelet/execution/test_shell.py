"""What commands do in a simulated container: their output, errors and exit status."""

from __future__ import annotations

import asyncio
import subprocess
from datetime import UTC, datetime

import pytest

from drakit_embedded.kubelet.execution.programs import Process
from drakit_embedded.kubelet.execution.shell import run
from drakit_embedded.kubelet.execution.stored_files import StoredFile, StoredFiles
from drakit_embedded.kubelet.execution.view import View

FILES = {"a": StoredFile(b"of a\n"), "d/b": StoredFile(b"of b\n")}
KNOWN = (
    "not simulated; a container of a simulated node has "
    "cat, echo, env, false, ls, printenv, sleep, true, and sh -c of these\n"
)


async def outcome(*command: str, given: bytes = b"") -> tuple[str, str, int]:
    """Standard output, standard error and exit status."""
    written: tuple[bytearray, bytearray] = bytearray(), bytearray()
    pieces = [given, b""] if given else [b""]

    async def read() -> bytes:
        return pieces.pop(0)

    async def out(data: bytes) -> None:
        written[0].extend(data)

    async def error(data: bytes) -> None:
        written[1].extend(data)

    files = View({(): StoredFiles(FILES, datetime.now(UTC))})
    process = Process({"B": "2", "A": "1", "SPACES": "a  b"}, files, read, out, error)
    code = await run(process, command)
    return written[0].decode(), written[1].decode(), code


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["env"], ("B=2\nA=1\nSPACES=a  b\n", "", 0)),
        (["/usr/bin/env"], ("B=2\nA=1\nSPACES=a  b\n", "", 0)),
        (["printenv", "A"], ("1\n", "", 0)),
        (["printenv", "A", "NONE"], ("1\n", "", 1)),
        (["cat", "/a", "/d/b"], ("of a\nof b\n", "", 0)),
        (["cat"], ("input", "", 0)),
        (["cat", "/a", "-"], ("of a\ninput", "", 0)),
        (["cat", "/none", "/a"], ("of a\n", "cat: can't open '/none': No such file or directory\n", 1)),
        (["cat", "/d"], ("", "cat: read error: Is a directory\n", 1)),
        (["ls", "/", "/none"], ("/:\na\nd\n", "ls: /none: No such file or directory\n", 1)),
        (["echo", "-n", "a  b"], ("a  b", "", 0)),
        (["true", "x"], ("", "", 0)),
        (["false"], ("", "", 1)),
        (["sleep", "0.001", "0"], ("", "", 0)),
        (["sleep", "soon"], ("", "sleep: invalid number 'soon'\n", 1)),
        (["sleep"], ("", "sleep: missing operand\n", 1)),
        (["sh", "-c", ""], ("", "", 0)),
        (["sh", "-c", "echo a; false"], ("a\n", "", 1)),
        (["/bin/sh", "-c", "false; echo $A ${B}"], ("1 2\n", "", 0)),
        (["sh", "-c", 'echo $SPACES "$SPACES"'], ("a b a  b\n", "", 0)),
        (["sh", "-c", "false && echo no || echo yes"], ("yes\n", "", 0)),
        (["sh", "-ec", "false; echo no"], ("", "", 1)),
        (["sh", "-ec", "false || echo yes; echo on"], ("yes\non\n", "", 0)),
        (["sh", "-c", "echo a; exit 3; echo b"], ("a\n", "", 3)),
        (["sh", "-c", "false; exit"], ("", "", 1)),
        (["sh", "-c", "echo out; echo err >&2"], ("out\n", "err\n", 0)),
        (["sh", "-c", "cat /none /a 2>/dev/null"], ("of a\n", "", 1)),
        (["sh", "-c", "echo no >/dev/null"], ("", "", 0)),
        (["sh", "-c", "cat /none >/dev/null 2>&1 || true"], ("", "", 0)),
        (["sh", "-c", "cat /none 2>&1 >/dev/null"], ("cat: can't open '/none': No such file or directory\n", "", 1)),
        (["sh", "-c", "ls -1d /d 2>/dev/null || true"], ("/d\n", "", 0)),
        (["sh", "-c", "cat"], ("input", "", 0)),
        (["sh", "-c", "nvidia-smi; echo on"], ("on\n", f"sh: nvidia-smi: {KNOWN}", 0)),
        (["sh", "-c", "nvidia-smi"], ("", f"sh: nvidia-smi: {KNOWN}", 126)),
        (["sh", "-c", "exit 300"], ("", "", 44)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
async def test_commands(command: list[str], expected: tuple[str, str, int]) -> None:
    assert await outcome(*command, given=b"input") == expected


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (["nvidia-smi", "-L"], "nvidia-smi"),
        ([], "no command"),
        (["sh"], "sh"),
        (["bash", "-lx"], "bash"),
        (["env", "A=2", "true"], "arguments of env"),
        (["cat", "-n", "/a"], "options of cat"),
        (["ls", "-R"], "option -R of ls"),
        (["/opt/env"], "/opt/env"),
        (["../../bin/sh", "-c", "true"], "../../bin/sh"),
        (["sh", "-c", "echo a; echo b | cat"], "sh: | in a script"),
        (["sh", "-c", "echo a; echo $(id)"], "sh: $ in a script"),
        (["sh", "-c", "cat /*"], "sh: * in a script"),
        (["sh", "-c", "cat </a"], "sh: < in a script"),
        (["sh", "-c", "sleep 1 &"], "sh: & in a script"),
        (["sh", "-c", "echo a >/tmp/b"], "sh: writing to /tmp/b"),
        (["sh", "-c", "exit now"], "sh: exit with that argument"),
        (["sh", "-c", "true;" * 10_000], "sh: a long script"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
async def test_anything_else_does_nothing_and_says_so(command: list[str], what: str) -> None:
    assert await outcome(*command) == ("", f"drakit: {what}: {KNOWN}", 126)


async def test_a_long_sleep_can_be_cut_short() -> None:
    for duration in ("infinity", "1d"):
        task = asyncio.create_task(outcome("sleep", duration))
        done, _ = await asyncio.wait([task], timeout=0.01)
        assert not done
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        "false && echo no || echo yes",
        "true || echo no && echo yes",
        "echo a >&2; echo b",
        "cat /nonexistent/x >/dev/null 2>&1 || echo gone",
        "echo to-out 2>/dev/null >&2",
        "exit 7",
        "false; exit",
    ],
)
def test_scripts_do_what_a_shell_does(script: str) -> None:
    """All but the words of errors, which differ between shells."""
    real = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)
    output, _, code = asyncio.run(outcome("sh", "-c", script))
    assert (output, code) == (real.stdout, real.returncode)
