"""One connection to an API server: requests in, JSON objects or ``ApiError`` out.

Where it is and what opens it comes from a kubeconfig or a pod's service account; the official client loads what needs
more than static credentials. Requests go through one shared aiohttp session and msgspec, because the official client's
generated models take milliseconds to build what the components only read once.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import socket
import ssl
import weakref
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import aiohttp
import msgspec

from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_client import answers
from drakit_client.answers import Unreadable
from drakit_client.credentials import kubeconfig, service_account
from drakit_client.credentials.access import Access, TokenFile
from drakit_client.errors import ApiError, ConfigurationError, UnreadableError, api_error
from drakit_client.resources import Resource

if TYPE_CHECKING:
    from kubernetes.aio.client import Configuration

PatchType = Literal["merge", "strategic-merge", "json", "apply"]

_PATCH_CONTENT: dict[PatchType, str] = {
    "merge": "application/merge-patch+json",
    "strategic-merge": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}
_CONNECT_SECONDS = 10.0
_REQUEST_SECONDS = 60.0
# So much is buffered before the server has to wait; a slice of 128 devices is about 100 KB.
_BUFFER_BYTES = 4 * 1024 * 1024
# Each request under way is an open socket, and a process may have 1024 of them; watches are not counted.
_PARALLEL_REQUESTS = 128
_NOT_MODIFIED = 304
# Turns of the event loop in which a socket that was shut down is noticed and closed; it takes about three.
_CLOSING_TURNS = 100


class Connection:
    """A bearer token or client certificate, one HTTP session, and the verbs of the Kubernetes API.

    ``socket`` is a unix socket to connect to in place of the server's host and port, ``server_name`` the host that the
    server's certificate must be for, if not that of its URL; ``user`` is whom to act as, if the credentials suffice.

    Use as ``async with``, or call ``close``. It belongs to the event loop in which the first request is made.
    """

    _sockets: weakref.WeakSet[socket.socket]

    def __init__(
        self,
        server: str,
        *,
        token: str | TokenFile | None = None,
        tls: ssl.SSLContext | None = None,
        server_name: str | None = None,
        socket: Path | None = None,
        user_agent: str = "drakit",
        configuration: Configuration | None = None,
        user: str = "",
    ) -> None:
        self.server = server.rstrip("/")
        self._socket = socket
        self._token = token
        self._tls = tls
        self._server_name = server_name
        self._user_agent = user_agent
        self._configuration = configuration
        self._acting = {"Impersonate-User": user} if user else {}
        self._session: aiohttp.ClientSession | None = None
        self._turns = asyncio.Semaphore(_PARALLEL_REQUESTS)
        self._sockets = weakref.WeakSet()
        self._reports = answers.Reports()
        # Called with the text of each Warning header of an answer.
        self.on_warning: Callable[[str], None] | None = None

    @classmethod
    async def from_kubeconfig(
        cls, path: str | Path | None = None, *, context: str | None = None, user_agent: str = "drakit"
    ) -> Connection:
        """Read a kubeconfig (``$KUBECONFIG`` or ``~/.kube/config`` by default); raises ``ConfigurationError``."""
        access = kubeconfig.read(path, context)
        if access is None:
            return await cls._from_official_client(path, context, user_agent)
        return cls._from_access(access, user_agent)

    @classmethod
    def in_cluster(cls, *, user_agent: str = "drakit") -> Connection:
        """Connect with the service account of the pod this runs in. Raises ``ConfigurationError`` outside of a pod."""
        return cls._from_access(service_account.read(), user_agent)

    @classmethod
    def _from_access(cls, access: Access, user_agent: str) -> Connection:
        return cls(
            access.server, token=access.token, tls=access.tls, server_name=access.server_name, user_agent=user_agent
        )

    @classmethod
    async def _from_official_client(cls, path: str | Path | None, context: str | None, user_agent: str) -> Connection:
        # Imported here: it takes 0.4 s, and most kubeconfigs do not need it.
        import yaml
        from kubernetes.aio import config
        from kubernetes.aio.client import Configuration

        configuration = Configuration()
        named = os.pathsep.join(str(file) for file in kubeconfig.files(path))
        try:
            await config.load_kube_config(config_file=named, context=context, client_configuration=configuration)
            return cls.from_configuration(configuration, user_agent=user_agent)
        # The second line is what it raises when the content of a file has another shape than it should have.
        except (
            *(config.ConfigException, OSError, ValueError, yaml.YAMLError),
            *(AttributeError, KeyError, TypeError),
        ) as error:
            raise ConfigurationError(f"{named}: {error}") from error

    @classmethod
    def from_configuration(cls, configuration: Configuration, *, user_agent: str = "drakit") -> Connection:
        """Connect with any configuration of the official client."""
        return cls(
            configuration.host,
            tls=_tls_context(configuration),
            server_name=configuration.tls_server_name,
            user_agent=user_agent,
            configuration=configuration,
        )

    def acting_as(self, user: str) -> Connection:
        """Open another connection to the same server, whose requests are made as another user (impersonation)."""
        return Connection(
            self.server,
            token=self._token,
            tls=self._tls,
            server_name=self._server_name,
            socket=self._socket,
            user_agent=self._user_agent,
            configuration=self._configuration,
            user=user,
        )

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the session; requests after this open a new one."""
        if self._session is not None:
            await self._session.close()
            await self._close_sockets()
            self._session = None
            self._turns = asyncio.Semaphore(_PARALLEL_REQUESTS)

    async def _close_sockets(self) -> None:
        """End what aiohttp has let go of, e.g. a watch that was left.

        TLS would wait for a goodbye of the server, and the event loop may not run for so long.
        """
        for open_socket in self._sockets:
            with contextlib.suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
        for _ in range(_CLOSING_TURNS):
            if all(closed.fileno() == -1 for closed in self._sockets):
                break
            await asyncio.sleep(0)
        self._sockets.clear()

    def _new_socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        created = socket.socket(*address[:3])
        self._sockets.add(created)
        return created

    async def _headers(self) -> dict[str, str]:
        if self._token is not None:
            token = self._token if isinstance(self._token, str) else self._token.current()
            return {"Authorization": f"Bearer {token}"}
        if self._configuration is None:
            return {}
        # Asked for each request, as the tokens of exec plugins expire.
        auth = cast("dict[str, dict[str, str]]", await self._configuration.auth_settings())
        return {entry["key"]: entry["value"] for entry in auth.values() if entry.get("in") == "header"}

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(
                connector=self._connector(),
                headers={"User-Agent": self._user_agent, "Accept": "application/json", **self._acting},
                timeout=aiohttp.ClientTimeout(total=_REQUEST_SECONDS, connect=_CONNECT_SECONDS),
                read_bufsize=_BUFFER_BYTES,
            )
        return self._session

    def _connector(self) -> aiohttp.BaseConnector:
        if self._socket is not None:
            return aiohttp.UnixConnector(str(self._socket), limit=0)
        tls = self._tls if self._tls is not None else True
        return aiohttp.TCPConnector(limit=0, ssl=tls, socket_factory=self._new_socket)

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> bytes:
        """Return the body of the answer; raise ``ApiError`` if refused, ``aiohttp.ClientError`` if nobody answers."""
        headers = {"Accept": accept}
        data: bytes | None = None
        if body is not None:
            data = body if isinstance(body, bytes) else msgspec.json.encode(body)
            headers["Content-Type"] = content_type
        return (await self._exchange(method, path, headers, data, params))[2]

    async def newer(self, path: str, tag: str = "", *, accept: str = "application/json") -> tuple[bytes, str] | None:
        """Read a document and its ETag; None if that still is ``tag``."""
        headers = {"Accept": accept} | ({"If-None-Match": tag} if tag else {})
        status, answered, raw = await self._exchange("GET", path, headers)
        return None if status == _NOT_MODIFIED else (raw, answered.get("ETag", ""))

    async def _exchange(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        data: bytes | None = None,
        params: Mapping[str, str] | None = None,
    ) -> tuple[int, Mapping[str, str], bytes]:
        async with (
            self._turns,
            self._open().request(
                method,
                self.server + path,
                data=None if data is None else io.BytesIO(data),
                params=params,
                headers={**await self._headers(), **headers},
                server_hostname=self._server_name,
            ) as response,
        ):
            raw = await response.read()
            if response.status >= 400:
                raise _refusal(response.status, raw)
            if self.on_warning is not None:
                for header in response.headers.getall("Warning", ()):
                    self.on_warning(_warning(header))
            return response.status, response.headers, raw

    async def json(self, method: str, path: str, body: Any = None, **options: Any) -> Object:
        """Send as ``request`` does, and decode the answer; ``UnreadableError`` if that is not possible."""
        raw = await self.request(method, path, body, **options)
        try:
            decoded: Object = msgspec.json.decode(raw)
        except (ValueError, RecursionError) as error:
            raise UnreadableError(f"{method} {path}: the answer cannot be read: {error}") from None
        return decoded

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        """Read one object. Raises ``NotFound`` if there is none."""
        return await self.json("GET", resource.path(namespace, name))

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Object:
        """Read a whole collection: the List object, with ``items`` and ``metadata.resourceVersion``.

        Items that cannot be read are not in it, and are told in the log; ``list_readable`` returns them, too.
        """
        selectors = {"label_selector": label_selector, "field_selector": field_selector}
        return (await self.list_readable(resource, namespace, **selectors))[0]

    async def list_readable(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> tuple[Object, Sequence[Unreadable]]:
        """List the readable objects of a collection, and say which items cannot be read."""
        path = resource.path(namespace)
        raw = await self.request("GET", path, params=_selectors(label_selector, field_selector))
        try:
            found, left_out = answers.listed(raw)
        except (ValueError, RecursionError) as error:
            raise UnreadableError(f"GET {path}: the answer cannot be read: {error}") from None
        for unreadable in left_out:
            self._reports.tell(resource.plural, unreadable)
        return found, left_out

    async def create(
        self,
        resource: Resource,
        obj: ReadOnlyObject,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        name: str | None = None,
    ) -> Object:
        """Create an object, or with ``subresource`` and ``name`` post it to e.g. ``pods/NAME/binding``."""
        return await self.json("POST", resource.path(namespace, name, subresource), _typed(resource, obj, subresource))

    async def replace(
        self, resource: Resource, obj: ReadOnlyObject, namespace: str | None = None, *, subresource: str | None = None
    ) -> Object:
        """Update an object; its ``resourceVersion``, if any, must be current or ``Conflict`` is raised."""
        name = obj["metadata"]["name"]
        return await self.json("PUT", resource.path(namespace, name, subresource), _typed(resource, obj, None))

    async def replace_status(self, resource: Resource, obj: ReadOnlyObject, namespace: str | None = None) -> Object:
        """Update the status subresource of an object."""
        return await self.replace(resource, obj, namespace, subresource="status")

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: Any,
        namespace: str | None = None,
        *,
        patch_type: PatchType = "merge",
        subresource: str | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Object:
        """Patch an object or subresource; return the object as it is then."""
        path = resource.path(namespace, name, subresource)
        return await self.json("PATCH", path, body, params=params, content_type=_PATCH_CONTENT[patch_type])

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_period_seconds: int | None = None,
        propagation: Literal["Background", "Foreground", "Orphan"] | None = None,
    ) -> Object:
        """Delete an object, optionally only if uid and resourceVersion are still these (else ``Conflict``)."""
        options: Object = {"kind": "DeleteOptions", "apiVersion": "v1"}
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        if chosen := {key: value for key, value in preconditions.items() if value is not None}:
            options["preconditions"] = chosen
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        if propagation is not None:
            options["propagationPolicy"] = propagation
        return await self.json("DELETE", resource.path(namespace, name), options)

    async def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int = 300,
    ) -> AsyncGenerator[Object, None]:
        """Yield events ``{type, object}`` after a resourceVersion, bookmarks included, until the server ends the watch.

        Raises ``Expired`` when the server no longer knows that resourceVersion, whether it says so at once or
        later, as an ERROR event. What cannot be read is left out, and told in the log.
        """
        params = _watching(resource_version, timeout_seconds) | _selectors(label_selector, field_selector)
        # The read bound is longer than the server's own, so that only a dead connection runs into it.
        timeout = aiohttp.ClientTimeout(total=None, connect=_CONNECT_SECONDS, sock_read=timeout_seconds + 30)
        async with self._open().get(
            self.server + resource.path(namespace),
            params=params,
            headers=await self._headers(),
            timeout=timeout,
            server_hostname=self._server_name,
        ) as response:
            if response.status >= 400:
                raise _refusal(response.status, await response.read())
            async for line in answers.lines(response.content):
                event = answers.event(line) if isinstance(line, bytes) else line
                if isinstance(event, Unreadable):
                    self._reports.tell(resource.plural, event)
                    if event.deleted:
                        raise api_error(410, {"message": "list again: what was deleted cannot be read"})
                    continue
                if event["type"] == "ERROR":
                    raise api_error(event["object"].get("code", 500), event["object"])
                yield event


def _watching(resource_version: str, timeout_seconds: int) -> dict[str, str]:
    return {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": resource_version,
        "timeoutSeconds": str(timeout_seconds),
    }


def _refusal(code: int, raw: bytes) -> ApiError:
    try:
        status = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        status = {"message": raw.decode(errors="replace").strip()}
    return api_error(code, status if isinstance(status, dict) else {"message": str(status)})


def _warning(header: str) -> str:
    """Return the text of a Warning header, ``299 - "text"`` (RFC 7234), or the header as it is."""
    _, _, quoted = header.partition(' "')
    return quoted.removesuffix('"').replace('\\"', '"').replace("\\\\", "\\") if quoted else header


def _typed(resource: Resource, obj: ReadOnlyObject, subresource: str | None) -> ReadOnlyObject:
    """Add kind and apiVersion to an object that came out of a list; a subresource body always brings its own."""
    if subresource or "kind" in obj:
        return obj
    return {"apiVersion": resource.api_version, "kind": resource.kind, **obj}


def _selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {key: value for key, value in selectors.items() if value}


def _tls_context(configuration: Configuration) -> ssl.SSLContext | None:
    if not configuration.host.startswith("https:"):
        return None
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert, cadata=configuration.ca_cert_data)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
