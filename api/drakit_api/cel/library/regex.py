"""Regular expressions: ``matches`` of the standard library, ``find`` and ``findAll`` of Kubernetes.

The patterns are RE2's; they are translated to Python's ``re`` once.
"""

from __future__ import annotations

import functools
import re

from drakit_api.cel.declarations import overload
from drakit_api.cel.errors import CelRuntimeError


@functools.lru_cache(maxsize=512)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern for Python. Raises ``CelRuntimeError`` in Go's words."""
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        raise CelRuntimeError(f"error parsing regexp: {error.msg}: `{pattern}`") from None


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern occurs anywhere in the text."""
    return compile_pattern(pattern).search(text) is not None


def _find(text: str, pattern: str) -> str:
    found = compile_pattern(pattern).search(text)
    return found.group() if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match.group() for match in compile_pattern(pattern).finditer(text)]
    return found if limit < 0 else found[:limit]


FUNCTIONS = [
    overload("string.find(string) -> string", _find),
    overload("string.findAll(string) -> list<string>", _find_all),
    overload("string.findAll(string, int) -> list<string>", _find_all),
]
