"""Whose write something is, and how far it is to go: what every write is asked for besides its object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_embedded.apiserver.admission.attributes import Attributes, Operation, untold
from drakit_embedded.apiserver.identity.users import LOOPBACK, User
from drakit_embedded.apiserver.managedfields.updates import Writer
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.storage.store import Key


@dataclass(frozen=True, slots=True)
class Intent:
    """Who writes, and how far the write goes. The default is the server itself, which may do everything."""

    user: User = LOOPBACK
    # The field manager of the changes; None if the change sets ``managedFields`` itself.
    writer: Writer | None = None
    # The verb that authorizers check, for an update.
    verb: str = "update"
    # Run all checks, but store nothing.
    dry_run: bool = False
    # For the change of an object by an admitted request of another kind (a Binding).
    admitted: bool = False
    # The fields of the request's options, for admission.
    options: ReadOnlyObject = field(default_factory=dict)
    # Tells the client what admission warns of.
    warn: Callable[[str], None] = untold

    def attributes(
        self,
        operation: Operation,
        kind: Kind,
        key: Key,
        new: Object | None = None,
        old: Object | None = None,
        subresource: str = "",
        *,
        instead: str = "",
    ) -> Attributes:
        """Build what admission is told of the write."""
        return Attributes(
            self.user,
            operation,
            kind,
            *key,
            new,
            old,
            subresource,
            self.dry_run,
            verb=self.verb if operation == "UPDATE" else "",
            instead=instead,
            options=self.options,
            warn=self.warn,
        )


OWN = Intent()
