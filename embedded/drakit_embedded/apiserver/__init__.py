"""A Kubernetes API server in Python, for DRA: real HTTP, real watches, and a store that survives being killed.

A request comes in at ``http``: ``identity`` says who asks, ``authorization`` whether they may, ``requests`` what. It
is read by ``wire`` and answered by ``verbs``: reads by ``reading``, writes by ``writing``, under the rules of the
kind in ``registry`` and of the cluster in ``admission``, while ``managedfields`` follows who owns what. State is in
``storage``, which keeps encoded bytes, and behind them an SQLite file. What the server is asked about itself,
``about`` knows; what kubelets are asked, ``kubelets``. Everything between a read and its write runs without an await,
in the event loop or, if it takes long, in a thread while other writes wait for their turn (``storage.turns``).

The specification is kube-apiserver 1.37.1; each module names the file that it follows.
"""

from __future__ import annotations

from drakit_embedded.apiserver.config import ServerConfig
from drakit_embedded.apiserver.kubelets.access import KubeletAccess
from drakit_embedded.apiserver.server import Server, ServerError
from drakit_embedded.apiserver.storage.journal import JournalError

__all__ = ["JournalError", "KubeletAccess", "Server", "ServerConfig", "ServerError"]
