"""What can go wrong with an expression, in the words of cel-go, so that users recognize what a real cluster says."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

# At most so many problems of one expression are shown.
MOST_PROBLEMS = 100


class CelError(ValueError):
    """Base of everything that an expression can raise."""


class CelCompileError(CelError):
    """The expression cannot be used: syntax, unknown names, types, result type or length.

    The text is the detail that kube-apiserver shows behind ``Invalid value: "...": `` and that the allocator reports.
    """


class CelProgramError(CelCompileError):
    """The expression is well-typed but cannot be planned, which kube-apiserver calls an internal error."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(f"program instantiation failed: {cause}")


class CelRuntimeError(CelError):
    """The expression failed on these values, for example ``no such key: model``."""


def succeeds(function: Callable[..., object], *arguments: object) -> bool:
    """Tell whether a function raises no ``CelRuntimeError``."""
    try:
        function(*arguments)
    except CelRuntimeError:
        return False
    return True


class CostExceeded(Exception):
    """The evaluation cost more than the limit. Not a ``CelRuntimeError``, which ``||`` would absorb."""


class OutOfBudget(CelError):
    """The evaluations that share a budget cost more together than they may."""


class Panic(Exception):
    """Upstream's code panicked, in the words of Go. Not a ``CelRuntimeError``, as nothing in the expression absorbs it.

    It is recovered at the end of the evaluation (cel-go ``cel/program.go``).
    """


class Problem(NamedTuple):
    """One complaint about the source at ``offset``, in code points; -1 for the expression as a whole."""

    offset: int
    message: str


def describe(source: str, problems: list[Problem]) -> str:
    """Print the first problems in source order, each with its line and a pointer (cel-go ``common/error{,s}.go``)."""
    in_order = sorted(problems, key=lambda problem: problem.offset)
    shown = [_describe(source, problem) for problem in in_order[:MOST_PROBLEMS]]
    if len(problems) > MOST_PROBLEMS:
        shown.append(f"{len(problems) - MOST_PROBLEMS} more errors were truncated")
    return "\n".join(shown)


def _describe(source: str, problem: Problem) -> str:
    if problem.offset < 0 or not source:
        return f"ERROR: <input>:1:0: {problem.message}" if not source else f"ERROR: <input>:-1:0: {problem.message}"
    before = source[: problem.offset]
    line = before.count("\n")
    column = problem.offset - (before.rfind("\n") + 1)
    text = source.split("\n")[line].replace("\t", " ")
    pointer = "".join("．" if ord(character) > 0x7F else "." for character in text[:column])
    wide = column < len(text) and ord(text[column]) > 0x7F
    return f"ERROR: <input>:{line + 1}:{column + 1}: {problem.message}\n | {text}\n | {pointer}{'＾' if wide else '^'}"
