"""``drakit apiserver``: the embedded API server as a process of its own."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gc
import importlib
import json
import os
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drakit_client.processes.process_logging import logs_as
from drakit_embedded.serving import descriptors

if TYPE_CHECKING:
    from drakit_embedded.apiserver import Server, ServerConfig

_AUTHORITIES = "SSL_CERT_FILE"


@click.group()
def apiserver() -> None:
    """Run the embedded API server and its controllers, without nodes, scheduler or drivers."""


@apiserver.command()
@logs_as("apiserver")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on loopback. [default: any free one]")
@click.option(
    "--token", envvar="DRAKIT_TOKEN", help="The administrator's bearer token; $DRAKIT_TOKEN. [default: a random one]"
)
@click.option(
    "--token-auth-file",
    type=click.Path(exists=True, dir_okay=False),
    help='More users, one a line: token,user,uid,"group,group". What they may do is what RBAC grants them.',
)
@click.option(
    "--client-ca-file",
    type=click.Path(exists=True, dir_okay=False),
    help="Clients may show a certificate signed by one of these: CN is the user, O are the groups. Not with --no-tls.",
)
@click.option(
    "--service-account-signing-key-file",
    type=click.Path(exists=True, dir_okay=False),
    help="RSA or P-256 key of service accounts' tokens. [default: one of its own, kept beside the data file]",
)
@click.option(
    "--kubelet-certificate-authority",
    type=click.Path(dir_okay=False),
    help="Whose serving certificate one of these signed is a kubelet: $DRAKIT_KUBELET_TOKEN is sent to nobody else. "
    "`drakit kubelet run` writes its own to ROOT/.kubelet.crt.",
)
@click.option("--data-file", type=click.Path(dir_okay=False), help="SQLite file. [default: everything in memory]")
@click.option("--kubeconfig", type=click.Path(dir_okay=False), help="Write a kubeconfig for this server to FILE.")
@click.option("--tls/--no-tls", default=True, show_default=True, help="HTTPS; kubectl sends tokens over nothing else.")
@click.option("--tls-cert-file", type=click.Path(exists=True, dir_okay=False), help="[default: self-signed]")
@click.option(
    "--cert-dir",
    type=click.Path(file_okay=False),
    help="Where a self-signed certificate and its key are kept, for a quicker start; new data files get a copy beside "
    "them. [default: in the user's cache]",
)
@click.option("--tls-private-key-file", type=click.Path(exists=True, dir_okay=False), help="Key of the certificate.")
@click.option("--emulated-version", default="1.37", show_default=True, help="Kubernetes version to behave as.")
@click.option(
    "--min-compatibility-version", help="Of all that it has to work with.  [default: a minor version less than it is]"
)
@click.option("--feature-gates", default="", metavar="A=true,B=false", help="Gates that differ from their defaults.")
@click.option("--runtime-config", default="", metavar="VERSION=true,...", help="e.g. resource.k8s.io/v1beta1=true")
@click.option("--controllers/--no-controllers", default=True, show_default=True, help="Claims, workloads, garbage.")
def run(**given: Any) -> None:
    """Serve until interrupted. What was acknowledged is in the data file, however this ends.

    The holder of --token may do everything. All others (of a file, with a certificate, service accounts, and whoever
    the administrator impersonates) are judged as by kube-apiserver with --authorization-mode=Node,RBAC and
    NodeRestriction.
    """
    options = _Options(**given)
    if options.client_ca_file and not options.tls:
        raise click.UsageError("--client-ca-file needs TLS: leave out --no-tls")
    descriptors.raise_limit()
    # Objects loaded at the start stay; having the garbage collector scan them costs a third of a write's time.
    gc.disable()
    with _without_authorities():
        from drakit_api.features import FeatureGateError
        from drakit_embedded.apiserver import JournalError, ServerError
        from drakit_embedded.runtime_config import RuntimeConfigError

    try:
        asyncio.run(_serve(_config(options), _path(options.kubeconfig), controllers=options.controllers))
    except (FeatureGateError, JournalError, RuntimeConfigError, ServerError, OSError) as error:
        raise click.ClickException(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class _Options:
    """The options of ``run``, as click gives them."""

    port: int
    token: str | None
    token_auth_file: str | None
    client_ca_file: str | None
    service_account_signing_key_file: str | None
    kubelet_certificate_authority: str | None
    data_file: str | None
    kubeconfig: str | None
    tls: bool
    tls_cert_file: str | None
    cert_dir: str | None
    tls_private_key_file: str | None
    emulated_version: str
    min_compatibility_version: str | None
    feature_gates: str
    runtime_config: str
    controllers: bool


def _config(options: _Options) -> ServerConfig:
    """Read the options. Raises ``FeatureGateError`` and ``RuntimeConfigError``."""
    from drakit_api.features import FeatureGates, parse_gates
    from drakit_embedded.apiserver import KubeletAccess, ServerConfig
    from drakit_embedded.runtime_config import parse

    return ServerConfig(
        port=options.port,
        token=options.token,
        token_auth_file=_path(options.token_auth_file),
        client_ca_file=_path(options.client_ca_file),
        service_account_key_file=_path(options.service_account_signing_key_file),
        data_file=_path(options.data_file),
        gates=FeatureGates(
            options.emulated_version,
            parse_gates(options.feature_gates),
            min_compatibility_version=options.min_compatibility_version,
        ),
        beside=frozenset({"controllers"} if options.controllers else ()),
        runtime_config=parse(options.runtime_config),
        tls=options.tls,
        tls_cert_file=_path(options.tls_cert_file),
        tls_key_file=_path(options.tls_private_key_file),
        certificate_directory=_path(options.cert_dir)
        or (_certificates() if options.tls and not options.tls_cert_file else None),
        kubelets=KubeletAccess(
            authority=_path(options.kubelet_certificate_authority), token=os.environ.get("DRAKIT_KUBELET_TOKEN", "")
        ),
    )


@apiserver.command()
@click.argument("data_file", type=click.Path(dir_okay=False, path_type=Path))
def repair(data_file: Path) -> None:
    """Repair a damaged DATA_FILE, so that a server starts with it.

    A server refuses a file of which it knows that changes are damaged or missing. This keeps a copy beside it, takes
    out the objects whose newest state is damaged, and says which; what is missing stays missing.
    """
    from drakit_embedded.apiserver import JournalError
    from drakit_embedded.apiserver.storage.repair import repair

    try:
        lines = repair(data_file)
    except JournalError as error:
        raise click.ClickException(str(error)) from None
    click.echo("\n".join(lines))


@contextlib.contextmanager
def _without_authorities() -> Iterator[None]:
    """Hide certificate authorities from the import of aiohttp, which reads all of the system or environment.

    That takes a sixth of the start, and nobody whom this process talks to has a certificate of theirs.
    """
    given = os.environ.get(_AUTHORITIES)
    os.environ[_AUTHORITIES] = os.devnull
    try:
        yield
    finally:
        del os.environ[_AUTHORITIES]
        if given is not None:
            os.environ[_AUTHORITIES] = given


def _path(given: str | None) -> Path | None:
    return Path(given) if given else None


def _certificates() -> Path | None:
    """Find the directory of certificates that all servers of a user share; None if it cannot be had."""
    from drakit_client.files.user_cache import cache_directory

    directory = cache_directory() / "certificates"
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    return directory if os.access(directory, os.W_OK) else None


async def _serve(config: ServerConfig, kubeconfig: Path | None, *, controllers: bool) -> None:
    from drakit_client.processes.readiness import announce_ready, told_to_stop
    from drakit_embedded.apiserver import Server

    stopped = told_to_stop()
    async with Server(config) as server:
        if kubeconfig is not None:
            _write_kubeconfig(kubeconfig, server)
            click.echo(f"kubeconfig: {kubeconfig}")
        elif config.token is None:
            click.echo(f"token: {server.token}")
        click.echo(f"serving on {server.url}")
        announce_ready()
        gc.freeze()
        # A slice is thousands of objects, none of which is garbage before the request is answered.
        gc.set_threshold(20_000)
        gc.enable()
        if controllers:
            await _until(stopped, server)
        else:
            await stopped.wait()


async def _until(stopped: asyncio.Event, server: Server) -> None:
    """Run the controllers until asked to stop, or until they fail."""
    # Run in a thread, so that the server can answer meanwhile.
    await asyncio.to_thread(importlib.import_module, "drakit_embedded.controllers")
    from drakit_client.connection import Connection
    from drakit_embedded import controllers

    root_ca = (server.ca_certificate or b"").decode()
    tls = ssl.create_default_context(cadata=root_ca) if root_ca else None
    async with Connection(server.url, token=server.token, tls=tls, user_agent="drakit-controllers") as connection:
        running = asyncio.create_task(controllers.run(connection, gates=server.config.gates, root_ca=root_ca))
        waiting = asyncio.create_task(stopped.wait())
        done, pending = await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        if running in done:
            running.result()


def _write_kubeconfig(path: Path, server: Server) -> None:
    """Write a kubeconfig that only its owner can read, since the token is in it."""
    from drakit_client.files import private_files

    cluster = {"server": server.url}
    if server.ca_certificate is not None:
        cluster["certificate-authority-data"] = base64.b64encode(server.ca_certificate).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "drakit",
        "clusters": [{"name": "drakit", "cluster": cluster}],
        "users": [{"name": "drakit", "user": {"token": server.token}}],
        "contexts": [{"name": "drakit", "context": {"cluster": "drakit", "user": "drakit"}}],
    }
    private_files.write(path.resolve(), json.dumps(config, indent=1))  # a symlink stays one
