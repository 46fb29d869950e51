"""The front door: one handler for every path. Authentication, routing, and errors as Status objects.

What is served is small and fixed, so the path is taken apart directly (``requests``) and looked up in the catalog.
"""

from __future__ import annotations

import asyncio
import io
import logging
import time
from collections.abc import Callable
from urllib.parse import unquote

from aiohttp import ClientConnectionResetError, web

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import requests, statuses
from drakit_embedded.apiserver.about import discovery
from drakit_embedded.apiserver.about.documents import Documents, page_not_found
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.authorization import access, impersonation
from drakit_embedded.apiserver.endpoints.call import Call
from drakit_embedded.apiserver.endpoints.metrics import LASTING, Metrics
from drakit_embedded.apiserver.endpoints.verbs import serve
from drakit_embedded.apiserver.identity.users import ANONYMOUS, User
from drakit_embedded.apiserver.reading.watching import Watches
from drakit_embedded.apiserver.requests import Query, Target
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.wire.presentation import is_plain, presented
from drakit_embedded.apiserver.wire.responses import refusal

log = logging.getLogger(__name__)

# k8s.io/apiserver/pkg/server/config.go MaxRequestBodyBytes
BODY_BYTES = 3 * 1024 * 1024

# Bytes from which printing an answer as YAML takes long.
_LONG_BYTES = 64 * 1024
# Bytes from which encrypting and sending an answer takes long.
_PIECES_BYTES = 1024 * 1024


class Handler:
    """Answers requests for one server; ``recognized`` is called for each request with an authenticated user."""

    def __init__(
        self,
        api: Api,
        watches: Watches,
        *,
        version: str,
        address: Callable[[], str],
        recognized: Callable[[web.BaseRequest], None],
    ) -> None:
        self._api, self._watches, self._recognized = api, watches, recognized
        self._metrics = Metrics()
        told = discovery.version_info(version)
        self._documents = Documents(
            api.catalog, told, address, lambda: _exposition(self._metrics, api, watches, told), api.account_key
        )

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request; whatever is raised on the way is answered with a Status."""
        try:
            return await self._presented(request, await self._answer(request))
        except StatusError as error:
            return presented(request, refusal(error))
        except web.HTTPRequestEntityTooLarge:
            return presented(request, refusal(statuses.too_large_body(BODY_BYTES)))
        except ClientConnectionResetError:
            # The client left before its answer began. If this were raised, aiohttp would log an error.
            return web.Response(status=400)
        except Exception as error:
            # An error of this server: the client gets a Status all the same, and the log the traceback.
            log.exception("%s %s", request.method, request.raw_path)
            return refusal(statuses.internal(f"{type(error).__name__}: {error}"))

    async def _presented(self, request: web.BaseRequest, response: web.StreamResponse) -> web.StreamResponse:
        """Convert an answer to the form that was asked for: a long one in a thread, to be sent in pieces."""
        if not _is_longer(response, _LONG_BYTES) or is_plain(request):
            found = presented(request, response)
        else:
            found = await self._api.background.run(lambda: presented(request, response))
        if isinstance(found, web.Response) and _is_longer(found, _PIECES_BYTES):
            assert isinstance(found.body, bytes)
            found.body = io.BytesIO(found.body)  # aiohttp writes this in pieces of 64 KiB
        return found

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path, _, query = request.raw_path.partition("?")
        segments = requests.split_path(path)
        user = self._user(request, path, segments, query)
        if path.startswith("//"):
            return page_not_found()
        if segments[0] == "api" and segments[2:] == ["watch"]:
            return _no_request_info(request.raw_path)
        if segments[0] == "api" and len(segments) > 2:
            group, version, rest = "", segments[1], segments[2:]
        elif segments[0] == "apis" and len(segments) > 3:
            group, version, rest = segments[1], segments[2], segments[3:]
        else:
            return await self._documents.answer(request, path, segments, query)
        watched = rest[0] == "watch" and len(rest) > 1
        target = requests.target(group, version, rest[1:] if watched else rest)
        served = self._api.catalog.find(group, version, target.plural) if target else None
        if target is None or served is None:
            if segments[0] == "apis" and not self._api.catalog.is_own(group):
                return page_not_found()
            raise statuses.unknown_resource()
        if served.kind.definition is not None and not _is_in_scope(served.kind, target, request.method):
            return page_not_found()
        call = Call(self._api, self._watches, served, target, request, Query(query), user, watched=watched)
        return await self._served(call)

    async def _served(self, call: Call) -> web.StreamResponse:
        """Serve a request for a resource, and count it in the metrics."""
        verb, began, code = self._metrics.started(call), time.perf_counter(), 500
        try:
            response = await serve(call)
            code = response.status
        except StatusError as error:
            code = error.code
            raise
        except (asyncio.CancelledError, ClientConnectionResetError):
            # The client has left, which is how most watches and connections to containers end.
            code = 200 if verb in LASTING else 400
            raise
        finally:
            self._metrics.finished(call, verb, code, time.perf_counter() - began)
        return response

    def _user(self, request: web.BaseRequest, path: str, segments: list[str], query: str) -> User:
        """Authenticate and authorize the user (k8s.io/apiserver/pkg/server/config.go DefaultBuildHandlerChain)."""
        api, user = self._api, self._api.authenticator.user(request)
        if user is not ANONYMOUS:
            self._recognized(request)
        if user.superuser and not impersonation.asked(request.headers):
            return user
        unescaped = unquote(path) if "%" in path else path
        asked = access.of_request(user, request.method, unescaped, segments, Query(query))
        if impersonation.asked(request.headers):
            modes = api.gates.enabled("ConstrainedImpersonation")
            wanted = impersonation.read(request.headers.items())
            if wanted is not None:
                user = asked.user = impersonation.impersonated(user, wanted, asked, api.authorizer.check, modes=modes)
        api.authorizer.check(asked)
        return user


async def _exposition(counted: Metrics, api: Api, watches: Watches, version: Object) -> bytes:
    # It takes a twentieth of a second to load, and few servers are ever asked.
    from drakit_embedded.apiserver.endpoints import exposition

    return await exposition.text(counted, api, watches, version)


def _is_in_scope(kind: Kind, target: Target, method: str) -> bool:
    """Check whether the path of a custom resource is one for its scope (crdHandler.ServeHTTP)."""
    if not kind.namespaced:
        return target.namespace is None
    return target.namespace is not None or (method == "GET" and target.name is None)


def _is_longer(response: web.StreamResponse, count: int) -> bool:
    body = response.body if isinstance(response, web.Response) else None
    return isinstance(body, bytes) and len(body) > count


def _no_request_info(uri: str) -> web.Response:
    """Answer 500 for a path that cannot be parsed (k8s.io/apiserver/pkg/endpoints/filters/requestinfo.go)."""
    why = f"failed to create RequestInfo: unable to determine kind and namespace from url, {uri}"
    return web.Response(status=500, text=f'Internal Server Error: "{uri}": {why}\n')
