"""Whose write something is, and how far it is to go: what every write is asked for besides its object."""

from __future__ import annotations

from dataclasses import dataclass

from drakit_embedded.apiserver.identity.users import LOOPBACK, User
from drakit_embedded.apiserver.managedfields.updates import Writer


@dataclass(frozen=True, slots=True)
class Intent:
    """The default is the server's own: it may do everything, and its fields are nobody's."""

    user: User = LOOPBACK
    # Who comes to own what is changed; None if the change has seen to that itself.
    writer: Writer | None = None
    # What authorizers call an update.
    verb: str = "update"
    # Everything is asked, and nothing stored.
    dry_run: bool = False
    # For what an admitted request of another sort (a Binding, say) makes of an object.
    admitted: bool = False


OWN = Intent()
