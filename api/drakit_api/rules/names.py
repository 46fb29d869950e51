"""Names of fields in expressions: those that are no identifiers of CEL are escaped.

Source: ``k8s.io/apiserver`` v0.37 ``pkg/cel/escaping.go``.
"""

from __future__ import annotations

import functools
import re

_RESERVED = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"),
        *("import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    }
)
_NAME = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_ESCAPED = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_SPECIAL = re.compile("__|[./-]")


@functools.lru_cache(maxsize=4096)
def escaped(name: str) -> str | None:
    """Return the name that a field has in expressions; None if it cannot have one."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _NAME.fullmatch(name):
        return None
    return _SPECIAL.sub(lambda match: _ESCAPED[match.group()], name)
