"""What admission is told of a write (k8s.io/apiserver/pkg/admission/attributes.go), and what it may ask the server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_embedded.apiserver.identity.users import User
from drakit_embedded.apiserver.registry.strategy import WritableCluster
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import StatusError, forbidden

if TYPE_CHECKING:
    from drakit_embedded.apiserver.authorization.authorizer import Authorizer
    from drakit_embedded.apiserver.outgoing.clients import Clients
    from drakit_embedded.apiserver.storage.store import Record

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
_UNKNOWN = "Unknown"
_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


class GuardedCluster(WritableCluster, Protocol):
    """The cluster as plugins see it: objects, gates and the store, and the authorizer."""

    @property
    def authorizer(self) -> Authorizer:
        """The authorizer that decides whether a user may do something."""

    @property
    def outgoing(self) -> Clients:
        """The connections to other programs."""

    def equivalents(self, kind: Kind) -> Sequence[Kind]:
        """List the other kinds in which the objects of a kind are served: its versions, and Events in two groups."""

    def read(self, record: Record, kind: Kind) -> Object:
        """Decode a stored object as clients of ``kind`` read it, without ``kind`` and ``apiVersion``.

        Raises:
            UnreadableError: if it cannot be converted.
        """

    def shown(self, obj: Object, kind: Kind, wanted: Kind) -> Object:
        """Convert an object of a write to ``kind``, as admission has it, into what clients of ``wanted`` read.

        Neither has ``kind`` and ``apiVersion``. The object may be changed.
        """

    def kind_named(self, group: str, version: str, name: str) -> Kind | None:
        """Find a kind that is served, by its name."""

    def taken(self, obj: Object, kind: Kind, given: Kind, *, strict: bool) -> Object:
        """Read an object as clients of ``given`` send it, and convert it back for a write to ``kind``.

        Unknown fields go; with ``strict``, those of kinds with Go types are an error.

        Raises:
            StatusError: if its fields are not of the types that ``given`` has.
        """

    def default(self, obj: Object, kind: Kind, subresource: str) -> None:
        """Set the defaults of a kind in an object of a write to it, if that is a whole object of it."""


def untold(warning: str) -> None:
    """Drop a warning: nobody sent the request."""


@dataclass(slots=True)
class Attributes:
    """One write.

    ``object`` is None for a delete and ``old`` for a create; mutating plugins may change ``object``, nobody ``old``.
    ``name`` is empty where only ``generateName`` is given. Objects are in the form of the storage version; those of
    subresources (Binding, Eviction, TokenRequest) as they came.
    """

    user: User
    operation: Operation
    kind: Kind
    namespace: str
    name: str
    object: Object | None = None
    old: Object | None = None
    subresource: str = ""
    dry_run: bool = False
    # The verb that authorizers check, where it differs from the operation: an UPDATE may be a ``patch``.
    verb: str = ""
    # The name in the path of an update that creates the object; authorizers check it.
    instead: str = ""
    # The fields of its options (``fieldManager``, say), as the client gave them.
    options: ReadOnlyObject = field(default_factory=dict)
    # Tells the client something that does not keep the write from being made.
    warn: Callable[[str], None] = untold
    # Whether a webhook or a policy has changed the object, so that the others may want to see it once more.
    changed: bool = False
    # Which run of the mutating chain it is: 0, or 1 after such a change.
    round: int = 0
    # What plugins remember from the first run of the chain to the second, by their names.
    contexts: dict[str, Any] = field(default_factory=dict)
    # Called with the write, once nothing can refuse it any more.
    effects: list[Callable[[], None]] = field(default_factory=list)

    @property
    def resource(self) -> tuple[str, str]:
        """Group and plural."""
        return self.kind.group, self.kind.plural

    @property
    def request_namespace(self) -> str:
        """The namespace of the request, which for a Namespace is its own name (endpoints/request/requestinfo.go)."""
        return self.name if self.resource == ("", "namespaces") else self.namespace

    @property
    def operation_options(self) -> Object | None:
        """The options as an object of their kind; a CONNECT has none."""
        kind = _OPTIONS.get(self.operation)
        return {"kind": kind, "apiVersion": "meta.k8s.io/v1", **self.options} if kind is not None else None

    def replace(self, changed: Object) -> None:
        """Put what a webhook or a policy made of the object in its place; whoever holds the object sees it."""
        assert self.object is not None
        self.object.clear()
        self.object.update(changed)
        self.changed = True

    def refused(self, why: str) -> StatusError:
        """Build the 403 of an admission plugin (k8s.io/apiserver/pkg/admission/errors.go)."""
        meta = (self.object or {}).get("metadata") or {}
        name = self.name or meta.get("name") or meta.get("generateName") or _UNKNOWN
        return forbidden(self.kind.plural, self.kind.group, name, why)

    def commit(self) -> None:
        """Carry out what plugins do with an admitted write (charging quotas)."""
        for effect in self.effects:
            effect()
