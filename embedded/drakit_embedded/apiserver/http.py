"""The front door: one handler for every path. Authentication, routing, and errors as Status objects.

What is served is small and fixed, so the path is taken apart directly (``requests``) and looked up in the catalog.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable

import msgspec
from aiohttp import ClientConnectionResetError, web

from drakit_embedded.apiserver import requests, statuses
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.call import Call, answer
from drakit_embedded.apiserver.documents import PUBLIC, Documents, page_not_found
from drakit_embedded.apiserver.identity.users import ADMIN
from drakit_embedded.apiserver.requests import Query
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.verbs import serve
from drakit_embedded.apiserver.watching import Watches

log = logging.getLogger(__name__)

# k8s.io/apiserver/pkg/server/config.go MaxRequestBodyBytes
BODY_BYTES = 3 * 1024 * 1024
_encode = msgspec.json.Encoder().encode


class Handler:
    """Answers requests for one server."""

    def __init__(self, api: Api, watches: Watches, *, token: str, version: str, address: Callable[[], str]) -> None:
        self._api, self._watches = api, watches
        self._authorization = f"Bearer {token}".encode()
        self._documents = Documents(api.catalog, version, address)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except StatusError as error:
            return answer(_encode(error.status()), error.code, error.warnings)
        except web.HTTPRequestEntityTooLarge:
            refusal = statuses.too_large_body(BODY_BYTES)
            return answer(_encode(refusal.status()), refusal.code)
        except ClientConnectionResetError:
            # The client left before its answer began. Nobody reads this one; raised, aiohttp would log a defect.
            return web.Response(status=400)
        except Exception as error:
            # A defect of this server; the client gets a Status all the same, and the log has the traceback.
            log.exception("%s %s", request.method, request.raw_path)
            internal = statuses.internal(f"{type(error).__name__}: {error}")
            return answer(_encode(internal.status()), internal.code)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path, _, query = request.raw_path.partition("?")
        segments = requests.split_path(path)
        self._authenticate(request, segments[0], path, query)
        if path.startswith("//"):
            return page_not_found()
        if segments[0] == "api" and len(segments) > 2:
            group, version, rest = "", segments[1], segments[2:]
        elif segments[0] == "apis" and len(segments) > 3:
            group, version, rest = segments[1], segments[2], segments[3:]
        else:
            return self._documents.answer(request, path, segments, query)
        target = requests.target(group, version, rest)
        served = self._api.catalog.find(group, version, target.plural) if target else None
        if target is None or served is None:
            if group not in ("", *self._api.catalog.groups()):
                return page_not_found()
            raise statuses.unknown_resource()
        return await serve(Call(self._api, self._watches, served, target, request, Query(query), ADMIN))

    def _authenticate(self, request: web.BaseRequest, first: str, path: str, query: str) -> None:
        given = request.headers.get("Authorization")
        if given is not None:
            if not hmac.compare_digest(given.encode(errors="replace"), self._authorization):
                raise statuses.unauthorized()
        elif first not in PUBLIC:
            raise _anonymous(request.method, path, Query(query))


def _anonymous(method: str, path: str, query: Query) -> StatusError:
    """What the authorizer says to a request without credentials (k8s.io/apiserver responsewriters.Forbidden)."""
    segments = requests.split_path(path)
    start = {"api": 2, "apis": 3}.get(segments[0], 0)
    target = None
    if start and len(segments) > start:
        group = segments[1] if start == 3 else ""
        target = requests.target(group, segments[start - 1], segments[start:])
    user = 'User "system:anonymous" cannot'
    if target is None:
        return StatusError(403, "Forbidden", f'forbidden: {user} {method.lower()} path "{path}"', {})
    verb = _verb(method, target.name, query)
    resource = target.plural + (f"/{target.subresource}" if target.subresource else "")
    scope = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
    why = f'{user} {verb} resource "{resource}" in API group "{target.group}" {scope}'
    return statuses.forbidden(resource, target.group, target.name or "", why)


def _verb(method: str, name: str | None, query: Query) -> str:
    if method == "GET":
        return "get" if name else "watch" if query.flag("watch") else "list"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    return {"POST": "create", "PUT": "update", "PATCH": "patch"}.get(method, method.lower())
