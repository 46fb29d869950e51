"""Whose write something is, and how far it is to go: what every write is asked for besides its object."""

from __future__ import annotations

from dataclasses import dataclass

from drakit_embedded.apiserver.identity.users import LOOPBACK, User
from drakit_embedded.apiserver.managedfields.updates import Writer


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


OWN = Intent()
