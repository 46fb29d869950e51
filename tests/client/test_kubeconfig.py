"""Kubeconfigs with static credentials are read as the official client reads them, and all others by it."""

from __future__ import annotations

import base64
import os
import pwd
import re
import ssl
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from kubernetes.aio import config as official
from kubernetes.aio.client import Configuration

from drakit_client.connection import Connection
from drakit_client.credentials import kubeconfig
from drakit_client.credentials.access import Access, TokenFile
from drakit_client.errors import ConfigurationError
from drakit_client.resources import PODS
from drakit_kind.control_plane.authority import Authority

Fields = dict[str, Any]
SERVER = "https://127.0.0.1:6443"
# Whom the servers of these tests know themselves to be.
HOSTS = ("127.0.0.1", "api.example.com")


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ca.crt, server.crt and .key, client.crt and .key, both.pem; other/ca.crt signs none of them."""
    directory = tmp_path_factory.mktemp("keys")
    authority = Authority(directory)
    authority.issue("server", user="server", hosts=HOSTS)
    client = authority.issue("client", user="alice")
    (directory / "both.pem").write_bytes(client.key.read_bytes() + client.certificate.read_bytes())
    (directory / "bundle.crt").write_text("# Autorité\n" + authority.certificate.read_text())
    assert Authority(directory / "other").certificate.exists()
    key = serialization.load_pem_private_key(client.key.read_bytes(), None)
    encrypted = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    (directory / "encrypted.key").write_bytes(encrypted)
    (directory / "token").write_text("from-file")
    (directory / "blank").write_text("\n")
    (directory / "text").write_text("no certificate")
    return directory


def _write(path: Path, cluster: Fields, user: Fields, **top: Any) -> Path:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}, {"name": "c2", "cluster": {"server": "http://second"}}],
        "users": [{"name": "u", "user": user}, {"name": "u2", "user": {"token": "second"}}],
        "contexts": [
            {"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "ns"}},
            {"name": "x2", "context": {"cluster": "c2", "user": "u2"}},
        ],
        "current-context": "x",
        **top,
    }
    path.write_text(yaml.safe_dump({name: value for name, value in content.items() if value is not ...}))
    return path


def _filled(fields: Fields, keys: Path) -> Fields:
    """Values ``<NAME>`` stand for what is in a file, in base64; ``{keys}`` for the directory of the files."""

    def fill(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        inline = re.fullmatch(r"<(.*)>", value)
        return _base64(keys / inline[1]) if inline else value.replace("{keys}", str(keys))

    return {name: fill(value) for name, value in fields.items()}


def _server(keys: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=keys / "ca.crt")
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_cert_chain(keys / "server.crt", keys / "server.key")
    return context


def _handshake(client: ssl.SSLContext, keys: Path, host: str) -> str:
    """Who the server sees, or why there is no connection; without a socket."""
    inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(inward, outward, server_hostname=host)
    theirs = _server(keys).wrap_bio(outward, inward, server_side=True)
    try:
        for side in (ours, theirs, ours, theirs):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    except ssl.SSLError as error:
        return str(error.reason)
    shown = theirs.getpeercert()
    return str(shown["subject"]) if shown else "anonymous"


async def _officially(path: Path, context: str | None = None) -> Access:
    """What the official client makes of it: the oracle."""
    configuration = Configuration()
    await official.load_kube_config(str(path), context=context, client_configuration=configuration)
    connection = Connection.from_configuration(configuration)
    header = (await connection._headers()).get("authorization", "")
    token = header.removeprefix("Bearer ") or None
    return Access(configuration.host, token, connection._tls, connection._server_name)


TLS: Fields = {"server": SERVER, "certificate-authority": "{keys}/ca.crt"}
PAIR: Fields = {"client-certificate": "{keys}/client.crt", "client-key": "{keys}/client.key"}
INLINE: Fields = {"client-certificate-data": "<client.crt>", "client-key-data": "<client.key>"}
# Cluster, user, and who the server sees: None where there is no TLS.
UNDERSTOOD: dict[str, tuple[Fields, Fields, str | None]] = {
    "http": ({"server": "http://127.0.0.1:8080/"}, {"token": "t"}, None),
    "path": ({"server": "http://127.0.0.1:8080/k8s/clusters/1"}, {"token": "t"}, None),
    "http, absent files": (
        {"server": "http://h", "certificate-authority": "/absent"},
        {"client-certificate": "/absent", "client-key": "/absent"},
        None,
    ),
    "no credentials": ({"server": "http://h"}, {}, None),
    "system authorities": ({"server": SERVER}, {"token": "t"}, "CERTIFICATE_VERIFY_FAILED"),
    "authority": (TLS, {"token": "t"}, "anonymous"),
    "authority inline": ({"server": SERVER, "certificate-authority-data": "<ca.crt>"}, {"token": "t"}, "anonymous"),
    "authority with a comment": ({"server": SERVER, "certificate-authority-data": "<bundle.crt>"}, {}, "anonymous"),
    "another authority": ({**TLS, "certificate-authority": "{keys}/other/ca.crt"}, {}, "CERTIFICATE_VERIFY_FAILED"),
    "inline before file": ({**TLS, "certificate-authority-data": "<other/ca.crt>"}, {}, "CERTIFICATE_VERIFY_FAILED"),
    "insecure": ({"server": SERVER, "insecure-skip-tls-verify": True}, {"token": "t"}, "anonymous"),
    "insecure, authority": (
        {**TLS, "certificate-authority": "{keys}/other/ca.crt", "insecure-skip-tls-verify": True},
        {},
        "anonymous",
    ),
    "not insecure": ({"server": SERVER, "insecure-skip-tls-verify": False}, {}, "CERTIFICATE_VERIFY_FAILED"),
    "server name": ({**TLS, "server": "https://10.0.0.1", "tls-server-name": "api.example.com"}, {}, "anonymous"),
    "wrong server name": ({**TLS, "tls-server-name": "other.example.com"}, {}, "CERTIFICATE_VERIFY_FAILED"),
    "certificate": (TLS, PAIR, "alice"),
    "certificate inline": (TLS, INLINE, "alice"),
    "certificate inline, key file": (
        TLS,
        {"client-certificate-data": "<client.crt>", "client-key": "{keys}/client.key"},
        "alice",
    ),
    "key beside the certificate": (TLS, {"client-certificate": "{keys}/both.pem"}, "alice"),
    "certificate and token": (TLS, {**PAIR, "token": "t"}, "alice"),
    "token file": ({"server": "http://h"}, {"tokenFile": "{keys}/token"}, None),
    "relative": (
        {"server": SERVER, "certificate-authority": "keys/ca.crt"},
        {"client-certificate": "./keys/client.crt", "client-key": "keys/../keys/client.key"},
        "alice",
    ),
    "relative token file": ({"server": "http://h"}, {"tokenFile": "keys/token"}, None),
    "extensions": ({"server": "http://h", "extensions": [{"name": "e", "extension": {"a": 1}}]}, {"token": "t"}, None),
}


@pytest.mark.parametrize(("cluster", "user", "seen"), UNDERSTOOD.values(), ids=UNDERSTOOD)
async def test_what_is_understood_is_what_the_official_client_reads(
    keys: Path, tmp_path: Path, cluster: Fields, user: Fields, seen: str | None
) -> None:
    (tmp_path / "keys").symlink_to(keys)
    path = _write(tmp_path / "config", _filled(cluster, keys), _filled(user, keys))
    theirs, ours = await _officially(path), kubeconfig.read(path)
    assert ours is not None
    token = ours.token.current() if isinstance(ours.token, TokenFile) else ours.token
    assert (ours.server, token, ours.server_name) == (theirs.server, theirs.token, theirs.server_name)
    if seen is None:
        assert ours.tls is theirs.tls is None
        return
    assert ours.tls is not None
    assert theirs.tls is not None
    assert ours.tls.get_ca_certs() == theirs.tls.get_ca_certs()
    assert (ours.tls.verify_mode, ours.tls.check_hostname) == (theirs.tls.verify_mode, theirs.tls.check_hostname)
    for tls in (ours.tls, theirs.tls):
        assert seen in _handshake(tls, keys, ours.server_name or "127.0.0.1")


@pytest.mark.parametrize(
    ("context", "top", "server"),
    [
        (None, {}, "http://first"),
        ("x2", {}, "http://second"),
        (None, {"current-context": "x2"}, "http://second"),
        (None, {"preferences": {"colors": True}, "extensions": [{"name": "e"}]}, "http://first"),
        (None, {"apiVersion": ..., "kind": ...}, "http://first"),
        (None, {"users": [{"name": "u", "user": {}}, {"name": "u", "user": {"token": "other"}}]}, "http://first"),
    ],
    ids=["current", "named", "other-current", "preferences", "no-kind", "twice"],
)
async def test_the_context_is_the_one_that_the_official_client_takes(
    tmp_path: Path, context: str | None, top: Fields, server: str
) -> None:
    path = _write(tmp_path / "config", {"server": "http://first"}, {}, **top)
    theirs, ours = await _officially(path, context), kubeconfig.read(path, context)
    assert ours is not None
    assert (ours.server, ours.token) == (theirs.server, theirs.token)
    assert ours.server == server


@pytest.mark.parametrize(
    ("value", "server"),
    [(None, "http://home"), ("", "http://home"), ("{0}/a", "http://a"), (":{0}/a:", "http://a"), ("~/b", "http://b")],
)
def test_without_a_path_it_is_the_file_of_the_environment_or_the_one_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None, server: str
) -> None:
    (tmp_path / ".kube").mkdir()
    _write(tmp_path / ".kube/config", {"server": "http://home"}, {})
    for name in ("a", "b"):
        _write(tmp_path / name, {"server": f"http://{name}"}, {})
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    if value is not None:
        monkeypatch.setenv("KUBECONFIG", value.format(tmp_path))
    access = kubeconfig.read()
    assert access is not None
    assert access.server == server


@pytest.mark.parametrize(
    ("cluster", "user", "top"),
    [
        ({}, {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "plugin"}}, {}),
        ({}, {"auth-provider": {"name": "oidc"}}, {}),
        ({}, {"username": "u", "password": "p"}, {}),
        ({}, {"token": "t", "tokenFile": "/some/file"}, {}),
        ({}, {"token": "t", "of-next-year": 1}, {}),
        ({"disable-compression": True}, {}, {}),
        ({}, {}, {"of-next-year": {"a": 1}}),
    ],
    ids=lambda fields: ",".join(fields) or "-",
)
def test_what_is_not_understood_to_the_last_field_is_for_the_official_client(
    tmp_path: Path, cluster: Fields, user: Fields, top: Fields
) -> None:
    path = _write(tmp_path / "config", {"server": "http://h", **cluster}, user, **top)
    assert kubeconfig.read(path) is None
    # The other context of the same file has nothing of that, unless the file itself has.
    assert (kubeconfig.read(path, "x2") is None) == bool(top)


def test_fields_without_a_value_are_as_good_as_not_there(tmp_path: Path) -> None:
    cluster = {"server": "http://h", "certificate-authority-data": "", "proxy-url": "", "disable-compression": False}
    access = kubeconfig.read(_write(tmp_path / "config", cluster, {"token": "t", "tokenFile": "", "exec": None}))
    assert access == Access("http://h", "t")


@pytest.mark.parametrize("as_option", [True, False], ids=["option", "environment"])
async def test_several_files_are_merged_by_the_official_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_option: bool
) -> None:
    first = _write(tmp_path / "a", {"server": "http://h"}, {}, users=[])
    second = _write(tmp_path / "b", {"server": "http://no"}, {"token": "of-b"})
    both = f"{first}{os.pathsep}{second}"
    monkeypatch.setenv("KUBECONFIG", "/absent" if as_option else both)
    connection = await Connection.from_kubeconfig(both if as_option else None)
    assert connection.server == "http://h"
    assert await connection._headers() == {"authorization": "Bearer of-b"}


PLUGIN = """
import json
status = {"token": "of-the-plugin"}
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("user", "expected"),
    [
        (
            {
                "exec": {
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "command": sys.executable,
                    "args": ["-c", PLUGIN],
                    "interactiveMode": "Never",
                }
            },
            "Bearer of-the-plugin",
        ),
        ({"username": "u", "password": "p"}, "Basic dTpw"),
    ],
    ids=["exec", "password"],
)
async def test_plugins_and_passwords_work_as_the_official_client_has_them(
    tmp_path: Path, user: Fields, expected: str
) -> None:
    connection = await Connection.from_kubeconfig(_write(tmp_path / "config", {"server": "http://h"}, user))
    assert await connection._headers() == {"authorization": expected}


