"""The connections of one port: how many there may be, and who gives way to whom.

A connection is a stranger's until a request has shown who asks. Where there is no place left, the stranger who has been
there longest gives way: whoever connects and says nothing cannot keep out those who have a credential to show, and
those who have shown one keep their places.
"""

from __future__ import annotations

import contextlib
import socket

# Places always kept for unauthenticated connections, as every connection begins so.
_RESERVED = 16


class Places:
    """The at most ``most`` connections of a port, by their sockets."""

    def __init__(self, most: int) -> None:
        self.most = self._most_ever = most
        # In the order of arrival.
        self._strangers: dict[socket.socket, None] = {}
        self._known: set[socket.socket] = set()

    def __len__(self) -> int:
        return len(self._strangers) + len(self._known)

    @property
    def full(self) -> bool:
        """Whether a connection has to be closed before another one can come."""
        return len(self) >= self.most

    def take(self, connection: socket.socket) -> None:
        """Take a place for a connection that is not authenticated yet."""
        self._strangers[connection] = None

    def keep(self, connection: socket.socket) -> None:
        """Mark a connection as authenticated, so that it is not closed to make room."""
        if connection in self._strangers:
            del self._strangers[connection]
            self._known.add(connection)

    def leave(self, connection: socket.socket) -> None:
        """Release a place; one that had been given up for lack of descriptors comes back with it."""
        if self._forget(connection):
            self.most = min(self.most + 1, self._most_ever)

    def shrink(self) -> None:
        """Reduce the places, as there are fewer descriptors, until connections have ended by themselves."""
        fewer = min(self.most, len(self)) * 3 // 4
        self.most = min(max(fewer, len(self._known) + _RESERVED), self._most_ever)
        while self.full and self.make_room():
            pass

    def make_room(self) -> bool:
        """Shut the connection of the stranger who came first; False if there is no stranger.

        Its place is free at once; whoever reads from the socket finds its end, and closes it.
        """
        if not self._strangers:
            return False
        oldest = next(iter(self._strangers))
        self._forget(oldest)
        with contextlib.suppress(OSError):  # it may be closed already
            oldest.shutdown(socket.SHUT_RDWR)
        return True

    def _forget(self, connection: socket.socket) -> bool:
        """Check whether a connection had a place until now."""
        had_one = connection in self
        self._strangers.pop(connection, None)
        self._known.discard(connection)
        return had_one

    def __contains__(self, connection: socket.socket) -> bool:
        return connection in self._strangers or connection in self._known
