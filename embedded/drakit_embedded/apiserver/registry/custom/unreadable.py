"""Custom resources that cannot be converted: what is said of it depends on what was to be done.

``corruptObjectError`` of k8s.io/apiserver/pkg/storage/etcd3/corrupt_obj_deleter.go, and who meets it: reads of one
object (pkg/storage/errors.go, InterpretGetError), lists, and writes, which pass it on.
"""

from __future__ import annotations

from collections.abc import Sequence

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import StatusError, internal, qualified
from drakit_embedded.apiserver.storage.store import Record

# maxCorruptObjErrsToAggregate
MOST = 100
_TRUNCATED = {"reason": "FieldValueTooMany", "message": "too many errors, the list is truncated"}


class ConversionError(StatusError):
    """A conversion that failed; the message says why. A write that meets it ends with it."""

    def __init__(self, why: str) -> None:
        super().__init__(500, "", why)


class UnreadableError(StatusError):
    """A stored object that cannot be converted to the version in which it is to be read, as writes say it."""

    def __init__(self, kind: Kind, record: Record, why: str) -> None:
        super().__init__(500, "", f"object not decodable revision={record.version}: {why}")
        self.kind, self.record = kind, record

    def of_read(self) -> StatusError:
        """Build the error of a read or delete of the object."""
        return internal(self._corrupt(""))

    def _corrupt(self, prefix: str) -> str:
        return f"StorageError: corrupt object, Code: 7, Key: {self._key(prefix)}, ResourceVersion: 0, " + (
            f"AdditionalErrorMsg: {self.message}"
        )

    def _key(self, prefix: str) -> str:
        return "/".join((prefix, self.kind.stored_under, *(part for part in self.record.key if part)))

    def cause(self) -> Object:
        """Build the cause that the object is for the error of a list."""
        key = "/registry"
        return {"reason": "UnexpectedServerResponse", "message": self._corrupt(key), "field": self._key(key)}


def of_list(errors: Sequence[UnreadableError]) -> StatusError:
    """Build the error of a list in which some objects cannot be read (``aggregatedStorageError``)."""
    kind, causes = errors[0].kind, [error.cause() for error in errors[:MOST]]
    message = (
        f"failed to read one or more {qualified(kind.plural, kind.group)} from the storage: {causes[0]['message']}"
    )
    if len(causes) > 1:
        message += f" (and {len(causes) - 1} more)"
    if len(errors) >= MOST:
        causes.append(_TRUNCATED)
    details = {"name": "list", "group": kind.group, "kind": kind.plural, "causes": causes}
    return StatusError(500, "StorageReadError", message, details)