PLACE = r"users\[u\]\.user\."
# Cluster, user, other fields, and what the message says after the file's path.
DAMAGED: dict[str, tuple[Fields, Fields, Fields, str]] = {
    "another user": ({}, {"token": "t", "as": "x"}, {}, f"{PLACE}as asks for impersonation, which drakit cannot do"),
    "other groups": ({}, {"token": "t", "as-groups": ["g"]}, {}, f"{PLACE}as-groups asks for impersonation"),
    "a proxy": ({"proxy-url": "http://p"}, {}, {}, r"clusters\[c\]\.cluster\.proxy-url asks for a proxy"),
    "no current context": ({}, {}, {"current-context": ...}, "current-context is not set; name a context"),
    "no such context": ({}, {}, {"current-context": "y"}, "contexts has no 'y'; there is x, x2"),
    "no contexts": ({}, {}, {"contexts": None}, "contexts has no 'x'; there is none"),
    "no such user": ({}, {}, {"users": []}, "users has no 'u'; there is none"),
    "no such cluster": ({}, {}, {"clusters": [{"name": "d"}]}, "clusters has no 'c'; there is d"),
    "clusters": ({}, {}, {"clusters": {"c": {}}}, "clusters must be a list"),
    "entries": ({}, {}, {"clusters": ["c"]}, "clusters must be a list of objects with a name"),
    "entry": ({}, {}, {"users": [{"name": "u", "user": "t"}]}, r"users\[u\]\.user must be an object with fields"),
    "no cluster": (
        {},
        {},
        {"contexts": [{"name": "x", "context": {"user": "u"}}]},
        r"contexts\[x\]\.context\.cluster is not set",
    ),
    "no server": ({"server": None}, {}, {}, r"clusters\[c\]\.cluster\.server is not set; it is the URL"),
    "no scheme": ({"server": "h:1"}, {}, {}, r"cluster\.server is 'h:1'; it must begin with https:// or http://"),
    "server": ({"server": 1}, {}, {}, r"cluster\.server must be text; put it in quotes"),
    "insecure": ({"insecure-skip-tls-verify": "false"}, {}, {}, "insecure-skip-tls-verify must be true or false"),
    "token": ({}, {"token": 123}, {}, f"{PLACE}token must be text; put it in quotes"),
    "token file": ({}, {"tokenFile": "/absent/t"}, {}, f"{PLACE}tokenFile: /absent/t: No such file or directory"),
    "token file, empty": (
        {},
        {"tokenFile": "{keys}/blank"},
        {},
        f"{PLACE}tokenFile: .*/blank must hold a bearer token",
    ),
    "token file, lines": ({}, {"tokenFile": "{keys}/ca.crt"}, {}, f"{PLACE}tokenFile: .*/ca.crt must hold .* one line"),
    "authority, absent": (
        {"certificate-authority": "/absent/c"},
        {},
        {},
        r"clusters\[c\]\.cluster\.certificate-authority: /absent/c: No such file or directory",
    ),
    "authority, text": (
        {"certificate-authority": "{keys}/text"},
        {},
        {},
        "cluster.certificate-authority is no certificate in PEM form",
    ),
    "authority, blank": (
        {"certificate-authority": "{keys}/blank"},
        {},
        {},
        "certificate-authority is no certificate in PEM form .it is empty",
    ),
    "authority, no base64": (
        {"certificate-authority-data": "/etc/ca.crt"},
        {},
        {},
        r"cluster\.certificate-authority-data is not base64 \(.*\); to name a file, write certificate-authority$",
    ),
    "key of another": (
        {},
        {"client-certificate": "{keys}/client.crt", "client-key-data": "<server.key>"},
        {},
        f"{PLACE}client-certificate and client-key-data must be a certificate and its key in PEM form .*MISMATCH",
    ),
    "no key": (
        {},
        {"client-certificate-data": "<client.crt>"},
        {},
        f"{PLACE}client-certificate-data and client-key must be",
    ),
    "no certificate": (
        {},
        {"client-key-data": "<client.key>"},
        {},
        f"{PLACE}client-certificate is not set, but client-key-data is",
    ),
    "key, absent": (
        {},
        {"client-certificate": "{keys}/client.crt", "client-key": "/absent/k"},
        {},
        f"{PLACE}client-key: /absent/k: No such file or directory",
    ),
    "key, encrypted": (
        {},
        {"client-certificate": "{keys}/client.crt", "client-key": "{keys}/encrypted.key"},
        {},
        "the key is encrypted; decrypt it, e.g. with `openssl pkey`",
    ),
}


