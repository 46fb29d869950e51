"""``/openapi/v2``, ``/openapi/v3`` and a document for each version of each group.

A document is made when it is first asked for, as most are never read, and kept; in a thread, so that nobody waits.
Clients keep them, too, by their hash: kubectl asks for the index, and then for what it does not have. The hash is one
of what a document is made of, so that an index needs no documents. Headers follow k8s.io/kube-openapi/pkg/handler and
pkg/handler3.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import TYPE_CHECKING

import msgspec
from aiohttp import web

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.about.openapi import gnostic
from drakit_embedded.apiserver.registry.catalog import Catalog
from drakit_embedded.apiserver.wire.headers import UNCACHED

if TYPE_CHECKING:
    from drakit_embedded.apiserver.about.openapi.contents import Content

# Part of the hash: change it when the documents change for the same kinds.
_EDITION = "3"
_encode = msgspec.json.Encoder().encode
_JSON, _TEXT = "application/json", "text/plain; charset=utf-8"
_ANY = ("*/*", "application/*")
_YEAR = 365 * 24 * 3600
_VERSION_2 = "v2"


@dataclass(slots=True, eq=False)
class _Document:
    """A document, encoded when first asked for."""

    content: Content
    tag: str
    # When there was first something to say, for ``Last-Modified``.
    since: str
    # By media type.
    made: dict[str, bytes] = field(default_factory=dict)

    def encoded(self, media: str) -> bytes:
        made = self.content.make()
        return _encode(made) if media == _JSON else gnostic.encode(made)


class Documents:
    """The OpenAPI documents of one server."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        # By path below ``/openapi/v3``, and that of version 2.
        self._documents: dict[str, _Document] = {}
        # The edition of the catalog that these are of.
        self._edition = -1

    async def answer(self, request: web.BaseRequest, segments: list[str], wanted: str) -> web.Response | None:
        """Serve the document below ``/openapi``, None if there is none; ``wanted`` is the hash a client expects."""
        self._keep_in_step()
        match segments:
            case ["v2"]:
                return await _serve(request, self._documents[_VERSION_2], {"Vary": "Accept"}, gnostic.MEDIA_TYPE)
            case ["v3"]:
                index = _encode(self._index())
                headers = {**UNCACHED, "Content-Type": _TEXT, "Last-Modified": formatdate(usegmt=True)}
                return web.Response(body=index, headers=headers)
            case ["v3", *path]:
                return await self._version(request, "/".join(path), wanted)
        return None

    def _keep_in_step(self) -> None:
        """Forget the documents that would no longer be the same."""
        if self._edition == self._catalog.edition:
            return
        # Imported here: most servers are never asked for a document.
        from drakit_embedded.apiserver.about.openapi import contents

        self._edition = self._catalog.edition
        before, now = self._documents, formatdate(usegmt=True)
        self._documents = {}
        for path, content in contents.of(self._catalog).items():
            tag, old = _hash(path, content), before.get(path)
            self._documents[path] = old if old is not None and old.tag == tag else _Document(content, tag, now)

    def _index(self) -> Object:
        """Build the index of ``/openapi/v3``: where each document is, with its hash."""
        listed = {path: document.tag for path, document in self._documents.items() if path != _VERSION_2}
        return {
            "paths": {
                path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={tag}"} for path, tag in sorted(listed.items())
            }
        }

    async def _version(self, request: web.BaseRequest, path: str, wanted: str) -> web.Response:
        document = self._documents.get(path)
        if document is None or path == _VERSION_2:
            return web.Response(status=404, headers=UNCACHED)
        headers, tag = {"Vary": "Accept"}, document.tag
        if wanted:
            if wanted != tag:
                location = {"Location": f"/openapi/v3/{path}?hash={tag}", "Content-Type": _JSON, "ETag": f'"{tag}"'}
                return web.Response(status=301, headers={**UNCACHED, **headers, **location})
            headers["Cache-Control"] = "public, immutable"
            headers["Expires"] = formatdate(time.time() + _YEAR, usegmt=True).replace("GMT", "UTC")
        return await _serve(request, document, headers)


async def _serve(
    request: web.BaseRequest, document: _Document, headers: dict[str, str], protobuf: str = ""
) -> web.Response:
    """Serve a document as JSON or, if it has that media type, protobuf; 304 if the client has it, 406 otherwise."""
    sent = {**UNCACHED, **headers}
    media = _media(request.headers.get("Accept", ""), protobuf)
    if media is None:
        return web.Response(status=406, headers=sent)
    sent["ETag"] = f'"{document.tag}"'
    if request.headers.get("If-None-Match") == sent["ETag"]:
        return web.Response(status=304, headers=sent)
    if media not in document.made:
        document.made[media] = await asyncio.to_thread(document.encoded, media)
    headers = {"Content-Type": media, "Last-Modified": document.since, **sent}
    return web.Response(body=document.made[media], headers=headers)


def _hash(path: str, content: Content) -> str:
    return hashlib.sha512(_encode((_EDITION, path, content.essence))).hexdigest().upper()


def _media(accept: str, protobuf: str) -> str | None:
    """Choose the first media type in ``accept`` that is JSON or ``protobuf``; None if neither is accepted."""
    for clause in accept.split(",") if accept else _ANY:
        media = clause.partition(";")[0].strip().replace("v2@v1", "v2.v1")
        if media in (_JSON, *_ANY):
            return _JSON
        if protobuf and media == protobuf:
            return protobuf
    return None
