"""What a few well-known commands would print, and when they would end; no program is run.

``true``, ``false``, ``sleep N``, ``exit N``, ``echo ...``, ``env`` and ``printenv [NAME ...]``, alone or in ``sh -c``.
A script is followed up to the first command that is not among them, and then goes on for ever, as a server does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from drakit_embedded.kubelet import shell_scripts

_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h|d)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}
_SHELLS = ("sh", "bash", "ash", "dash")
_DIRECTORIES = ("/bin/", "/usr/bin/", "/usr/local/bin/")
# Limits of a script's output in bytes; a real container's log is rotated at 10 MiB.
_LONGEST = 1024 * 1024
# Reading a script takes a tenth of a second at most, during which all other pods wait.
LONGEST_SCRIPT = 16 * 1024
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


class Script(NamedTuple):
    """A script for a shell, and whether its first failure ends it (``sh -e``)."""

    text: str
    stop: bool


class Exit(NamedTuple):
    """After how many seconds a container ends, and with which code."""

    seconds: float
    code: int


class Printed(NamedTuple):
    """A text, and how many seconds after the start of its container it is printed."""

    seconds: float
    text: str


@dataclass(slots=True)
class Course:
    """What a command does, as far as that is known."""

    # None until a command is found that prints: then the container's output is not known.
    output: list[Printed] | None = None
    exit: Exit | None = None
    _length: int = field(default=0, repr=False)

    def print(self, seconds: float, text: str) -> None:
        """Add to the output. Raises ``NotForeseen`` if that is more than is kept."""
        self._length += len(text)
        if self._length > _LONGEST:
            raise shell_scripts.NotForeseen("more output than is kept")
        if self.output is None:
            self.output = []
        if text:
            self.output.append(Printed(seconds, text))


def course(command: Sequence[str], variables: Mapping[str, str]) -> Course:
    """Foresee what a container does whose command and arguments are these, in this environment."""
    found = Course()
    if (script := script_of(command)) is not None:
        try:
            found.exit = _script(script, variables, found)
        except shell_scripts.NotForeseen:
            found.exit = None
    elif command:
        try:
            found.exit = _step([*command], variables, found, 0.0, silent=False, built_in=False)
        except shell_scripts.NotForeseen:
            found.exit = None
    return found


def script_of(command: Sequence[str]) -> Script | None:
    """Find the script of ``sh -c``; None for any other command."""
    if len(command) >= 3 and program(command[0]) in _SHELLS and re.fullmatch(r"-[elux]*c", command[1]):
        return Script(command[2], stop="e" in command[1])
    return None


def seconds(text: str) -> float | None:
    """Parse a duration such as ``500ms``, ``2``, ``2.5s``, ``1m`` into seconds; None for anything else."""
    match = _DURATION.fullmatch(text.strip())
    return None if match is None else float(match[1]) * _UNITS[match[2]]


def _script(script: Script, variables: Mapping[str, str], found: Course) -> Exit:
    if len(script.text) > LONGEST_SCRIPT:
        raise shell_scripts.NotForeseen("a long script")
    now, flow = 0.0, shell_scripts.Flow(stop=script.stop)
    for command in shell_scripts.commands(script.text, variables):
        if flow.ends_before(command.joint):
            break
        if flow.leaves_out(command.joint):
            continue
        if command.words == ["exit"]:
            break
        step = _step(command.words, variables, found, now, silent=command.silent, built_in=True)
        now, flow.code = now + step.seconds, step.code
        if command.words[0] == "exit":
            break
    return Exit(now, flow.code)


def _step(
    words: list[str], variables: Mapping[str, str], found: Course, now: float, *, silent: bool, built_in: bool
) -> Exit:
    """Simulate one command that begins at ``now``; raises ``NotForeseen`` for one that is not known."""
    printed, ended = _known([program(words[0]), *words[1:]], variables, built_in=built_in)
    if printed is not None and not silent:
        found.print(now, printed)
    return ended


def _known(words: list[str], variables: Mapping[str, str], *, built_in: bool) -> tuple[str | None, Exit]:
    """Find out what a command prints (None if it is not a printing one), and how it ends."""
    match words:
        case ["true" | ":", *_]:
            return None, Exit(0.0, 0)
        case ["false", *_]:
            return None, Exit(0.0, 1)
        case ["echo", *texts]:
            return echo(texts), Exit(0.0, 0)
        case ["env"] | ["printenv"]:
            return "".join(f"{name}={variables[name]}\n" for name in sorted(variables)), Exit(0.0, 0)
        case ["printenv", *names] if not any(name.startswith("-") for name in names):
            values = [variables[name] for name in names if name in variables]
            return "".join(f"{value}\n" for value in values), Exit(0.0, 0 if len(values) == len(names) else 1)
        case ["sleep", duration] if (pause := seconds(duration)) is not None:
            return None, Exit(pause, 0)
        case ["exit", code] if built_in and re.fullmatch(r"\d{1,9}", code):
            return None, Exit(0.0, int(code) % 256)
    raise shell_scripts.NotForeseen(words[0])


def echo(texts: list[str]) -> str:
    """Print as busybox's echo does: options ``-n`` and ``-e``, which may stand together."""
    newline, escapes = "\n", False
    while texts and re.fullmatch(r"-[neE]+", texts[0]):
        options, *texts = texts
        newline = "" if "n" in options else newline
        escapes = "e" in options if set(options) & {"e", "E"} else escapes
    text = " ".join(texts)
    if escapes:
        text = re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), text)
    return text + newline


def program(path: str) -> str:
    """Take the name of a program that is given with one of the usual directories."""
    for directory in _DIRECTORIES:
        if path.startswith(directory):
            return path.removeprefix(directory)
    return path
