"""Regular expressions: ``matches`` of the standard library, ``find`` and ``findAll`` of Kubernetes.

Source: ``k8s.io/apiserver`` v0.37 ``pkg/cel/library/regex.go``. Whoever may create a claim chooses the pattern, so the
time to match must not explode as that of Python's ``re`` does: RE2, whose syntax Go's ``regexp`` has, is linear. What
Go refuses beyond RE2 is refused here; RE2's complaints are put into Go's words. A pattern that takes RE2 more than
1 MiB is too large, which Go would still take (``\\pL{100}``); others take from the budget as their programs are long.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.values import budget
from drakit_api.cel.values.declarations import overload

if TYPE_CHECKING:
    import re2

_GO_WORDS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
}
_MOST_MEMORY = 1024 * 1024
# Bytes of the budget for an instruction; and how many steps of a search, bytes times instructions, for one of them.
_INSTRUCTION = 32
_STEPS = 4
# The search for each next match may look at all that is left: so many bytes of it for one of the budget.
_SCANNED = 16
# Patterns of more characters than this are not remembered.
_REMEMBERED = 1024
_QUOTED_OR_ESCAPED = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)


class Program(NamedTuple):
    """A compiled pattern."""

    regexp: re2._Regexp
    size: int  # instructions


def compile_pattern(pattern: str) -> Program:
    """Compile a pattern, and charge its size to the budget. Raises ``CelRuntimeError`` in Go's words."""
    program = _remembered(pattern) if len(pattern) <= _REMEMBERED else _compile(pattern)
    budget.spend(_INSTRUCTION * program.size)
    return program


@functools.lru_cache(maxsize=128)
def _remembered(pattern: str) -> Program:
    return _compile(pattern)


def _compile(pattern: str) -> Program:
    import re2  # on first use: most selectors have no regular expression

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MOST_MEMORY
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise _refusal(*_complaint(pattern, error.args[0])) from None
    if "\\C" in _QUOTED_OR_ESCAPED.findall(pattern):
        raise _refusal("invalid escape sequence", "\\C")  # a single byte, which Go does not know
    for name in compiled.groupindex:
        if not name.isascii():
            raise _refusal("invalid named capture", f"(?P<{name}>")
    return Program(compiled, compiled._regexp.ProgramSize())


def _complaint(pattern: str, said: bytes) -> tuple[str, str]:
    """Return Go's error code, and the part of the pattern that it is about."""
    code, _, fragment = said.decode(errors="replace").partition(": ")
    if fragment in ("(?<=", "(?<!"):  # to Go, a bad name of a group
        start = pattern.find(fragment)
        end = pattern.find(">", start)
        return "invalid named capture", pattern[start : end + 1 if end >= 0 else None]
    if code.startswith("pattern too large"):
        return "expression too large", pattern
    return _GO_WORDS.get(code, code), fragment


def _refusal(code: str, fragment: str) -> CelRuntimeError:
    return CelRuntimeError(f"error parsing regexp: {code}: `{fragment}`")


def matches(text: str, pattern: str) -> bool:
    """Tell whether the pattern occurs anywhere in the text."""
    regexp, size = compile_pattern(pattern)
    budget.spend(len(text) * size // _STEPS)
    return regexp.search(text.encode()) is not None  # a third of the time that str takes


def _compiled(text: str, pattern: str) -> re2._Regexp:
    try:
        regexp, size = compile_pattern(pattern)
    except CelRuntimeError as error:
        raise CelRuntimeError(f"Illegal regex: {error}") from None
    budget.spend(len(text) * size // _STEPS)
    return regexp


def _find(text: str, pattern: str) -> str:
    found = _compiled(text, pattern).search(text.encode())
    return found.group().decode() if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Find all matches; an empty one right after another match does not count."""
    found: list[str] = []
    source, end = text.encode(), -1
    for match in _compiled(text, pattern).finditer(source):
        if limit >= 0 and len(found) >= limit:
            break
        budget.spend(budget.OBJECT + match.end() - match.start() + (len(source) - match.end()) // _SCANNED)
        if _is_inside(source, match.start()):
            continue
        if match.start() != match.end() or match.end() != end:
            found.append(match.group().decode())
        end = match.end()
    return found


def _is_inside(source: bytes, at: int) -> bool:
    """Tell whether a place is inside of a character: behind an empty match, RE2 goes on by bytes."""
    return at < len(source) and source[at] & 0xC0 == 0x80


FUNCTIONS = [
    overload("string.find(string) -> string", _find),
    overload("string.findAll(string) -> list<string>", _find_all),
    overload("string.findAll(string, int) -> list<string>", _find_all),
]
