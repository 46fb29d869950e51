"""A Kubernetes API server in Python, for DRA: real HTTP, real watches, and a store that survives being killed.

A request comes in at ``endpoints``: ``requests`` reads what it is for, ``identity`` says who asks, ``authorization``
whether they may. Its body is read by ``wire``, by the types of its kind in ``scheme``. What is read is found by
``reading``, what is written goes through ``writing``, under the rules of the cluster in ``admission`` and of the kind
in ``registry``, while ``managedfields`` follows who owns what. State is in ``storage``, which keeps encoded bytes, and
behind them an SQLite file. What the server is asked about itself, ``about`` knows. Errors of all of them are made in
``statuses``.

``server`` puts one server together (``config`` says how): the state that requests share is an ``api.Api``; lower rooms
say in a Protocol what they need of it. ``kubelet_access`` has what both sides show when logs are fetched from a
kubelet, ``own_service`` keeps the Service ``kubernetes``.

Everything between a read and its write runs without an await, in the event loop or, if it takes long, in a thread
while other writes wait for their turn (``storage.turns``).

The specification is kube-apiserver 1.37.1; each module names the file that it follows.
"""

from __future__ import annotations

from drakit_embedded.apiserver.config import ServerConfig
from drakit_embedded.apiserver.kubelet_access import KubeletAccess
from drakit_embedded.apiserver.server import Server, ServerError
from drakit_embedded.apiserver.storage.journal import JournalError

__all__ = ["JournalError", "KubeletAccess", "Server", "ServerConfig", "ServerError"]
