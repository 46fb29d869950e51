"""The simple part of a shell script: commands one after another, joined by ``;``, newlines, ``&&`` and ``||``.

Nothing is run, so only what can be foreseen is read: quotes, ``$NAME`` and ``${NAME}``, comments, and redirections of
the output. At anything else (pipes, loops, substitutions, background) ``NotForeseen`` is raised; what came before it
stands. Quoting and splitting follow POSIX (XCU 2.2, 2.6.5).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*)")
_BLANKS = " \t"
# Expanding variables can multiply the length of a script.
_LONGEST = 256 * 1024
_LOGGED = ("/dev/stdout", "/dev/stderr", "/proc/1/fd/1", "/proc/1/fd/2")


class NotForeseen(Exception):
    """What the script does from here on is not known without running it."""


class Redirection(NamedTuple):
    """Where a descriptor, ``1`` or ``2``, goes: to a path, or where another one goes (``&1``, ``&2``)."""

    descriptor: str
    target: str


class Command(NamedTuple):
    """One command; ``joint`` is what stands before it: ``;`` (or nothing, or a newline), ``&&`` or ``||``."""

    joint: str
    words: list[str]
    redirections: list[Redirection]

    @property
    def silent(self) -> bool:
        """Whether output goes to a file, and not to the log, which has standard error, too."""
        return any(
            each.descriptor == "1" and not each.target.startswith("&") and each.target not in _LOGGED
            for each in self.redirections
        )


class Flow:
    """Which commands of a script run, by how those before them have ended.

    With ``stop``, as ``set -e`` has it, the first failure ends the script, unless ``&&`` or ``||`` has looked at it.
    """

    def __init__(self, *, stop: bool) -> None:
        self.code = 0
        self._stop = stop
        # In a list like `false && true`, only the failure of the last command counts.
        self._was_left_out = False

    def leaves_out(self, joint: str) -> bool:
        """Check whether a command behind this joint does not run."""
        self._was_left_out = (joint == "&&" and self.code != 0) or (joint == "||" and self.code == 0)
        return self._was_left_out

    def ends_before(self, joint: str) -> bool:
        """Check whether the script ends before a command behind this joint."""
        return self._stop and self.code != 0 and joint == ";" and not self._was_left_out


def commands(script: str, variables: Mapping[str, str]) -> Iterator[Command]:
    """Yield the commands of a script in order; raises ``NotForeseen`` where it cannot be followed any further."""
    reader, joint = _Reader(script, variables), ";"
    while True:
        words, redirections = reader.words()
        after = reader.joint()
        if words:
            yield Command(joint, words, redirections)
        elif after in ("&&", "||") or (joint != ";" and after != "\n"):
            raise NotForeseen("syntax error")
        if after == "":
            return
        # A line may end after `&&`.
        joint = joint if not words and after == "\n" else ";" if after == "\n" else after


class _Reader:
    """A position in a script."""

    def __init__(self, script: str, variables: Mapping[str, str]) -> None:
        self._text = script
        self._variables = variables
        self._at = 0
        self._expanded = 0

    def words(self) -> tuple[list[str], list[Redirection]]:
        """Read the words up to the next operator, and where their command's output goes."""
        found: list[str] = []
        redirections: list[Redirection] = []
        while True:
            self._skip_blanks()
            if self._peek() in ("", ";", "\n", "&", "|"):
                return found, redirections
            if self._peek() == ">":
                redirections.append(self._redirected("1"))
                continue
            begin, word = self._at, self._word()
            if self._peek() == ">" and (descriptor := self._text[begin : self._at]).isdecimal():
                redirections.append(self._redirected(descriptor))
            else:
                found += word

    def joint(self) -> str:
        """Read the operator between two commands; "" at the end."""
        for joint in ("&&", "||", ";", "\n"):
            if self._text.startswith(joint, self._at):
                self._at += len(joint)
                return joint
        if self._peek():
            raise NotForeseen(self._peek())
        return ""

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        self._at += 1
        return self._text[self._at - 1]

    def _skip_blanks(self) -> None:
        while self._peek() and self._peek() in _BLANKS:
            self._at += 1
        if self._peek() == "#":
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end

    def _redirected(self, descriptor: str) -> Redirection:
        if descriptor not in ("1", "2"):
            raise NotForeseen(f"{descriptor}>")
        self._at += 2 if self._text.startswith(">>", self._at) else 1
        if self._peek() == "&":
            if self._text[self._at + 1 : self._at + 2] not in ("1", "2"):
                raise NotForeseen(">&")
            self._at += 2
            return Redirection(descriptor, self._text[self._at - 2 : self._at])
        self._skip_blanks()
        target = self._word()
        if len(target) != 1:
            raise NotForeseen(">")
        return Redirection(descriptor, target[0])

    def _word(self) -> list[str]:
        """Read one word, of which variables without quotes may make several, or none."""
        words: list[str] = []
        word: str | None = None
        while (sign := self._peek()) and sign not in " \t\n;&|>":
            if self._text.startswith("\\\n", self._at):
                self._at += 2
                if word is None:  # the next line may be anything
                    return words
            elif sign == "$":
                self._at += 1
                for index, part in enumerate(re.split(r"[ \t\n]+", self._variable())):
                    if index and word is not None:
                        words.append(word)
                        word = None
                    word = (word or "") + part if part or word is not None else None
            else:
                word = (word or "") + self._piece(self._take(), first=word is None)
        return words if word is None else [*words, word]

    def _piece(self, sign: str, *, first: bool) -> str:
        if sign == "'":
            return self._until_quote()
        if sign == '"':
            return self._in_double_quotes()
        if sign == "\\" and self._peek():
            return self._take().replace("\n", "")
        if sign in "`()<*" or (first and sign == "~"):
            raise NotForeseen(sign)
        return sign

    def _until_quote(self) -> str:
        end = self._text.find("'", self._at)
        if end < 0:
            raise NotForeseen("'")
        text, self._at = self._text[self._at : end], end + 1
        return text

    def _in_double_quotes(self) -> str:
        parts: list[str] = []
        while (sign := self._peek()) != '"':
            if not sign:
                raise NotForeseen('"')
            self._at += 1
            if sign == "`":
                raise NotForeseen(sign)
            if sign == "\\" and self._peek() and self._peek() in '$`"\\\n':
                parts.append(self._take().replace("\n", ""))
            else:
                parts.append(self._variable() if sign == "$" else sign)
        self._at += 1
        return "".join(parts)

    def _variable(self) -> str:
        """Expand the variable whose name comes next; a dollar sign alone stands for itself."""
        name = _NAME.match(self._text, self._at)
        if name is None:
            if self._peek() and self._peek() not in " \t\n\"';":
                raise NotForeseen("$")
            return "$"
        self._at = name.end()
        value = self._variables.get(name[1] or name[2], "")
        self._expanded += len(value)
        if self._expanded > _LONGEST:
            raise NotForeseen("argument list too long")
        return value
