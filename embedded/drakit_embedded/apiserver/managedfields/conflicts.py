"""What applying would take from other managers, and how that is told.

k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from drakit_embedded.apiserver.managedfields import elements, entries, fieldsets
from drakit_embedded.apiserver.managedfields.entries import Entry, Identity
from drakit_embedded.apiserver.managedfields.fieldsets import Path, Tree
from drakit_embedded.apiserver.managedfields.versions import Comparisons, UnknownVersion
from drakit_embedded.apiserver.statuses import StatusError

Conflicts = dict[Identity, Tree]


def found(current: Iterable[Entry], but: Identity, differences: Comparisons) -> Conflicts:
    """Find the changed fields that managers other than ``but`` own, by manager in the order of messages."""
    fought: Conflicts = {}
    for entry in current:
        who = entries.identity(entry)
        if who == but:
            continue
        try:
            theirs = fieldsets.intersection(entry["fieldsV1"], differences.of(entry["apiVersion"]).changed)
        except UnknownVersion:
            continue
        if theirs:
            fought[who] = theirs
    return {who: fought[who] for who in sorted(fought, key=entries.name)}


def refusal(conflicts: Conflicts) -> StatusError:
    """Build the 409 with all conflicts as causes."""
    listed = [(who, _shown(path)) for who, fields in conflicts.items() for path in fieldsets.paths(fields)]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": path} for who, path in listed
    ]
    if len(listed) == 1:
        message = f"Apply failed with 1 conflict: conflict with {listed[0][0]}: {listed[0][1]}"
    else:
        lines = []
        for who in conflicts:
            lines += [f"conflicts with {who}:", *(f"- {path}" for other, path in listed if other == who)]
        message = f"Apply failed with {len(listed)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", message, {"causes": causes})


def _shown(path: Path) -> str:
    return "".join(map(elements.shown, path))
