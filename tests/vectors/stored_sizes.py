"""Objects of every kind, and how many bytes kube-apiserver 1.37.1 stores in etcd for each.

A line of ``api/stored-sizes`` has the ``name`` of a line of ``api/defaults``, the ``object`` that the server answered
when it was created, and the ``bytes`` of the value that it put into etcd.
"""

from __future__ import annotations

from tests.vectors import defaulted, recordings
from tests.vectors.recordings import Vector

FILE = "stored-sizes"
# Of each kind, the least object and these.
_GROWN = ("grown 1", "grown 2", "grown 3")


def recorded() -> tuple[Vector, ...]:
    """All lines."""
    return recordings.recorded(f"api/{FILE}")


def asked() -> list[Vector]:
    """The lines of ``api/defaults`` that are measured."""
    return [vector for vector in defaulted.recorded() if vector["name"].partition(": ")[2] in ("the least", *_GROWN)]
