"""What is wrong with the changes in a data file: found while they are read, and told all at once.

A flipped bit in a row is still a row to SQLite, and of a write-ahead log it reads what comes before the first frame
that is damaged, without a word. A server that went on would give its clients objects that nobody wrote, or take back
what it has acknowledged: devices of a claim that is gone would be given out again. So a start is refused, as etcd's is.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_SHOWN = 5
# The version of a store before the first write.
_BEFORE_ALL = 1


class Row(NamedTuple):
    """A row of ``changes``; a damaged one can have values of any type."""

    version: int
    kind: Any
    namespace: Any
    name: Any
    deleted: Any
    body: Any
    checksum: Any

    @property
    def key(self) -> tuple[Any, Any, Any]:
        """Kind, namespace and name of the object that the row is of."""
        return self.kind, self.namespace, self.name

    def __str__(self) -> str:
        place = "/".join(str(part) for part in (self.namespace, self.name) if part)
        return f"{self.kind} {place} (change {self.version})".encode(errors="backslashreplace").decode()


def checksum(version: int, kind: str, namespace: str, name: str, deleted: int, body: bytes) -> int:
    """Compute the CRC-32 of a change, with all that says which object it is of."""
    return zlib.crc32(body, zlib.crc32(f"{version} {kind} {namespace} {name} {int(deleted)}".encode()))


def is_whole(row: Row) -> bool:
    """Check whether a row is what was written."""
    try:
        return bool(checksum(*row[:-1]) == row.checksum)
    except (TypeError, ValueError):  # bytes in place of text, or malformed text
        return False


@dataclass
class Damage:
    """What is found wrong with a data file. ``counted`` is the version up to which there must be ``expected`` rows.

    Later versions follow one another without a gap, up to ``marked``, the highest that a client was told of (0 if that
    is not known).
    """

    counted: int = 0
    expected: int = 0
    marked: int = 0
    rows: int = 0
    last: int = 0
    damaged: list[Row] = field(default_factory=list)
    missing: int = 0
    _early: int = 0

    def see(self, row: Row) -> bool:
        """Check the next row, in order of versions, and record damage; True if it is intact."""
        self.rows += 1
        if row.version <= self.counted:
            self._early += 1
        else:
            self.missing += row.version - max(self.last, self.counted, _BEFORE_ALL) - 1
        self.last = row.version
        whole = is_whole(row)
        if not whole:
            self.damaged.append(row)
        return whole

    @property
    def lost(self) -> int:
        """How many of the newest changes, which clients were told of, are not in the file."""
        return max(0, self.marked - max(self.last, self.counted))

    def __str__(self) -> str:
        found = []
        if self.damaged:
            shown = ", ".join(map(str, self.damaged[:_SHOWN]))
            more = f" and {len(self.damaged) - _SHOWN} more" if len(self.damaged) > _SHOWN else ""
            found.append(f"{len(self.damaged)} of {self.rows} changes are damaged: {shown}{more}")
        if missing := self.missing + max(0, self.expected - self._early):
            found.append(f"{missing} older changes are missing")
        if self.lost:
            found.append(
                f"the newest {self.lost} changes, which clients were told of, are missing "
                f"(there are {max(self.last, self.counted)} of {self.marked})"
            )
        return "; ".join(found)
