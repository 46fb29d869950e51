"""Questions that are answered and not stored: who am I, may I.

There is one identity, the holder of the token, and it may do everything; these exist because real clients ask.
"""

from __future__ import annotations

import secrets

from drakit_embedded.apiserver import metadata, podverbs, statuses
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.call import Call
from drakit_embedded.apiserver.catalog import Served
from drakit_embedded.apiserver.statuses import Object
from drakit_embedded.apiserver.store import Record

USER: Object = {"username": "drakit-admin", "groups": ["system:masters", "system:authenticated"]}
_TOKEN_SECONDS = 3600
_LEAST_SECONDS = 600
_AUDIENCE = "https://kubernetes.default.svc"
# The rules of every user and of system:masters, as the default roles have them (k8s.io/kubernetes/plugin/pkg/auth/
# authorizer/rbac/bootstrappolicy/policy.go).
_RULES: list[Object] = [
    {
        "verbs": ["create"],
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    },
    {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
]
_HEALTH_PATHS = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_DISCOVERY_PATHS = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"]
_PATH_RULES: list[Object] = [
    {"verbs": ["get"], "nonResourceURLs": paths} for paths in (_HEALTH_PATHS, sorted(_DISCOVERY_PATHS + _HEALTH_PATHS))
] + [{"verbs": ["*"], "nonResourceURLs": ["*"]}]


async def review(api: Api, served: Served, call: Call) -> Object:
    """The body with its ``status`` filled in; a Binding posted to the old collection is carried out."""
    kind = served.kind
    obj = await call.raw_object(kind.kind)
    if kind.plural == "bindings":
        pods = api.catalog.find("", "v1", "pods")
        meta = obj.get("metadata")
        name = meta.get("name") if isinstance(meta, dict) else None
        if pods is not None:
            podverbs.bind(api, pods, (call.target.namespace or "", str(name)), obj, user=call.user)
        return podverbs.SUCCESS
    status: Object
    if kind.plural == "selfsubjectreviews":
        status = {"userInfo": USER}
    elif kind.plural == "tokenreviews":
        status = {"authenticated": False, "user": {}}
    elif kind.plural == "selfsubjectrulesreviews":
        status = {"resourceRules": _RULES, "nonResourceRules": _PATH_RULES, "incomplete": False}
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
    given = obj.get("spec")
    spec: Object = {**given} if isinstance(given, dict) else {}
    seconds = spec.get("expirationSeconds")
    spec["expirationSeconds"] = _TOKEN_SECONDS if seconds is None else seconds
    spec["audiences"] = spec.get("audiences") or [_AUDIENCE]
    spec.setdefault("boundObjectRef", None)
    if not isinstance(seconds, int | None) or (seconds is not None and seconds < _LEAST_SECONDS):
        message = f"Invalid value: {seconds}: may not specify a duration less than 10 minutes"
        fault = statuses.Cause("FieldValueInvalid", "spec.expirationSeconds", message)
        raise statuses.invalid("TokenRequest", "authentication.k8s.io", "", [fault])
    meta = {"namespace": account.key[0], "name": account.key[1], "uid": account.uid}
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {**meta, "creationTimestamp": metadata.timestamp()},
        "spec": spec,
        "status": {
            "token": secrets.token_urlsafe(32),
            "expirationTimestamp": metadata.timestamp(spec["expirationSeconds"]),
        },
    }
