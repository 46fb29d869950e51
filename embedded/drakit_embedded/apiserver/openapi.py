"""OpenAPI documents, as far as kubectl needs them: to write, and to ``explain``.

Before it writes, kubectl looks for one thing: whether a kind's PATCH takes ``fieldValidation``, in which case it leaves
validation to the server. So each document lists the paths with that parameter
(k8s.io/kubectl/pkg/.../query_param_verifier_v3.go, k8s.io/cli-runtime/pkg/resource). Version 3 has the schemas of all
kinds: names and types of fields, and how kubectl merges them when it makes a patch; descriptions are Kubernetes' own
and not repeated here.
"""

from __future__ import annotations

import hashlib

import msgspec
from aiohttp import web

from drakit_embedded.apiserver import discovery, openapi_schemas, statuses
from drakit_embedded.apiserver.catalog import Catalog, Served
from drakit_embedded.apiserver.statuses import Object

_encode = msgspec.json.Encoder().encode
# Part of each document's hash, by which kubectl keeps it: to be changed when the schemas of the same paths change.
_SCHEMAS = b"of all kinds"
_INFO = {"title": "Kubernetes", "version": "unversioned"}
_JSON = {"Content-Type": "application/json"}
_QUERY = ("dryRun", "fieldManager", "fieldValidation", "force", "pretty")
_PATCH_TYPES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
# kubectl reads version 2 as protobuf where version 3 does not have a kind: for a List, or a kind that is not served.
# In a document without paths it finds nothing to hold against either. (gnostic openapiv2 Document: swagger, info)
_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_NOTHING = b"\x0a\x032.0\x12\x19\x0a\x0aKubernetes\x12\x0bunversioned"


class Documents:
    """``/openapi/v2``, ``/openapi/v3`` and ``/openapi/v3/PATH``."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def answer(self, request: web.BaseRequest, segments: list[str], hash: str) -> web.StreamResponse | None:
        """The document below ``/openapi``, or None if there is none."""
        catalog = self._catalog
        match segments:
            case ["v2"]:
                accept = request.headers.get("Accept", "")
                if _PROTOBUF in accept.replace("@", "."):
                    return web.Response(body=_NOTHING, headers={"Content-Type": _PROTOBUF})
                if accept and not any(form in accept for form in ("application/json", "*/*", "application/*")):
                    raise statuses.not_acceptable(["application/json"])
                return web.Response(body=_encode(_swagger(catalog)), headers=_JSON)
            case ["v3"]:
                return web.Response(body=_encode(_index(catalog)), headers=_JSON)
            case ["v3", "api", version]:
                return _document(catalog, "", version)
            case ["v3", "apis", group, version]:
                return _document(catalog, group, version)
        return None


def _versions(catalog: Catalog) -> list[tuple[str, str]]:
    return [("", "v1"), *((group, version) for group, found in catalog.groups().items() for version in found)]


def _root(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _index(catalog: Catalog) -> Object:
    paths: Object = {}
    for group, version in _versions(catalog):
        content = _encode(_paths(catalog, group, version, v3=True))
        digest = hashlib.sha256(_SCHEMAS + content).hexdigest()[:32].upper()
        root = _root(group, version)
        paths[root] = {"serverRelativeURL": f"/openapi/v3/{root}?hash={digest}"}
    return {"paths": paths}


def _document(catalog: Catalog, group: str, version: str) -> web.StreamResponse:
    paths = _paths(catalog, group, version, v3=True)
    if not paths:
        raise statuses.unknown_resource()
    schemas = openapi_schemas.of(served.kind for served in catalog.in_version(group, version))
    document = {"openapi": "3.0.0", "info": _INFO, "paths": paths, "components": {"schemas": schemas}}
    return web.Response(body=_encode(document), headers=_JSON)


def _swagger(catalog: Catalog) -> Object:
    paths: Object = {}
    for group, version in _versions(catalog):
        paths |= _paths(catalog, group, version, v3=False)
    return {"swagger": "2.0", "info": _INFO, "paths": paths, "definitions": {}}


def _paths(catalog: Catalog, group: str, version: str, *, v3: bool) -> Object:
    paths: Object = {}
    for served in catalog.in_version(group, version):
        if "patch" in discovery.verbs(served):
            namespace = "/namespaces/{namespace}" if served.kind.namespaced else ""
            path = f"/{_root(group, version)}{namespace}/{served.kind.plural}/{{name}}"
            paths[path] = {"patch": _operation(served, v3=v3)}
    return paths


def _operation(served: Served, *, v3: bool) -> Object:
    kind = served.kind
    typed = {"schema": {"type": "string", "uniqueItems": True}} if v3 else {"type": "string", "uniqueItems": True}
    operation: Object = {
        "operationId": f"patch{kind.kind}",
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "parameters": [{"name": name, "in": "query", **typed} for name in _QUERY],
        "responses": {"200": {"description": "OK"}},
    }
    if v3:
        operation["requestBody"] = {"content": {media: {"schema": {"type": "object"}} for media in _PATCH_TYPES}}
    else:
        operation["consumes"] = list(_PATCH_TYPES)
    return operation
