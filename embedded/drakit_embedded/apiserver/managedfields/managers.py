"""The names of managers: what a client calls itself, or the beginning of its User-Agent.

k8s.io/apiserver/pkg/endpoints/handlers/create.go and k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go.
"""

from __future__ import annotations

from drakit_api.golang.gostrings import quote
from drakit_embedded.apiserver.statuses import Cause

_LONGEST = 128
# The manager of objects that a server creates itself.
SERVER = "kube-apiserver"


def name(field_manager: str, user_agent: str) -> str:
    """Name the manager of a request; "" if neither ``fieldManager`` nor ``User-Agent`` is given."""
    if field_manager:
        return field_manager
    printable = "".join(char for char in user_agent.partition("/")[0] if char.isprintable())
    return printable.encode()[:_LONGEST].decode(errors="ignore")


def faults(field_manager: str, path: str = "fieldManager") -> list[Cause]:
    """Validate a name that a client gave: at most 128 bytes of printable characters."""
    found = []
    if len(field_manager.encode()) > _LONGEST:
        found.append(Cause("FieldValueTooLong", path, f"Too long: may not be more than {_LONGEST} bytes"))
    position = 0
    for char in field_manager:
        if not char.isprintable():
            why = f"invalid character U+{ord(char):04X} (at position {position})"
            found.append(Cause("FieldValueInvalid", path, f"Invalid value: {quote(field_manager)}: {why}"))
        position += len(char.encode())
    return found


def apply_faults(field_manager: str, force: str | None, *, applying: bool) -> list[Cause]:
    """Validate the options that only apply takes (``force``) or needs (``fieldManager``)."""
    if applying and not field_manager:
        return [Cause("FieldValueRequired", "fieldManager", "Required value: is required for apply patch")]
    if not applying and force is not None:
        return [Cause("FieldValueForbidden", "force", "Forbidden: may not be specified for non-apply patch")]
    return []
