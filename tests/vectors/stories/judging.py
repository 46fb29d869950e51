"""Says in what an answer differs from the recorded one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def differences(want: dict[str, Any], got: dict[str, Any]) -> list[str]:
    """Name the parts that differ: code, causes, message, object, warnings."""
    found = [] if got["code"] == want["code"] else ["code"]
    if "reason" in want:
        if got.get("reason") != want.get("reason") or _causes(got) != _causes(want):
            found.append("causes")
        # Several causes come in the order of a Go map, and so do the texts that the message is made of.
        several = len(want.get("causes") or ()) > 1
        if got.get("message") != want.get("message") and not (several and _causes(got) == _causes(want)):
            found.append("message")
    elif any(got.get(part) != want.get(part) for part in ("object", "list", "events")):
        found.append("object")
    if want.get("warnings", []) != got.get("warnings", []):
        found.append("warnings")
    return found


def _causes(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    causes: Iterable[dict[str, str]] = answer.get("causes") or ()
    return sorted((each.get("field", ""), each.get("reason", ""), each.get("message", "")) for each in causes)
