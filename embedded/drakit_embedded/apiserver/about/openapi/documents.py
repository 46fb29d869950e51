"""``/openapi/v2``, ``/openapi/v3`` and a document for each version of each group.

A document is made when it is first asked for, as most are never read, and kept; in a thread, so that nobody waits.
Clients keep them, too, by their hash: kubectl asks for the index, and then for what it does not have. The hash is one
of what is served, so that an index needs no documents. Headers follow k8s.io/kube-openapi/pkg/handler and pkg/handler3.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from email.utils import formatdate

import msgspec
from aiohttp import web

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.about.openapi import gnostic, paths, schemas, versions
from drakit_embedded.apiserver.registry.catalog import Catalog
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.wire.headers import UNCACHED

# Part of the hash: change it when the documents change for the same kinds.
_EDITION = "2"
_encode = msgspec.json.Encoder().encode
_JSON, _TEXT = "application/json", "text/plain; charset=utf-8"
_ANY = ("*/*", "application/*")
_YEAR = 365 * 24 * 3600
_SECURITY = {
    "BearerToken": {
        "type": "apiKey",
        "description": "Bearer Token authentication",
        "name": "authorization",
        "in": "header",
    }
}
_OPTIONS = (f"{schemas.META}.DeleteOptions", f"{schemas.META}.WatchEvent")


class Documents:
    """The OpenAPI documents of one server, encoded when first asked for."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._info = {"title": "Kubernetes", "version": f"1.{catalog.minor}"}
        self._made: dict[tuple[str, str], bytes] = {}
        self._began = formatdate(usegmt=True)

    async def answer(self, request: web.BaseRequest, segments: list[str], wanted: str) -> web.Response | None:
        """Serve the document below ``/openapi``, None if there is none; ``wanted`` is the hash a client expects."""
        match segments:
            case ["v2"]:
                return await self._serve(request, "v2", self._swagger, {"Vary": "Accept"}, gnostic.MEDIA_TYPE)
            case ["v3"]:
                index = _encode(self._index())
                headers = {**UNCACHED, "Content-Type": _TEXT, "Last-Modified": self._began}
                return web.Response(body=index, headers=headers)
            case ["v3", *path]:
                return await self._version(request, "/".join(path), wanted)
        return None

    async def _version(self, request: web.BaseRequest, path: str, wanted: str) -> web.Response:
        make = self._versions().get(path)
        if make is None:
            return web.Response(status=404, headers=UNCACHED)
        headers = {"Vary": "Accept"}
        if wanted:
            tag = self._hash(path)
            if wanted != tag:
                location = {"Location": f"/openapi/v3/{path}?hash={tag}", "Content-Type": _JSON, "ETag": f'"{tag}"'}
                return web.Response(status=301, headers={**UNCACHED, **headers, **location})
            headers["Cache-Control"] = "public, immutable"
            headers["Expires"] = formatdate(time.time() + _YEAR, usegmt=True).replace("GMT", "UTC")
        return await self._serve(request, path, make, headers)

    async def _serve(
        self,
        request: web.BaseRequest,
        path: str,
        make: Callable[[], Object],
        headers: dict[str, str],
        protobuf: str = "",
    ) -> web.Response:
        """Serve a document as JSON or, if it has that media type, protobuf; 304 if the client has it, 406 otherwise."""
        sent = {**UNCACHED, **headers}
        media = _media(request.headers.get("Accept", ""), protobuf)
        if media is None:
            return web.Response(status=406, headers=sent)
        sent["ETag"] = f'"{self._hash(path)}"'
        if request.headers.get("If-None-Match") == sent["ETag"]:
            return web.Response(status=304, headers=sent)
        write = _encode if media == _JSON else gnostic.encode
        if (path, media) not in self._made:
            self._made[path, media] = await asyncio.to_thread(lambda: write(make()))
        body = self._made[path, media]
        return web.Response(body=body, headers={"Content-Type": media, "Last-Modified": self._began, **sent})

    def _index(self) -> Object:
        """Build the index of ``/openapi/v3``: where each document is, with its hash."""
        listed = sorted(self._versions())
        return {
            "paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={self._hash(path)}"} for path in listed}
        }

    def _hash(self, path: str) -> str:
        """Hash what a document is made of: all that is served, and the edition of what is said about it."""
        served = [(kind.api_version, kind.kind) for kind in self._kinds()]
        return hashlib.sha512(_encode((_EDITION, path, self._info, served))).hexdigest().upper()

    def _versions(self) -> dict[str, Callable[[], Object]]:
        """List how to make each document of version 3, by its path."""
        found = {path.strip("/"): self._plain(listed) for path, listed in self._discovery().items()}
        for group, version in self._served():
            found[paths.root(group, version)[1:]] = self._of_version(group, version)
        return found

    def _served(self) -> list[tuple[str, str]]:
        groups = self._catalog.groups()
        return [("", "v1"), *((group, version) for group, listed in groups.items() for version in listed)]

    def _of_version(self, group: str, version: str) -> Callable[[], Object]:
        return lambda: self._openapi_3(self._paths(group, version), group, version)

    def _plain(self, path: Object) -> Callable[[], Object]:
        return lambda: self._openapi_3(path, None, "")

    def _openapi_3(self, listed: dict[str, Object], group: str | None, version: str) -> Object:
        converted = {path: versions.path_3(entry) for path, entry in listed.items()}
        found = schemas.of(_names(converted), self._kinds())
        own = [("", "v1")] if group is None else [("", "v1"), (group, version)]
        _tell_options(found, own)
        components = {"schemas": found, "securitySchemes": _SECURITY}
        return {"openapi": "3.0.0", "info": self._info, "paths": converted, "components": components}

    def _kinds(self) -> list[Kind]:
        return [served.kind for gv in self._served() for served in self._catalog.in_version(*gv)]

    def _paths(self, group: str, version: str) -> dict[str, Object]:
        """Describe the paths of a group's version, with the list of its resources, by path."""
        tag, title = paths.tag_of(group, version), paths.camel(group, version)
        where = f"{paths.root(group, version)}/"
        name = f"get{title}APIResources"
        found = paths.listing(where, "get available resources", name, tag, "APIResourceList")
        for served in self._catalog.in_version(group, version):
            found |= paths.of(served)
        return dict(sorted(found.items()))

    def _discovery(self) -> dict[str, dict[str, Object]]:
        """Describe the paths that list groups and versions, for each of which there is a document."""
        words = "get available API versions"
        found = {
            "/api/": paths.listing("/api/", words, "getCoreAPIVersions", "core", "APIVersions"),
            "/apis/": paths.listing("/apis/", words, "getAPIVersions", "apis", "APIGroupList"),
            "/version/": _version_path(),
        }
        for group in self._catalog.groups():
            path, name = f"/apis/{group}/", f"get{paths.camel(group)}APIGroup"
            found[path] = paths.listing(path, "get information of a group", name, paths.tag_of(group), "APIGroup")
        return found

    def _swagger(self) -> Object:
        listed = {path: entry for one in self._discovery().values() for path, entry in one.items()}
        for group, version in self._served():
            listed |= self._paths(group, version)
        found = schemas.of(_names({path: versions.path_3(entry) for path, entry in listed.items()}), self._kinds())
        _tell_options(found, self._served())
        return {
            "swagger": "2.0",
            "info": self._info,
            "paths": dict(sorted(listed.items())),
            "definitions": {name: versions.schema_2(schema) for name, schema in found.items()},
            "securityDefinitions": _SECURITY,
            "security": [{"BearerToken": []}],
        }


