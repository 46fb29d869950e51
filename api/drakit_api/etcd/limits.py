"""How large a write may be for etcd, and what is said of one that is larger.

kube-apiserver has no limit of its own for what it stores. Its client of etcd sends no message over 2 MiB
(``go.etcd.io/etcd/client/v3`` ``options.go``), and etcd takes no request over 1.5 MiB (``--max-request-bytes``,
``server/v3/etcdserver/v3_server.go``). Both measure the transaction that has the object in it, with its key.
"""

from __future__ import annotations

from drakit_api.etcd.sizes import varint

REQUEST_BYTES = 1536 * 1024
MESSAGE_BYTES = 2 * 1024 * 1024
TOO_LARGE = "etcdserver: request is too large"

# Where kinds are kept under another name than their plural (pkg/kubeapiserver/default_storage_factory_builder.go).
_PLACES = {
    "replicationcontrollers": "controllers",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "services": "services/specs",
    "ingresses": "ingress",
}
# Bytes of the ID that etcd gives to a request, which has the server's ID in its upper bytes: 10 of one half of all
# servers, 9 of most others.
_REQUEST_ID = 10


def key_of(plural: str, namespace: str, name: str) -> str:
    """Return the etcd key of an object of a built-in kind; no namespace is the empty string."""
    return "/".join(("/registry", _PLACES.get(plural, plural), *((namespace,) if namespace else ()), name))


def refusal(key: str, value: int, revision: int = 0) -> str | None:
    """Return what an API server answers to a write that is too large; None if it is not.

    ``value`` is the object's size in bytes (``sizes.stored``); ``revision`` is that of the object to be replaced, 0 for
    a new one.
    """
    message = _transaction(len(key.encode()), value, revision)
    if message > MESSAGE_BYTES:
        sent = f"trying to send message larger than max ({message} vs. {MESSAGE_BYTES})"
        return f"rpc error: code = ResourceExhausted desc = {sent}"
    # InternalRaftRequest: a header (field 100) with the number of the request, and the transaction.
    request = 2 + _field(1 + _REQUEST_ID) - 1 + _field(message)
    return TOO_LARGE if request > REQUEST_BYTES else None


def _transaction(key: int, value: int, revision: int) -> int:
    """Size a ``TxnRequest``: if the key has this revision, put the value; else read what is there (of an update).

    ``client/v3/kubernetes/client.go`` ``OptimisticPut``.
    """
    compare = 1 + 1 + _field(key) + 1 + varint(revision)
    put = _field(key) + _field(value)
    total = _field(compare) + _field(_field(put))
    return total + (_field(_field(_field(key))) if revision else 0)


def _field(content: int) -> int:
    return 1 + varint(content) + content
