"""A Kubernetes API server in Python, for DRA: real HTTP, real watches, and a store that survives being killed.

A request comes in at ``http`` (authentication, routing), is read by ``requests`` and ``bodies``, and answered by
``verbs``: reads by ``lists`` and ``watching``, writes by ``writes``, ``deletes`` and ``patches`` under the rules of the
kind in ``registry`` and of the cluster in ``admission``. Who asks is ``identity``'s business, what they may do
``authorization``'s. State is in ``store``, which keeps encoded bytes, and behind it in ``journal``, an SQLite file.
Everything between a read and its write runs in one event loop without an await, which is why there are no locks.

The specification is kube-apiserver 1.37.1; each module names the file that it follows.
"""

from __future__ import annotations

from drakit_embedded.apiserver.config import ServerConfig
from drakit_embedded.apiserver.journal import JournalError
from drakit_embedded.apiserver.server import Server, ServerError

__all__ = ["JournalError", "Server", "ServerConfig", "ServerError"]
