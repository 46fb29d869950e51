"""One API server: store, listener and the objects that every cluster has.

``start`` returns when requests are answered; ``stop`` ends watches and closes the data file. Several servers fit into
one process.
"""

from __future__ import annotations

import asyncio
import copy
import os
import secrets
import socket
import ssl
from pathlib import Path
from typing import Literal

import msgspec
from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage

from drakit_embedded import certificates
from drakit_embedded.apiserver import metadata
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.authorization import bootstrap, rules
from drakit_embedded.apiserver.catalog import Catalog
from drakit_embedded.apiserver.config import ServerConfig
from drakit_embedded.apiserver.http import BODY_BYTES, Handler
from drakit_embedded.apiserver.identity import static_tokens
from drakit_embedded.apiserver.identity.jwt import SigningKey
from drakit_embedded.apiserver.identity.users import ADMIN, User, authenticated
from drakit_embedded.apiserver.managedfields.updates import Writer
from drakit_embedded.apiserver.reading.watching import Watches
from drakit_embedded.apiserver.registry import api_services
from drakit_embedded.apiserver.storage.store import Object, Store
from drakit_embedded.apiserver.writing import writes
from drakit_embedded.apiserver.writing.intent import Intent

_HOST = "127.0.0.1"
# Whom the objects belong to that a server makes itself.
_MANAGER = "kube-apiserver"
# What every cluster has (k8s.io/kubernetes/pkg/controlplane/controller/systemnamespaces,
# pkg/apis/scheduling/v1/helpers.go).
_SYSTEM_OBJECTS: tuple[tuple[str, str, tuple[Object, ...]], ...] = (
    (
        "",
        "namespaces",
        tuple({"metadata": {"name": name}} for name in ("default", "kube-node-lease", "kube-public", "kube-system")),
    ),
    (
        "scheduling.k8s.io",
        "priorityclasses",
        (
            {
                "metadata": {"name": "system-node-critical"},
                "value": 2_000_001_000,
                "description": "Used for system critical pods that must not be moved from their current node.",
            },
            {
                "metadata": {"name": "system-cluster-critical"},
                "value": 2_000_000_000,
                "description": "Used for system critical pods that must run in the cluster, but can be moved to "
                "another node if necessary.",
            },
        ),
    ),
)
_SHUTDOWN_SECONDS = 1.0
_CERTIFICATE = "apiserver.pem"


class ServerError(Exception):
    """The server cannot be started; the message says why and what to do."""