def _media(accept: str, protobuf: str) -> str | None:
    """Choose the first media type in ``accept`` that is JSON or ``protobuf``; None if neither is accepted."""
    for clause in accept.split(",") if accept else _ANY:
        media = clause.partition(";")[0].strip().replace("v2@v1", "v2.v1")
        if media in (_JSON, *_ANY):
            return _JSON
        if protobuf and media == protobuf:
            return protobuf
    return None


def _version_path() -> dict[str, Object]:
    words, name = "get the version information for this server", "getCodeVersion"
    (operation,) = paths.listing("/version/", words, name, "version", "Status")["/version/"].values()
    answer = {"description": "OK", "schema": {"$ref": f"{paths.DEFINITIONS}io.k8s.apimachinery.pkg.version.Info"}}
    media = [_JSON]
    operation |= {"consumes": media, "produces": media, "responses": {**operation["responses"], "200": answer}}
    return {"/version/": {"get": operation}}


def _tell_options(found: dict[str, Object], served: list[tuple[str, str]]) -> None:
    """Declare that options of a deletion and events of a watch are of every version."""
    for name in _OPTIONS:
        if name in found:
            kind = name.rpartition(".")[2]
            listed = [{"group": group, "kind": kind, "version": version} for group, version in dict.fromkeys(served)]
            found[name]["x-kubernetes-group-version-kind"] = listed


def _names(listed: dict[str, Object]) -> set[str]:
    """Collect the names of the types that paths of OpenAPI 3 refer to."""
    return set(schemas.references(listed))
