"""Regular expressions: ``matches`` of the standard library, ``find`` and ``findAll`` of Kubernetes.

Source: ``k8s.io/apiserver`` v0.37 ``pkg/cel/library/regex.go``. A pattern takes from the budget as its program is long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.values import budget
from drakit_api.cel.values.declarations import overload
from drakit_api.golang import regexps

if TYPE_CHECKING:
    import re2

# Bytes of the budget for an instruction; and how many steps of a search, bytes times instructions, for one of them.
_INSTRUCTION = 32
_STEPS = 4
# The search for each next match may look at all that is left: so many bytes of it for one of the budget.
_SCANNED = 16


def compile_pattern(pattern: str) -> regexps.Program:
    """Compile a pattern, and charge its size to the budget. Raises ``CelRuntimeError`` in Go's words."""
    try:
        program = regexps.compile_pattern(pattern)
    except regexps.RegexpError as error:
        raise CelRuntimeError(str(error)) from None
    budget.spend(_INSTRUCTION * program.size)
    return program


def matches(text: str, pattern: str) -> bool:
    """Tell whether the pattern occurs anywhere in the text."""
    program = compile_pattern(pattern)
    budget.spend(len(text) * program.size // _STEPS)
    return program.search(text)


def _compiled(text: str, pattern: str) -> re2._Regexp:
    try:
        program = compile_pattern(pattern)
    except CelRuntimeError as error:
        raise CelRuntimeError(f"Illegal regex: {error}") from None
    budget.spend(len(text) * program.size // _STEPS)
    return program.regexp


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