@pytest.mark.parametrize(("cluster", "user", "top", "message"), DAMAGED.values(), ids=DAMAGED)
async def test_what_is_wrong_is_said_with_file_and_field(
    keys: Path, tmp_path: Path, cluster: Fields, user: Fields, top: Fields, message: str
) -> None:
    cluster = _filled({"server": SERVER, **cluster}, keys)
    path = _write(tmp_path / "config", cluster, _filled(user, keys), **top)
    with pytest.raises(ConfigurationError, match=f"^{re.escape(str(path))}: .*{message}"):
        await Connection.from_kubeconfig(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "config: there is no such file$"),
        (b"", "not a kubeconfig: it must have clusters, users and contexts"),
        (b"[]", "not a kubeconfig"),
        (b"users: [{name: u, user: {token: secret}]", "not YAML: line 1, column 40: expected ',' or '}'"),
        (b"\xff\xfe\xff", "not YAML: "),
    ],
    ids=["absent", "empty", "list", "yaml", "binary"],
)
def test_a_file_that_is_no_kubeconfig(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "config").write_bytes(content)
    with pytest.raises(ConfigurationError, match=message) as caught:
        kubeconfig.read(tmp_path / "config")
    assert "secret" not in str(caught.value)


def test_a_directory_is_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"{tmp_path}: Is a directory"):
        kubeconfig.read(tmp_path)


