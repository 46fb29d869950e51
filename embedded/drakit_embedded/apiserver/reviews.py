"""Questions that are answered and not stored: who am I, may I.

There is one identity, the holder of the token, and it may do everything; these exist because real clients ask.
"""

from __future__ import annotations

import secrets

from drakit_embedded.apiserver import metadata, podverbs
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.call import Call
from drakit_embedded.apiserver.catalog import Served
from drakit_embedded.apiserver.statuses import Object
from drakit_embedded.apiserver.store import Record

USER: Object = {"username": "drakit-admin", "groups": ["system:masters", "system:authenticated"]}
_TOKEN_SECONDS = 3600


async def review(api: Api, served: Served, call: Call) -> Object:
    """The body with its ``status`` filled in; a Binding posted to the old collection is carried out."""
    kind = served.kind
    obj = await call.raw_object(kind.kind)
    if kind.plural == "bindings":
        pods = api.catalog.find("", "v1", "pods")
        meta = obj.get("metadata")
        name = meta.get("name") if isinstance(meta, dict) else None
        if pods is not None:
            podverbs.bind(api, pods, (call.target.namespace or "", str(name)), obj)
        return podverbs.SUCCESS
    status: Object
    if kind.plural == "selfsubjectreviews":
        status = {"userInfo": USER}
    elif kind.plural == "tokenreviews":
        status = {"authenticated": False, "user": {}}
    else:
        status = {"allowed": True}
    spec = obj.get("spec")
    return {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "metadata": {"creationTimestamp": metadata.timestamp()},
        **({"spec": spec} if isinstance(spec, dict) else {}),
        "status": status,
    }


def token_request(account: Record, obj: Object) -> Object:
    """A token for a service account: random, and of no use here, since only the server's own token is accepted."""
    spec = obj.get("spec")
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": account.key[1], "namespace": account.key[0]},
        "spec": spec if isinstance(spec, dict) else {},
        "status": {"token": secrets.token_urlsafe(32), "expirationTimestamp": metadata.timestamp(_TOKEN_SECONDS)},
    }
