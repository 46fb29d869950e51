"""Which of its names a definition gets: none that another one of its group has.

k8s.io/apiextensions-apiserver v0.37 pkg/controller/status/naming_controller.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from drakit_api.golang.goerrors import aggregated
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object

_RESOURCES, _KINDS = ("plural", "singular"), ("kind", "listKind")
_REASONS = {
    "plural": "PluralConflict",
    "singular": "SingularConflict",
    "shortNames": "ShortNamesConflict",
    "kind": "KindConflict",
    "listKind": "ListKindConflict",
}


class Taken(NamedTuple):
    """The names that definitions of a group have: of resources, and of kinds."""

    resources: frozenset[str]
    kinds: frozenset[str]

    @staticmethod
    def of(accepted: Iterable[Object]) -> Taken:
        """Collect the names of several ``status.acceptedNames``."""
        resources, kinds = set[str](), set[str]()
        for names in accepted:
            resources.update((*(names.get(field) or "" for field in _RESOURCES), *(names.get("shortNames") or ())))
            kinds.update(names.get(field) or "" for field in _KINDS)
        return Taken(frozenset(resources), frozenset(kinds))


def decided(wanted: Object, accepted: Object, taken: Taken) -> tuple[Object, Object]:
    """Decide on the names that a definition wants; returns its new accepted names, and the condition NamesAccepted."""
    found, conflicts = dict(accepted), dict[str, str]()
    for field in ("plural", "singular", "shortNames", "kind", "listKind"):
        used = taken.kinds if field in _KINDS else taken.resources
        problem = _conflict(field, wanted.get(field), accepted.get(field), used)
        if problem:
            conflicts[_REASONS[field]] = problem
        else:
            _copy(field, wanted, found)
    _copy("categories", wanted, found)
    condition: Object = {"type": "NamesAccepted"}
    if not conflicts:
        return found, {**condition, "status": "True", "reason": "NoConflicts", "message": "no conflicts found"}
    reason, message = list(conflicts.items())[-1]
    return found, {**condition, "status": "False", "reason": reason, "message": message}


def _conflict(field: str, wanted: Any, accepted: Any, used: frozenset[str]) -> str:
    """Say why a name cannot be had; empty if it can."""
    if field != "shortNames":
        return "" if wanted == accepted or wanted not in used else f"{quote(wanted)} is already in use"
    strangers = [name for name in wanted or () if name not in (accepted or ()) and name in used]
    return aggregated(f"{quote(name)} is already in use" for name in strangers) if strangers else ""


def _copy(field: str, wanted: Object, into: Object) -> None:
    if wanted.get(field):
        into[field] = wanted[field]
    else:
        into.pop(field, None)
