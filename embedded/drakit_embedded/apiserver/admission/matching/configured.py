"""The objects that configure webhooks and policies, compiled when they change, and by the resource that they are for.

Upstream, an informer hands the new configuration over some moments after the write; here it is in force at once
(k8s.io/apiserver/pkg/admission/configuration, plugin/policy/generic/policy_source.go).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission.attributes import GuardedCluster
from drakit_embedded.apiserver.admission.matching.criteria import Criteria
from drakit_embedded.apiserver.admission.matching.rules import is_exempt
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.storage.store import Collection, Key, Record


class Constrained(Protocol):
    """What is for some writes only."""

    @property
    def criteria(self) -> Criteria:
        """Which writes it is for."""


T = TypeVar("T", bound=Constrained)


class Configured(Generic[T]):
    """What the objects of one collection configure, in the order of their names; each is compiled once."""

    def __init__(
        self,
        collection: Collection,
        compiled: Callable[[Object], Sequence[T]],
        exempt: Callable[[Kind], bool] = is_exempt,
    ) -> None:
        """Follow a collection; ``compiled`` makes what one object configures (a webhook configuration: its hooks).

        ``exempt`` tells which kinds have no part in it.
        """
        self._collection, self._compile, self._is_exempt = collection, compiled, exempt
        self._known: dict[Key, tuple[Record, Sequence[T]]] = {}
        self._all: tuple[T, ...] = ()
        self._of_resource: dict[tuple[str, str], tuple[T, ...]] = {}
        self._stale = True
        collection.subscribe(self._changed)

    def _changed(self, _: int) -> None:
        self._stale = True

    def all(self) -> tuple[T, ...]:
        """List everything that is configured."""
        if self._stale:
            self._read()
        return self._all

    def of(self, kind: Kind, cluster: GuardedCluster) -> tuple[T, ...]:
        """List what may be for a write of a kind: to be asked with its criteria, in order."""
        if not self.all():
            return ()
        resource = kind.group, kind.plural
        found = self._of_resource.get(resource)
        if found is None:
            found = self._of_resource[resource] = self._found(kind, cluster)
        return found

    def _found(self, kind: Kind, cluster: GuardedCluster) -> tuple[T, ...]:
        if self._is_exempt(kind):
            return ()
        named = [(other.group, other.plural) for other in (kind, *cluster.equivalents(kind))]
        return tuple(entry for entry in self._all if entry.criteria.may_match(named))

    def _read(self) -> None:
        """Compile what has changed, and keep the rest."""
        known = {}
        for record in self._collection.select(None):
            before = self._known.get(record.key)
            unchanged = before is not None and before[0] is record
            known[record.key] = before if before and unchanged else (record, self._compile(record.object()))
        self._known, self._of_resource = known, {}
        self._all = tuple(entry for _, entries in known.values() for entry in entries)
        self._stale = False
