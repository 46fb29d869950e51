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
from collections.abc import Collection
from pathlib import Path

import msgspec
from aiohttp import web

from drakit_api.features import PATCHES_GATE
from drakit_api.kubernetes_objects import Object
from drakit_embedded import certificates
from drakit_embedded.apiserver import own_service
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.authorization import bootstrap, rbac_rules
from drakit_embedded.apiserver.config import ServerConfig
from drakit_embedded.apiserver.endpoints.http import BODY_BYTES, Handler
from drakit_embedded.apiserver.extending.definitions import Definitions
from drakit_embedded.apiserver.identity import static_tokens
from drakit_embedded.apiserver.identity.jwt import SigningKey
from drakit_embedded.apiserver.identity.users import ADMIN, User, authenticated
from drakit_embedded.apiserver.kubelet_access import AccessError, KubeletAccess
from drakit_embedded.apiserver.managedfields import managers
from drakit_embedded.apiserver.managedfields.updates import Writer
from drakit_embedded.apiserver.reading.watching import Watches
from drakit_embedded.apiserver.registry.catalog import Catalog
from drakit_embedded.apiserver.registry.services import allocation
from drakit_embedded.apiserver.scheme import api_services, metadata
from drakit_embedded.apiserver.storage.aging import Aging
from drakit_embedded.apiserver.storage.store import Store
from drakit_embedded.apiserver.writing import writes
from drakit_embedded.apiserver.writing.intent import Intent
from drakit_embedded.serving import descriptors
from drakit_embedded.serving.background import LoopThread
from drakit_embedded.serving.http_server import HttpServer

_HOST = "127.0.0.1"
# The namespaces and priority classes of every cluster (k8s.io/kubernetes/pkg/controlplane/controller/systemnamespaces,
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
# What is left is for files, for connections that the process opens itself, and for the other servers in it.
_SHARE_OF_DESCRIPTORS = 0.5
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
        self._api: Api | None = None
        self._port = 0
        self._http: HttpServer | None = None
        # Whether the data file existed before.
        self._continued = False
        self._watches = Watches()
        self._definitions: Definitions | None = None
        self._aging: Aging | None = None

    async def start(self) -> str:
        """Open the store and listen; the URL, e.g. ``http://127.0.0.1:41235``.

        Raises ``JournalError`` (data file), ``ServerError`` (port, certificate) or ``FeatureGateError``.
        """
        config = self.config
        self._continued = config.data_file is not None and config.data_file.exists()
        store = Store(config.data_file)
        try:
            context = self._tls()
            catalog = Catalog(store, config.gates, config.runtime_config, config.beside)
            store.load()
            api = Api(
                store,
                catalog,
                config.gates,
                self._kubelets(),
                tokens=self._users(),
                account_key=self._account_key(),
                certificates=config.client_ca_file is not None and context is not None,
                request_timeout=config.request_timeout,
            )
            store.home = LoopThread()
            allocation.repair(api)
            _create_system_objects(api)
            _register_api_services(api)
            if config.gates.enabled(PATCHES_GATE):
                _install_patches(api)
            definitions = Definitions(api, self._watches)
            definitions.start()
            handler = Handler(
                api,
                self._watches,
                version=config.gates.emulated_version,
                address=lambda: self.url.partition("://")[2],
                recognized=self._recognized,
            )
            self._listen(handler, context)
            own_service.publish(api, _HOST, self._port)
            aging = Aging(store, api.turns, config.list_interval)
            aging.start()
        except BaseException:
            store.close()
            await self.stop()
            raise
        self._store, self._api, self._definitions, self._aging = store, api, definitions, aging
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
        """Find where a key is kept beside the data; under its former name if a former release has put one there."""
        data = self.config.data_file
        if data is None:
            return None
        path, former = data.with_name(data.name + ending), data.with_suffix(ending)
        return former if self._continued and former.exists() and not path.exists() else path

    def _kubelets(self) -> KubeletAccess:
        try:
            self.config.kubelets.check()
        except AccessError as error:
            raise ServerError(str(error)) from None
        return self.config.kubelets

    def _listen(self, handler: Handler, context: ssl.SSLContext | None) -> None:
        port, path = self.config.port, self.config.socket
        http = HttpServer(handler, body_bytes=BODY_BYTES)
        try:
            bound = _bound(port)
        except OSError as error:
            why = f"cannot listen on {_HOST}:{port}: {error.strerror}; give another port, or 0 for any"
            raise ServerError(why) from None
        try:
            private = _private_socket(path) if path is not None else None
        except OSError as error:
            bound.close()
            raise ServerError(f"cannot listen on {path}: {error.strerror or error}; give another path") from None
        http.listen(bound, context, most=descriptors.connections(_SHARE_OF_DESCRIPTORS))
        if private is not None:
            # Only this user can open it, and the clients are in this process.
            http.listen(private)
        self._http = http
        self._port = bound.getsockname()[1]
        self.url = f"{'https' if context else 'http'}://{_HOST}:{self._port}"

    def _recognized(self, request: web.BaseRequest) -> None:
        if self._http is not None:
            self._http.recognize(request)

    @property
    def watching(self) -> int:
        """How many watches are open."""
        return len(self._watches)

    async def stop(self) -> None:
        """End watches, finish requests, and close the data file. Does nothing if not started."""
        http, self._http = self._http, None
        store, self._store = self._store, None
        if http is not None:
            self._watches.end_all()
            await asyncio.sleep(0)
            await http.close(_SHUTDOWN_SECONDS)
        aging, self._aging = self._aging, None
        if aging is not None:
            await aging.stop()
        definitions, self._definitions = self._definitions, None
        if definitions is not None:
            await definitions.stop()
        api, self._api = self._api, None
        if api is not None:
            await api.close()
        if store is not None:
            store.close()

    async def __aenter__(self) -> Server:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()


def _bound(port: int) -> socket.socket:
    """Bind a listening socket on loopback; ``OSError`` if the port is taken."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((_HOST, port))
        # Fails if another process listens on the port.
        made.listen()
    except OSError:
        made.close()
        raise
    return made


def _private_socket(path: Path) -> socket.socket:
    """Replace ``path`` by a unix socket that only this user can open, also in the instant after it is made."""
    if path.is_socket():
        path.unlink()
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # No other code of this process runs in between, as the umask is the whole process's.
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
    _create_policy(api.store, {gate.name for gate in api.gates.known() if gate.enabled})


def _create_missing(api: Api, group: str, plural: str, obj: Object) -> None:
    served = api.catalog.find(group, "v1", plural)
    assert served is not None
    if ("", obj["metadata"]["name"]) not in served.collection.records:
        writes.create(api, served, None, obj, Intent(writer=Writer(managers.SERVER, served.kind)))


def _create_policy(store: Store, gates: Collection[str]) -> None:
    """Create roles and bindings without the checks of a create: they are many, and known to be valid."""
    for plural, key, body in bootstrap.encoded(gates):
        collection = store.named(f"{plural}.{rbac_rules.GROUP}")
        if key not in collection.records:
            obj: Object = msgspec.json.decode(body)
            obj["metadata"] |= {"uid": metadata.new_uid(), "creationTimestamp": metadata.timestamp()}
            store.put(collection, key, obj)


def _install_patches(api: Api) -> None:
    # Imported here, as few servers have patches.
    from drakit_embedded.apiserver.extending import slice_patches

    slice_patches.install(api)


def _register_api_services(api: Api) -> None:
    """Create an APIService for each version that is served, and delete those of a former configuration."""
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
