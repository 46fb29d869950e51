"""A pod reads its service account, as the official client does, and says what is missing where there is none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kubernetes.aio.client import Configuration
from kubernetes.aio.config.incluster_config import InClusterConfigLoader

from drakit_client.connection import Connection
from drakit_client.credentials import service_account
from drakit_client.credentials.access import TokenFile
from drakit_client.errors import ConfigurationError
from drakit_kind.control_plane.authority import Authority


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a service account, and the variables of a pod."""
    (tmp_path / "ca.crt").write_bytes(Authority(tmp_path / "pki").certificate.read_bytes())
    (tmp_path / "token").write_text("of-the-pod")
    monkeypatch.setattr(service_account, "DIRECTORY", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    return tmp_path


@pytest.mark.parametrize(
    ("host", "server"),
    [
        ("10.96.0.1", "https://10.96.0.1:443"),
        ("fd00:10:96::1", "https://[fd00:10:96::1]:443"),
        ("kubernetes.default.svc", "https://kubernetes.default.svc:443"),
    ],
)
async def test_a_pod_has_what_the_official_client_reads(
    pod: Path, monkeypatch: pytest.MonkeyPatch, host: str, server: str
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    configuration = Configuration()
    InClusterConfigLoader(str(pod / "token"), str(pod / "ca.crt")).load_and_set(configuration)
    theirs, ours = Connection.from_configuration(configuration), Connection.in_cluster()
    assert ours.server == theirs.server == server
    (token,) = (await theirs._headers()).values()
    assert await ours._headers() == {"Authorization": token.replace("bearer", "Bearer")}
    assert ours._tls is not None
    assert theirs._tls is not None
    assert ours._tls.get_ca_certs() == theirs._tls.get_ca_certs()
    assert ours._tls.verify_mode == theirs._tls.verify_mode
    assert ours._tls.check_hostname


def test_its_token_is_one_that_is_read_again(pod: Path) -> None:
    assert isinstance(service_account.read().token, TokenFile)


@pytest.mark.parametrize("name", ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"])
def test_outside_of_a_pod_the_missing_variable_is_named(pod: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    message = rf"\${name} is not set, so this is not a pod"
    monkeypatch.setenv(name, "")
    with pytest.raises(ConfigurationError, match=message):
        Connection.in_cluster()
    monkeypatch.delenv(name)
    with pytest.raises(ConfigurationError, match=message):
        Connection.in_cluster()


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("token", None, "token: No such file or directory"),
        ("token", "", "token must hold a bearer token"),
        ("ca.crt", None, "ca.crt: No such file or directory"),
        ("ca.crt", "", "ca.crt is no certificate in PEM form (it is empty)"),
        ("ca.crt", "text", "ca.crt is no certificate in PEM form ("),
    ],
)
def test_what_the_kubelet_did_not_put_there_is_named(pod: Path, file: str, content: str | None, message: str) -> None:
    (pod / file).unlink()
    if content is not None:
        (pod / file).write_text(content)
    with pytest.raises(ConfigurationError, match=re.escape(f"(automountServiceAccountToken): {pod}/{message}")):
        Connection.in_cluster()