def test_who_has_no_kubeconfig_reads_where_one_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with pytest.raises(
        ConfigurationError, match=r"/\.kube/config: there is no such file \(the default, as \$KUBECONFIG"
    ):
        kubeconfig.read()

    def nobody(_: int) -> Any:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    with pytest.raises(ConfigurationError, match="there is no home directory"):
        kubeconfig.read()


@pytest.mark.parametrize(
    ("user", "top"),
    [
        ({"exec": {"command": "plugin"}}, {"clusters": [{"name": "c", "cluster": {"server": 1}}]}),
        ({"auth-provider": {"name": "oidc"}}, {}),
        ({"auth-provider": {"name": "oidc", "config": {"id-token": "a"}}}, {}),
        ({"token": "t", "tokenFile": "/absent", "client-key": "/absent"}, {}),
    ],
    ids=["shape", "missing", "value", "file"],
)
async def test_what_the_official_client_refuses_is_the_same_error(tmp_path: Path, user: Fields, top: Fields) -> None:
    path = _write(tmp_path / "config", {"server": SERVER}, user, **top)
    with pytest.raises(ConfigurationError, match=f"^{re.escape(str(path))}: "):
        await Connection.from_kubeconfig(path)


def test_a_token_file_is_read_again_each_minute(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    now, file = [1000.0], tmp_path / "token"
    file.write_text("first\n")
    token = TokenFile(file, "the file", clock=lambda: now[0])
    file.write_text("second\n")
    now[0] += 59
    assert token.current() == "first"
    now[0] += 1
    assert token.current() == "second"
    file.unlink()
    now[0] += 60
    assert token.current() == "second"
    assert "the file: " in caplog.text
    assert "No such file or directory; the last token is used on" in caplog.text
    file.write_text("third\n")
    assert token.current() == "second"
    now[0] += 60
    assert token.current() == "third"


async def test_requests_and_watches_show_the_certificate_and_check_the_name(keys: Path, tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []

    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        certificate = request.transport.get_extra_info("peercert")
        seen.append((str(certificate["subject"]), request.headers["Authorization"]))
        metadata = {"metadata": {"resourceVersion": "1"}}
        return web.json_response({**metadata, "items": [], "type": "BOOKMARK", "object": metadata})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    # Not an address that the certificate is for.
    site = web.TCPSite(runner, "127.0.0.2", 0, ssl_context=_server(keys))
    await site.start()
    port = runner.addresses[0][1]
    cluster = {**TLS, "server": f"https://127.0.0.2:{port}", "tls-server-name": "api.example.com"}
    path = _write(tmp_path / "config", _filled(cluster, keys), _filled({**INLINE, "token": "t"}, keys))
    async with await Connection.from_kubeconfig(path) as connection:
        await connection.list(PODS)
        assert [event async for event in connection.watch(PODS, resource_version="1")]
    await runner.cleanup()
    assert len(seen) == 2
    assert all("alice" in subject and token == "Bearer t" for subject, token in seen)


def test_where_there_is_no_memory_file_a_private_one_is_gone_at_once(
    keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _write(tmp_path / "config", _filled(TLS, keys), _filled(INLINE, keys))
    directory = tmp_path / "tmp"
    directory.mkdir()
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    modes: list[int] = []
    load = ssl.SSLContext.load_cert_chain

    def watched(*args: Any, **options: Any) -> None:
        modes.extend(file.stat().st_mode & 0o777 for file in directory.iterdir())
        load(*args, **options)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watched)
    access = kubeconfig.read(path)
    assert access is not None
    assert access.tls is not None
    assert "alice" in _handshake(access.tls, keys, "127.0.0.1")
    assert modes == [0o600, 0o600]
    assert not list(directory.iterdir())
