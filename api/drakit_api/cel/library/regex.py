"""Regular expressions: ``matches`` of the standard library, ``find`` and ``findAll`` of Kubernetes.

Source: ``k8s.io/apiserver`` v0.37 ``pkg/cel/library/regex.go``.
"""

from __future__ import annotations

import functools
import re

from drakit_api.cel.declarations import overload
from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.library import re2


@functools.lru_cache(maxsize=512)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern for Python. Raises ``CelRuntimeError`` in Go's words."""
    try:
        return re.compile(re2.translate(pattern))
    except re2.Re2Error as error:
        raise CelRuntimeError(str(error)) from None


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern occurs anywhere in the text."""
    return compile_pattern(pattern).search(text) is not None


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return compile_pattern(pattern)
    except CelRuntimeError as error:
        raise CelRuntimeError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    found = _compiled(pattern).search(text)
    return found.group() if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """All matches; an empty one right behind another match does not count."""
    found: list[str] = []
    end = -1
    for match in _compiled(pattern).finditer(text):
        if limit >= 0 and len(found) >= limit:
            break
        if match.start() != match.end() or match.end() != end:
            found.append(match.group())
        end = match.end()
    return found


FUNCTIONS = [
    overload("string.find(string) -> string", _find),
    overload("string.findAll(string) -> list<string>", _find_all),
    overload("string.findAll(string, int) -> list<string>", _find_all),
]
