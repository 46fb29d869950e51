"""Refuses to store what etcd would not take, in the words of kube-apiserver.

Without a limit, a client can patch an object until no component can read it any more, and that outlives a restart.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from drakit_api.etcd import limits, sizes
from drakit_api.objects import raw_extensions
from drakit_embedded.apiserver.statuses import StatusError

# JSON that is not longer is never too large in protobuf, whatever is in it: `sizes.ceiling` of nothing but `{},`.
_ALWAYS_FITS = 32 * 1024
_decode = msgspec.json.Decoder().decode


class TooLargeError(StatusError):
    """500 without a reason, as kube-apiserver answers to what is no Status of its own."""

    def __init__(self, message: str) -> None:
        super().__init__(500, "", message)


class StoredKind(NamedTuple):
    """The names of a kind, on which the size of its objects in etcd depends, too."""

    plural: str
    kind: str
    api_version: str

    def check(self, namespace: str, name: str, body: bytes, texts: raw_extensions.Texts | None, replaced: int) -> None:
        """Raise ``TooLargeError`` if etcd would not take an object.

        ``body`` is its JSON, ``texts`` those of its embedded objects, ``replaced`` the version that it replaces or 0.
        """
        if len(body) <= _ALWAYS_FITS:
            return
        key = limits.key_of(self.plural, namespace, name)
        if limits.refusal(key, sizes.ceiling(body), replaced) is None:
            return
        obj = _decode(body)
        if texts is not None:
            raw_extensions.restore(obj, texts)
        refusal = limits.refusal(key, sizes.stored(obj, self.api_version, self.kind), replaced)
        if refusal is not None:
            raise TooLargeError(refusal)
