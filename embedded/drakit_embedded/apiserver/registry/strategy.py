"""What a rule set of a kind consists of.

The steps are those of k8s.io/apiserver/pkg/registry/rest (create.go, update.go, delete.go): defaults, preparation
(which fields a request may set at all), validation. A kind without an entry has no rules and is a plain document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from drakit_api.kubernetes_objects import Object
from drakit_api.validation.metadata import NameFormat, object_name
from drakit_embedded.apiserver.scheme import empties, structures
from drakit_embedded.apiserver.statuses import FieldFault

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates
    from drakit_embedded.apiserver.scheme.kinds import Kind
    from drakit_embedded.apiserver.storage.store import Store


class Cluster(Protocol):
    """The cluster as rules see it: feature gates, and copies of other objects."""

    @property
    def gates(self) -> FeatureGates:
        """Which feature gates are on."""

    def find(self, storage: str, namespace: str, name: str) -> Object | None:
        """Decode a copy of an object of a collection (``deviceclasses.resource.k8s.io``); None if there is none."""

    def every(self, storage: str) -> Iterator[Object]:
        """Decode a copy of each object of a collection."""


class WritableCluster(Cluster, Protocol):
    """The same with the store, for objects that are stored beside another."""

    @property
    def store(self) -> Store:
        """The store, with the objects of all kinds."""

    def own_fields(self, kind: Kind, made: Object) -> None:
        """Make the server the manager of an object that it creates beside another."""


def nothing(obj: Object, cluster: Cluster) -> None:
    """Leave the object as it is."""


def keep(new: Object, old: Object, cluster: Cluster) -> None:
    """Let an update set every field."""


def fine(obj: Object, cluster: Cluster) -> Sequence[FieldFault]:
    """Accept every object."""
    return ()


def fine_update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    """Accept every update."""
    return ()


class Begin(Protocol):
    """Allocates for a new object (an address), before it is prepared; a dry run allocates nothing."""

    def __call__(self, obj: Object, cluster: Cluster, /, *, dry_run: bool) -> None:
        """Enter what was allocated in ``obj``."""


class BeginUpdate(Protocol):
    """Allocates for an object that replaces another one."""

    def __call__(self, new: Object, old: Object, cluster: Cluster, /, *, dry_run: bool) -> None:
        """Enter what was allocated in ``new``, which may keep what ``old`` has."""


class Holding(Protocol):
    """A context around the storing of an object; ``before`` or ``after`` is None if it is created or deleted."""

    def __call__(
        self, before: Object | None, after: Object | None, cluster: WritableCluster, /
    ) -> AbstractContextManager[None]:
        """Store what belongs to the object (an IPAddress) on entry, and undo that if the block raises."""


def no_warnings(obj: Object) -> Sequence[str]:
    """Give no warnings."""
    return ()


def no_warnings_of_change(new: Object, old: Object) -> Sequence[str]:
    """Give no warnings."""
    return ()


Decode = Callable[[Object, "Kind", str, Cluster], "tuple[Object, list[str]]"]
Restore = Callable[[Object, "Kind"], Object]


def decode_by_types(obj: Object, kind: Kind, validation: str, cluster: Cluster) -> tuple[Object, list[str]]:
    """Decode a body by the Go types of its kind, and drop empty fields; also returns warnings."""
    decoded, warnings = structures.decode(obj, kind, validation)
    empties.drop(decoded, *structures.types_of(kind))
    return decoded, warnings


@dataclass(frozen=True, slots=True)
class Part:
    """The rules of a subresource by which a part of an object is written."""

    # Restores all that is no such part.
    prepare: Callable[[Object, Object, Cluster], None]
    validate: Callable[[Object, Object, Cluster], Sequence[FieldFault]]


@dataclass(frozen=True, slots=True)
class Strategy:
    """The rules of one kind; each has a default that does nothing."""

    # Decodes a body by the types of its kind, with ``fieldValidation``; also returns warnings.
    decode: Decode = decode_by_types
    # The same for what an apply has merged, if that is read otherwise.
    decode_applied: Decode | None = None
    # The same for what a webhook or a policy has made of an object, if that gets its form later, by ``settle``.
    decode_changed: Decode | None = None
    settle: Callable[[Object], None] | None = None
    # Gives what was merged, and never written, the numbers that its Go types would have.
    restore: Restore = structures.restored
    # Converts to the order and form in which an object is stored; long parts may be encoded, as ``msgspec.Raw``.
    canonical: Callable[[Object, Cluster], Object] | None = None
    # Whether the validations below check metadata too.
    owns_metadata: bool = False
    # Fields for field selectors besides metadata.name and metadata.namespace, as dotted paths.
    fields: tuple[str, ...] = ()
    # Their values where an object does not have them, if not empty.
    field_zeros: Mapping[str, str] = field(default_factory=dict)
    # Names and paths of all fields, where clients know some by other names than their paths.
    field_names: Mapping[str, str] = field(default_factory=dict)
    name_format: NameFormat = object_name
    # Whether finalizers may have short names that are not Kubernetes' own.
    any_finalizer: bool = False
    # Sets the defaults of the API version, whenever an object comes in.
    default: Callable[[Object, Cluster], None] = nothing
    # Allocates (an address), before the object is prepared (BeginCreate and BeginUpdate in registry/store.go).
    begin_create: Begin | None = None
    begin_update: BeginUpdate | None = None
    # Stores what was allocated around the storing of the object.
    holding: Holding | None = None
    prepare_create: Callable[[Object, Cluster], None] = nothing
    prepare_update: Callable[[Object, Object, Cluster], None] = keep
    validate_create: Callable[[Object, Cluster], Sequence[FieldFault]] = fine
    # Warnings to the client about a valid object that it has created or updated.
    warn_of_create: Callable[[Object], Sequence[str]] = no_warnings
    warn_of_update: Callable[[Object], Sequence[str]] = no_warnings
    # The same where it depends on what the object, given second, was before.
    warn_of_change: Callable[[Object, Object], Sequence[str]] = no_warnings_of_change
    validate_update: Callable[[Object, Object, Cluster], Sequence[FieldFault]] = fine_update
    # The same where a valid spec is unchanged, for kinds with long specs; without it, everything is validated.
    validate_same_spec: Callable[[Object, Object], Sequence[FieldFault]] | None = None
    prepare_status: Callable[[Object, Object, Cluster], None] = keep
    validate_status: Callable[[Object, Object, Cluster], Sequence[FieldFault]] = fine_update
    # The same for the subresource ``approval``.
    prepare_approval: Callable[[Object, Object, Cluster], None] = keep
    validate_approval: Callable[[Object, Object, Cluster], Sequence[FieldFault]] = fine_update
    # Other subresources that write a part of the object, by name.
    parts: Mapping[str, Part] = field(default_factory=dict)
    # Whether metadata.generation counts changes, and of which parts.
    generation: bool = False
    counted: tuple[str, ...] = ("spec",)
    # Nodes register with their status; all other kinds with a status subresource start without.
    status_on_create: bool = False
    create_on_update: bool = False
    unconditional_update: bool = True
    # Computes the grace period in seconds from the one that DELETE asks for (or None); 0 deletes at once.
    grace: Callable[[Object, int | None], int] | None = None
    # Marks an object at the first request to delete it, in place of what is done to other kinds: it always has to wait.
    begin_deletion: Callable[[Object], None] | None = None
    # Called on an object whose deletion has begun but has to wait.
    on_deletion: Callable[[Object], None] | None = None
    # Namespaces have finalizers of their own beside those in metadata.
    finalizers_in_spec: bool = False
    # Whether DELETE answers with the object rather than with a Status.
    returns_deleted: bool = False
