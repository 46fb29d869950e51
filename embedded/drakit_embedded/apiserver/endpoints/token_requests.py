"""TokenRequest: a token for a service account, bound to a pod, node or secret if it is asked for.

After k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage/token.go and pkg/apis/authentication/validation.
"""

from __future__ import annotations

import time

import msgspec

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.identity.account_tokens import ISSUER
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.scheme import metadata
from drakit_embedded.apiserver.statuses import Cause
from drakit_embedded.apiserver.storage.store import Record
from drakit_embedded.apiserver.wire import bodies
from drakit_embedded.apiserver.writing.intent import Intent

_SECONDS = 3600
_LEAST_SECONDS = 600
_MOST_SECONDS = 1 << 32
_GROUP = "authentication.k8s.io"


class _Reference(msgspec.Struct, omit_defaults=True):
    kind: str = ""
    apiVersion: str = ""
    name: str = ""
    uid: str = ""


class _Spec(msgspec.Struct):
    audiences: list[str] | None = None
    expirationSeconds: int | None = None
    boundObjectRef: _Reference | None = None


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class _Shape(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)


def answer(api: Api, served: Served, account: Record, obj: Object, intent: Intent) -> Object:
    """Issue a token and answer the request with ``status.token``.

    Raises:
        StatusError: 400, 404 or 409 for an object that the token cannot be bound to; 409 for another account's UID;
            422 for a name or lifetime that is not valid; and what admission refuses.
    """
    wanted = bodies.shaped(obj, _Shape, "TokenRequest")
    namespace, name = account.key
    statuses.check_namespace(wanted.metadata.namespace, namespace)
    request = intent.attributes("CREATE", served.kind, account.key, obj, subresource="token")
    api.admission.admit(request, api)
    wanted = bodies.shaped(obj, _Shape, "TokenRequest")
    _check_metadata(wanted.metadata, account)
    spec = wanted.spec
    seconds = _SECONDS if spec.expirationSeconds is None else spec.expirationSeconds
    audiences = spec.audiences or [ISSUER]
    _check_lifetime(seconds)
    api.admission.validate(request, api)
    bound = _bound(api, spec.boundObjectRef, namespace, name) if spec.boundObjectRef else {}
    made = {"name": name, "namespace": namespace, "uid": account.uid, "creationTimestamp": metadata.timestamp()}
    shown = {"audiences": audiences, "expirationSeconds": seconds}
    return {
        "kind": "TokenRequest",
        "apiVersion": f"{_GROUP}/v1",
        "metadata": {**(obj.get("metadata") or {}), **made},
        "spec": {**shown, "boundObjectRef": msgspec.to_builtins(spec.boundObjectRef)},
        "status": {
            "token": api.authenticator.accounts.issue(account, bound, audiences, seconds),
            "expirationTimestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds)),
        },
    }


def _check_metadata(given: _Metadata, account: Record) -> None:
    name = account.key[1]
    if given.name not in ("", name):
        why = "must match the service account name if specified"
        cause = Cause("FieldValueInvalid", "metadata.name", f"Invalid value: {quote(given.name)}: {why}")
        raise statuses.invalid("TokenRequest", _GROUP, name, [cause])
    if given.uid and given.uid != account.uid:
        why = (
            f"the UID in the token request ({given.uid}) does not match the UID of the service account ({account.uid})"
        )
        raise statuses.conflict("TokenRequest", _GROUP, name, why)


def _check_lifetime(seconds: int) -> None:
    why = ""
    if seconds < _LEAST_SECONDS:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > _MOST_SECONDS:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        fault = Cause("FieldValueInvalid", "spec.expirationSeconds", f"Invalid value: {seconds}: {why}")
        raise statuses.invalid("TokenRequest", _GROUP, "", [fault])


def _bound(api: Api, reference: _Reference, namespace: str, account: str) -> dict[str, Record | str]:
    group, _, version = reference.apiVersion.rpartition("/")
    kind = "" if group else reference.kind
    bound: dict[str, Record | str] = {}
    if kind == "Pod":
        found = bound["pod"] = _find(api, "pods", namespace, reference.name)
        if found.fields.get("spec.serviceAccountName") != account:
            shown = quote(account)
            raise statuses.bad_request(
                f"cannot bind token for serviceaccount {shown} to pod running with different serviceaccount name."
            )
        if node := found.fields.get("spec.nodeName"):
            bound["node"] = api.store.named("nodes").get("", node) or node
    elif kind == "Node":
        found = bound["node"] = _find(api, "nodes", "", reference.name)
    elif kind == "Secret":
        found = bound["secret"] = _find(api, "secrets", namespace, reference.name)
    else:
        raise statuses.bad_request(f"cannot bind token to object of type {group}/{version}, Kind={reference.kind}")
    if reference.uid and reference.uid != found.uid:
        why = (
            f"the UID in the bound object reference ({reference.uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise statuses.conflict(reference.kind, group, reference.name, why)
    return bound


def _find(api: Api, plural: str, namespace: str, name: str) -> Record:
    record = api.store.named(plural).get(namespace, name)
    if record is None:
        raise statuses.not_found(plural, "", name)
    return record
