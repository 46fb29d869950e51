"""The front door: one handler for every path. Authentication, routing, and errors as Status objects.

What is served is small and fixed, so the path is taken apart directly (``requests``) and looked up in the catalog.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Mapping

import msgspec
from aiohttp import ClientConnectionResetError, web

from drakit_embedded.apiserver import discovery, openapi, requests, statuses
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.call import Call, answer
from drakit_embedded.apiserver.identity.users import ADMIN
from drakit_embedded.apiserver.requests import Query
from drakit_embedded.apiserver.statuses import Object, StatusError
from drakit_embedded.apiserver.verbs import serve
from drakit_embedded.apiserver.watching import Watches

log = logging.getLogger(__name__)

# k8s.io/apiserver/pkg/server/config.go MaxRequestBodyBytes
BODY_BYTES = 3 * 1024 * 1024
_HEALTH = frozenset({"healthz", "livez", "readyz"})
# What RBAC's system:public-info-viewer lets anybody see.
_PUBLIC = _HEALTH | {"version"}
_TEXT = {"Content-Type": "text/plain; charset=utf-8"}
_encode = msgspec.json.Encoder().encode


class Handler:
    """Answers requests for one server."""

    def __init__(self, api: Api, watches: Watches, *, token: str, version: str, address: Callable[[], str]) -> None:
        self._api, self._watches = api, watches
        self._authorization = f"Bearer {token}".encode()
        self._address = address
        self._version = _encode(discovery.version_info(version))
        self._documents: dict[tuple[str, bool], bytes] = {}

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
        if segments[0] == "api" and len(segments) > 2:
            group, version, rest = "", segments[1], segments[2:]
        elif segments[0] == "apis" and len(segments) > 3:
            group, version, rest = segments[1], segments[2], segments[3:]
        else:
            return self._nonresource(request, path, segments)
        target = requests.target(group, version, rest)
        served = self._api.catalog.find(group, version, target.plural) if target else None
        if target is None or served is None:
            if group not in ("", *self._api.catalog.groups()):
                return _page_not_found()
            raise statuses.unknown_resource()
        return await serve(Call(self._api, self._watches, served, target, request, Query(query), ADMIN))

    def _authenticate(self, request: web.BaseRequest, first: str, path: str, query: str) -> None:
        given = request.headers.get("Authorization")
        if given is not None:
            if not hmac.compare_digest(given.encode(errors="replace"), self._authorization):
                raise statuses.unauthorized()
        elif first not in _PUBLIC:
            raise _anonymous(request.method, path, Query(query))

    def _nonresource(self, request: web.BaseRequest, path: str, segments: list[str]) -> web.StreamResponse:
        if request.method not in ("GET", "HEAD"):
            raise statuses.method_not_allowed()
        first = segments[0]
        if first in _HEALTH:
            if "verbose" in request.query:
                return web.Response(text=f"[+]ping ok\n{first} check passed\n", headers=_TEXT)
            return web.Response(text="ok", headers=_TEXT)
        if first == "version" and len(segments) == 1:
            return answer(self._version)
        if first == "openapi":
            return openapi.answer(self._api.catalog, segments[1:], request.headers)
        if first in ("api", "apis"):
            return self._discovery(segments, request.headers)
        if first == "":
            paths = ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
            return answer(_encode({"paths": paths}))
        return _page_not_found()

    def _discovery(self, segments: list[str], headers: Mapping[str, str]) -> web.StreamResponse:
        wants_aggregated = len(segments) == 1 and _accepts_aggregated(headers.get("Accept", ""))
        key = ("/".join(segments), wants_aggregated)
        document = self._documents.get(key)
        if document is None:
            made = self._describe(segments, wants_aggregated)
            if made is None:
                return _page_not_found()
            document = self._documents[key] = _encode(made)
        if wants_aggregated:
            return web.Response(body=document, headers={"Content-Type": discovery.AGGREGATED, "Vary": "Accept"})
        return answer(document)

    def _describe(self, segments: list[str], wants_aggregated: bool) -> Object | None:
        catalog = self._api.catalog
        match segments:
            case [root] if wants_aggregated:
                return discovery.aggregated(catalog, core=root == "api")
            case ["api"]:
                return discovery.core_versions(self._address())
            case ["api", version]:
                return discovery.resource_list(catalog, "", version)
            case ["apis"]:
                return discovery.group_list(catalog)
            case ["apis", group]:
                return discovery.group(catalog, group)
            case ["apis", group, version]:
                return discovery.resource_list(catalog, group, version)
        return None


def _accepts_aggregated(accept: str) -> bool:
    """Whether the aggregated form is the first that can be given."""
    for clause in accept.split(","):
        words = {word.strip() for word in clause.split(";")}
        if "application/json" in words and "as=APIGroupDiscoveryList" in words:
            if {"g=apidiscovery.k8s.io", "v=v2"} <= words:
                return True
        elif words & {"application/json", "*/*"}:
            return False
    return False


def _page_not_found() -> web.Response:
    return web.Response(text="404 page not found\n", status=404, headers=_TEXT)


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