class Server:
    """An API server that is started and stopped; ``config.token`` or a random token opens it."""

    def __init__(self, config: ServerConfig | None = None) -> None:
        self.config = config or ServerConfig()
        self.token = self.config.token or secrets.token_urlsafe(32)
        self.url = ""
        # PEM of the certificate that clients have to trust, once started with TLS.
        self.ca_certificate: bytes | None = None
        self._store: Store | None = None
        self._runner: web.ServerRunner | None = None
        # Whether there are data of a former server.
        self._continued = False
        self._watches = Watches()

    async def start(self) -> str:
        """Open the store and listen; the URL, e.g. ``http://127.0.0.1:41235``.

        Raises ``JournalError`` (data file), ``ServerError`` (port, certificate) or ``FeatureGateError``.
        """
        config = self.config
        self._continued = config.data_file is not None and config.data_file.exists()
        store = Store(config.data_file)
        try:
            context = self._tls()
            catalog = Catalog(store, config.gates, config.runtime_config)
            store.load()
            api = Api(
                store,
                catalog,
                config.gates,
                config.kubelet_token or "",
                self._kubelet_tls(),
                tokens=self._users(),
                account_key=self._account_key(),
                certificates=config.client_ca_file is not None and context is not None,
            )
            _create_system_objects(api)
            _register_api_services(api)
            handler = Handler(
                api,
                self._watches,
                version=config.gates.emulated_version,
                address=lambda: self.url.partition("://")[2],
            )
            await self._listen(handler, context)
        except BaseException:
            store.close()
            raise
        self._store = store
        return self.url

    def _tls(self) -> ssl.SSLContext | None:
        config = self.config
        if not (config.tls or config.tls_cert_file or config.tls_key_file):
            return None
        try:
            if config.tls_cert_file and config.tls_key_file:
                context, self.ca_certificate = certificates.given(config.tls_cert_file, config.tls_key_file)
            elif config.tls_cert_file or config.tls_key_file:
                raise ServerError("a certificate and its key must be given together")
            else:
                directory = config.certificate_directory
                shared = directory / _CERTIFICATE if directory else None
                keep = self._beside_data(".pem") or shared
                context, self.ca_certificate = certificates.self_signed(_HOST, keep, shared)
            if config.client_ca_file is not None:
                context.load_verify_locations(config.client_ca_file)
                context.verify_mode = ssl.CERT_OPTIONAL
        except OSError as error:
            raise ServerError(f"TLS certificate or key cannot be used: {error}; give others, or none") from None
        return context

    def _users(self) -> dict[str, User]:
        given = {token: authenticated(user) for token, user in self.config.users.items()}
        path = self.config.token_auth_file
        try:
            from_file = static_tokens.read(path) if path is not None else {}
        except (OSError, static_tokens.TokenFileError) as error:
            raise ServerError(f"--token-auth-file cannot be used: {error}") from None
        return {**from_file, **given, self.token: ADMIN}

    def _account_key(self) -> SigningKey:
        key = SigningKey(self.config.service_account_key_file, self._beside_data(".accounts.pem"))
        try:
            key.check()
        except (OSError, ValueError) as error:
            raise ServerError(f"--service-account-signing-key-file cannot be used: {error}") from None
        return key

    def _beside_data(self, ending: str) -> Path | None:
        """Where a key is kept with the data; under its former name, if data of a former release have one there."""
        data = self.config.data_file
        if data is None:
            return None
        path, former = data.with_name(data.name + ending), data.with_suffix(ending)
        return former if self._continued and former.exists() and not path.exists() else path

    def _kubelet_tls(self) -> ssl.SSLContext | Literal[False]:
        certificate, key = self.config.kubelet_client_certificate, self.config.kubelet_client_key
        if certificate is None or key is None:
            return False
        try:
            return certificates.of_client(certificate, key)
        except OSError as error:
            raise ServerError(
                f"certificate or key for kubelets cannot be used: {error}; give others, or none"
            ) from None

    async def _listen(self, handler: Handler, context: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()

        def request(
            message: RawRequestMessage,
            payload: StreamReader,
            protocol: web.RequestHandler,
            writer: AbstractStreamWriter,
            task: asyncio.Task[None],
        ) -> web.BaseRequest:
            return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=BODY_BYTES)

        server = web.Server(
            handler,
            request_factory=request,
            access_log=None,
            handler_cancellation=True,
            keepalive_timeout=120.0,
            tcp_keepalive=True,
        )
        runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            await self._open(runner, context)
        except ServerError:
            await runner.cleanup()
            raise
        self._runner = runner
        port = runner.addresses[0][1]
        self.url = f"{'https' if context else 'http'}://{_HOST}:{port}"

    async def _open(self, runner: web.ServerRunner, context: ssl.SSLContext | None) -> None:
        port, path = self.config.port, self.config.socket
        try:
            await web.TCPSite(runner, _HOST, port, ssl_context=context).start()
        except OSError as error:
            why = f"cannot listen on {_HOST}:{port}: {error.strerror}; give another port, or 0 for any"
            raise ServerError(why) from None
        try:
            if path is not None:
                await web.SockSite(runner, _private_socket(path)).start()
        except OSError as error:
            raise ServerError(f"cannot listen on {path}: {error.strerror or error}; give another path") from None

    @property
    def watching(self) -> int:
        """How many watches are open."""
        return len(self._watches)

    async def stop(self) -> None:
        """End watches, finish requests, and close the data file. Does nothing if not started."""
        runner, self._runner = self._runner, None
        store, self._store = self._store, None
        if runner is not None:
            self._watches.end_all()
            await asyncio.sleep(0)
            await runner.cleanup()
        if store is not None:
            store.close()

    async def __aenter__(self) -> Server:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()


def _private_socket(path: Path) -> socket.socket:
    """A unix socket that only this user can open, also in the instant after it is made; in place of an old one."""
    if path.is_socket():
        path.unlink()
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Nothing is waited for in between: the mask is the whole process's.
    before = os.umask(0o177)
    try:
        made.bind(str(path))
    except OSError:
        made.close()
        raise
    finally:
        os.umask(before)
    return made


def _create_system_objects(api: Api) -> None:
    for group, plural, objects in _SYSTEM_OBJECTS:
        for obj in objects:
            _create_missing(api, group, plural, copy.deepcopy(obj))
    _create_policy(api.store)


def _create_missing(api: Api, group: str, plural: str, obj: Object) -> None:
    served = api.catalog.find(group, "v1", plural)
    assert served is not None
    if ("", obj["metadata"]["name"]) not in served.collection.records:
        writes.create(api, served, None, obj, Intent(writer=Writer(_MANAGER, served.kind)))


def _create_policy(store: Store) -> None:
    """Roles and bindings, past the checks of a create: they are many, and known to be valid."""
    for plural, key, body in bootstrap.encoded():
        collection = store.named(f"{plural}.{rules.GROUP}")
        if key not in collection.records:
            obj: Object = msgspec.json.decode(body)
            obj["metadata"] |= {"uid": metadata.new_uid(), "creationTimestamp": metadata.timestamp()}
            store.put(collection, key, obj)


def _register_api_services(api: Api) -> None:
    """One object for each version that is served, and none for those that a former configuration served."""
    served = api.catalog.find(api_services.GROUP, "v1", "apiservices")
    assert served is not None
    collection, now = served.collection, metadata.timestamp()
    wanted = {}
    for group, versions in {"": ["v1"], **api.catalog.groups()}.items():
        for version in versions if group != api_services.GROUP else ():
            service = api_services.local(group, version, now)
            wanted["", service["metadata"]["name"]] = service
    for key in [key for key in collection.records if key not in wanted]:
        api.store.delete(collection, key, collection.records[key].object())
    for key, service in wanted.items():
        if key not in collection.records:
            service["metadata"] |= {"uid": metadata.new_uid(), "creationTimestamp": now}
            api.store.put(collection, key, service)
