"""Paths that are no resources: health, version, metrics, discovery, OpenAPI, and the list of all of these.

Each has the manners of what answers in kube-apiserver, which are not the same: some look at the method and some do not,
and what is not there is a Status in one place and a line of text in another (k8s.io/apiserver pkg/server/mux,
pkg/server/routes, kube-aggregator pkg/apiserver). Discovery is encoded once, and anew when something else is served.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.about import discovery, health
from drakit_embedded.apiserver.about.openapi.documents import Documents as OpenApi
from drakit_embedded.apiserver.identity import issuer
from drakit_embedded.apiserver.identity.jwt import SigningKey
from drakit_embedded.apiserver.registry.catalog import Catalog
from drakit_embedded.apiserver.requests import Query
from drakit_embedded.apiserver.wire import headers, negotiation
from drakit_embedded.apiserver.wire.responses import answer

_PATHS = (
    issuer.CONFIGURATION,
    issuer.KEYS,
    "/api",
    "/api/v1",
    "/apis",
    "/apis/",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/",
    "/version",
)
# The media type of Prometheus' text format.
_METRICS = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
_encode = msgspec.json.Encoder().encode


def page_not_found() -> web.Response:
    """Answer 404 in the words of Go's ``http.ServeMux``."""
    return web.Response(text="404 page not found\n", status=404, headers=headers.TEXT)


class Documents:
    """Handlers of paths that are no resources: health, version, discovery, OpenAPI, metrics."""

    def __init__(
        self,
        catalog: Catalog,
        version: Object,
        address: Callable[[], str],
        measured: Callable[[], Awaitable[bytes]],
        account_key: SigningKey,
    ) -> None:
        self._catalog, self._address, self._measured = catalog, address, measured
        self._account_key = account_key
        self._version = msgspec.json.format(_encode(version), indent=2)
        self._openapi = OpenApi(catalog)
        self._encoded: dict[str, bytes | None] = {}
        # The edition of the catalog that this is of.
        self._edition = 0

    async def answer(self, request: web.BaseRequest, path: str, segments: list[str], query: str) -> web.StreamResponse:
        """Serve the document at ``path``, which is also given split into its segments."""
        match segments:
            case ["healthz" | "livez" | "readyz" as endpoint, *check] if not path.endswith("/"):
                return _health(endpoint, "/".join(check), Query(query))
            case ["version"]:
                _check_route(request, [], (negotiation.JSON,))
                return web.Response(body=self._version, headers=headers.JSON)
            case ["version", *_]:
                raise statuses.unknown_resource()
            case ["openapi", *below]:
                found = await self._openapi.answer(request, below, Query(query).text("hash"))
                return found or page_not_found()
            case [".well-known", "openid-configuration", *below]:
                _check_route(request, below, (negotiation.JSON,))
                return issuer.configuration(self._account_key, f"{request.scheme}://{self._address()}")
            case ["openid", "v1", "jwks", *below]:
                _check_route(request, below, (issuer.KEYS_TYPE,))
                return issuer.keys(self._account_key)
            case ["metrics"] if path == "/metrics":
                kind = {"Content-Type": _METRICS}
                return web.Response(body=await self._measured(), headers={**headers.UNCACHED, **kind})
            case ["api" | "apis", *_]:
                return self._discovery(request, segments)
            case [""] | ["index.html"] if path in ("/", "/index.html"):
                return web.Response(
                    body=msgspec.json.format(_encode({"paths": self._paths()}), indent=2), headers=headers.JSON
                )
        return page_not_found()

    def _discovery(self, request: web.BaseRequest, segments: list[str]) -> web.StreamResponse:
        root = len(segments) == 1
        # Those of custom resources do not look at the method.
        is_route = segments[0] == "api" or (len(segments) == 3 and self._catalog.is_own(segments[1]))
        if is_route:
            _read_only(request)
        accept = request.headers.get("Accept", "")
        allows = discovery.may_be_aggregated if root else negotiation.without_conversion
        offered = negotiation.OBJECT if is_route else negotiation.NO_ROUTE
        if negotiation.accepted(accept, allows, offered).conversion is not None:
            return self._aggregated(request, segments[0])
        document = self._document("/".join(segments), lambda: self._describe(segments))
        if document is None:
            if segments[0] == "api" or self._catalog.is_own(segments[1]):
                raise statuses.unknown_resource()
            return page_not_found()
        return answer(document)

    def _aggregated(self, request: web.BaseRequest, root: str) -> web.Response:
        catalog = self._catalog
        document = self._document(f"aggregated {root}", lambda: discovery.aggregated(catalog, core=root == "api"))
        assert document is not None
        tag = f'"{hashlib.sha512(document).hexdigest().upper()}"'
        sent = {"Cache-Control": "public", "ETag": tag, "Vary": "Accept"}
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers=sent)
        return web.Response(body=document + b"\n", headers={**sent, "Content-Type": discovery.AGGREGATED})

    def _document(self, key: str, make: Callable[[], Object | None]) -> bytes | None:
        if self._edition != self._catalog.edition:
            self._edition = self._catalog.edition
            self._encoded.clear()
        if key not in self._encoded:
            made = make()
            if made is None:
                return None
            self._encoded[key] = _encode(made)
        return self._encoded[key]

    def _describe(self, segments: list[str]) -> Object | None:
        catalog = self._catalog
        match segments:
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

    def _paths(self) -> list[str]:
        found = list(_PATHS)
        for group, versions in self._catalog.groups().items():
            found += [f"/apis/{group}", *(f"/apis/{group}/{version}" for version in versions)]
        return sorted([*found, *health.paths()])


def _health(endpoint: str, check: str, query: Query) -> web.Response:
    if not check:
        return health.answer(endpoint, verbose=query.given("verbose"), excluded=query.texts("exclude"))
    if check in health.CHECKS[endpoint]:
        return health.single()
    return page_not_found()


def _check_route(request: web.BaseRequest, below: list[str], offered: tuple[str, ...]) -> None:
    """Check whether a route that gives one form of answer is for a request."""
    if below:
        raise statuses.unknown_resource()
    _read_only(request)
    negotiation.check_route(request.headers.get("Accept", ""), offered)


def _read_only(request: web.BaseRequest) -> None:
    if request.method != "GET":
        raise statuses.method_not_allowed()
