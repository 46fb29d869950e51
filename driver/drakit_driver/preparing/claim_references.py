"""What the kubelet says of a claim: namespace, name and UID, which become part of URLs and of file names.

Whoever can write to the plugin's socket can send any text, so a reference is checked before anything is done with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from drakit_api import formats

_UID = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,126}[A-Za-z0-9])?")
UID_RULE = "must consist of letters, digits and inner dashes, and be no longer than 128 characters"
_SHOWN = 60


class ClaimReference(NamedTuple):
    """All that the kubelet tells about a claim."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        """Print ``namespace/name`` on one short line, whatever was sent."""
        text = f"{self.namespace}/{self.name}"
        return text if self.problem() is None else shown(text)

    def problem(self) -> str | None:
        """Say why there cannot be such a claim; None if there can."""
        if wrong := formats.dns_label(self.namespace):
            return f"claim namespace {shown(self.namespace)}: {wrong[0]}"
        if wrong := formats.dns_subdomain(self.name):
            return f"claim name {shown(self.name)}: {wrong[0]}"
        return None if is_uid(self.uid) else f"claim UID {shown(self.uid)} {UID_RULE}"


def is_uid(text: str) -> bool:
    """Tell whether a claim's UID can be part of a file name."""
    return _UID.fullmatch(text) is not None


def contradictory(references: Iterable[ClaimReference]) -> set[str]:
    """Return the UIDs under which one call means different claims."""
    meant: dict[str, ClaimReference] = {}
    return {each.uid for each in references if meant.setdefault(each.uid, each) != each}


def shown(text: str) -> str:
    """Quote a text of unknown origin for a message: printable, and not long."""
    return repr(text) if len(text) <= _SHOWN else repr(text[:_SHOWN]) + "..."
