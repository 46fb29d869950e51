"""A download gets what projects publish, puts in place what has the published checksum, and leaves nothing else."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from drakit_embedded import certificates
from drakit_kind.cli.kubernetes.download_progress import DownloadProgress
from drakit_kind.cluster import ClusterError
from drakit_kind.kubernetes import mains, published
from drakit_kind.kubernetes.assets import find_assets
from drakit_kind.kubernetes.cache import CacheEntry
from drakit_kind.kubernetes.download import published_digest
from drakit_kind.kubernetes.fetching import checked_host
from drakit_kind.kubernetes.published import Hosts, published_files
from drakit_kind.kubernetes.releases import pinned_release
from tests.kind.drakit_command import Drakit, command
from tests.kind.kubernetes.fake_go import FakeGo
from tests.kind.kubernetes.release_site import ARCH, CONTAINERD, ReleaseSite, program

_SECONDS = 20.0
_PUBLISHED = [name for name in mains.NAMES if name not in ("pause", "dra-test-driver")]


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the proxies of the machine that runs the tests."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def site(direct: None) -> Iterator[ReleaseSite]:
    """A host with all that is published of 1.37.1 and 1.36.3."""
    site = ReleaseSite()
    for version in ("1.37.1", "1.36.3"):
        site.publish_kubernetes(version)
    site.publish_others()
    with site.serving():
        yield site


@pytest.fixture
def download(drakit: Drakit, site: ReleaseSite) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``drakit kubernetes download`` with the site as both hosts."""

    def run(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        return drakit("kubernetes", "download", *_hosts(site), *arguments, code=code)

    return run


Download = Callable[..., subprocess.CompletedProcess[str]]


def _hosts(site: ReleaseSite) -> list[str]:
    return ["--url", site.url, "--github-url", f"{site.url}/"]


def _entry(version: str) -> CacheEntry:
    return CacheEntry.of(pinned_release(version))


def _there(version: str) -> list[str]:
    return sorted(path.name for path in _entry(version).binaries.glob("*"))


def _kubernetes(name: str, version: str = "1.36.3") -> str:
    return f"/v{version}/bin/linux/{ARCH}/{name}"


@pytest.mark.slow
def test_clusters_find_what_was_downloaded(download: Download, drakit: Drakit, site: ReleaseSite) -> None:
    done = download("1.37.1")
    assert _there("1.37.1") == sorted(_PUBLISHED)
    found = json.loads(drakit("kubernetes", "where", "1.37.1", "-o", "json").stdout)
    assert sorted(found) == sorted(_PUBLISHED)
    for name, path in found.items():
        said = subprocess.run([path], capture_output=True, text=True, check=True).stdout
        assert said == ("Kubernetes v1.37.1\n" if name in mains.OF_KUBERNETES else f"{name}\n")
    assert find_assets("1.36.3").path("etcd") == _entry("1.37.1").binaries / "etcd"
    lines = done.stdout.splitlines()
    assert lines[0] == "downloading kube-apiserver (1 of 11)"
    assert re.fullmatch(r"kube-apiserver +\d+\.\d s +0\.0 MiB", lines[1])
    assert re.fullmatch(r"Kubernetes 1\.37\.1 has 17 of 19 binaries: /.*/bin \(0\.0 MiB\)", lines[-1])
    assert done.stderr == (
        "dra-test-driver and pause are published as an image only; with Go, build what you need of it: "
        "`drakit kubernetes build 1.37.1 --only dra-test-driver --only pause`\n"
    )


@pytest.mark.slow
def test_what_is_there_is_not_downloaded_again_until_it_is_asked_for(download: Download, site: ReleaseSite) -> None:
    entry = _entry("1.36.3")
    entry.make()
    (entry.binaries / "kubelet").write_text("built before")
    download("1.36.3")
    assert (entry.binaries / "kubelet").read_text() == "built before"
    assert _there("1.36.3") == sorted(mains.OF_KUBERNETES)
    asked = len(site.asked)
    assert ", nothing was to be done: /" in download("1.36.3").stdout
    assert len(site.asked) == asked
    download("1.36.3", "--only", "kubelet", "--replace")
    assert (entry.binaries / "kubelet").read_bytes() == program("kubelet", "1.36.3")


@pytest.mark.slow
def test_a_build_goes_on_where_a_download_stopped(download: Download, drakit: Drakit, go: FakeGo) -> None:
    download("1.37.1")
    drakit("kubernetes", "build", "1.37.1")
    assert go.built == ["dra-test-driver", "pause"]
    assert download("1.37.1").stderr == ""


@pytest.mark.slow
def test_what_is_downloaded_is_the_users_alone_and_is_noted(download: Download, cache: Path) -> None:
    download("1.36.3", "--only", "kubelet")
    entry = _entry("1.36.3")
    assert {path.stat().st_mode & 0o777 for path in (cache, entry.directory, entry.binaries)} == {0o700}
    digest = hashlib.sha256(program("kubelet", "1.36.3")).hexdigest()
    assert entry.log.read_text().endswith(
        f" kubelet, downloaded from {_site_of(entry)}{_kubernetes('kubelet')} (sha256:{digest})\n"
    )


def _site_of(entry: CacheEntry) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+", entry.log.read_text())
    assert found is not None
    return found[0]


@pytest.mark.slow
def test_a_file_with_another_checksum_is_refused_and_what_came_before_it_is_kept(
    download: Download, site: ReleaseSite
) -> None:
    scheduler = _kubernetes("kube-scheduler")
    good, site.files[scheduler] = site.files[scheduler], b"something else"
    failed = download("1.36.3", code=1).stderr
    assert failed == (
        f"Error: {site.url}{scheduler} is not what was published: its sha256 is "
        f"{hashlib.sha256(b'something else').hexdigest()}, and {site.url}{scheduler}.sha256 says "
        f"{hashlib.sha256(good).hexdigest()}; it was removed. Try again later, or another --url\n"
    )
    assert _there("1.36.3") == ["kube-apiserver", "kube-controller-manager"]
    assert not _entry("1.36.3").unfinished.exists()
    site.files[scheduler] = good
    asked = len(site.asked)
    download("1.36.3")
    assert _there("1.36.3") == sorted(mains.OF_KUBERNETES)
    assert site.asked[asked] == f"{scheduler}.sha256"


@pytest.mark.slow
def test_sha512_will_do(download: Download, site: ReleaseSite) -> None:
    path = _kubernetes("kubelet")
    site.files[f"{path}.sha256"] = hashlib.sha512(site.files[path]).hexdigest().encode()
    download("1.36.3", "--only", "kubelet")
    assert _there("1.36.3") == ["kubelet"]


def _not_released(site: ReleaseSite, path: str) -> str:
    site.files.pop(f"{path}.sha256")
    return (
        rf"{path}\.sha256: there is no such file \(404\); this host has no Kubernetes 1\.36\.3 for linux/{ARCH}\. "
        r"Projects publish for amd64 and arm64; drakit knows Kubernetes 1\.37\.1, 1\.36\.3, "
    )


def _only_its_checksum(site: ReleaseSite, path: str) -> str:
    site.files.pop(path)
    return rf"{path}: there is no such file \(404\); this host has no Kubernetes 1\.36\.3 "


def _no_checksum(site: ReleaseSite, path: str) -> str:
    site.files[f"{path}.sha256"] = b"<html>Please log in</html>"
    return rf"{path}\.sha256 has no SHA-256 or SHA-512 of kubelet$"


def _cut_off(site: ReleaseSite, path: str) -> str:
    site.cut.add(path)
    return rf"{path}: Response payload is not completed"


def _round_and_round(site: ReleaseSite, path: str) -> str:
    site.redirected[f"{path}.sha256"] = f"{path}.sha256"
    return rf"{path}\.sha256: it is redirected again and again$"


@pytest.mark.slow
@pytest.mark.parametrize("prepare", [_not_released, _only_its_checksum, _no_checksum, _cut_off, _round_and_round])
def test_what_cannot_be_had_is_said_in_one_line_and_leaves_nothing(
    download: Download, site: ReleaseSite, prepare: Callable[[ReleaseSite, str], str]
) -> None:
    says = prepare(site, _kubernetes("kubelet"))
    stderr = download("1.36.3", "--only", "kubelet", code=1).stderr
    assert stderr.startswith(f"Error: {site.url}/")
    assert re.search(says, stderr, re.MULTILINE)
    assert stderr.count("\n") == 1
    assert _there("1.36.3") == []
    assert not _entry("1.36.3").unfinished.exists()


@pytest.mark.slow
def test_a_host_that_is_not_there_is_named_without_its_password(drakit: Drakit, direct: None) -> None:
    arguments = ["--url", "http://me:secret@127.0.0.1:1/kubernetes", "--only", "kubelet"]
    stderr = drakit("kubernetes", "download", "1.36.3", *arguments, code=1).stderr
    assert stderr.startswith(f"Error: http://127.0.0.1:1/kubernetes{_kubernetes('kubelet')}.sha256: Cannot connect")
    assert stderr.endswith("a proxy or a mirror can be reached, name it: $HTTPS_PROXY, --url, --github-url\n")
    assert "secret" not in stderr


@pytest.mark.slow
def test_a_mirrors_password_is_used_and_not_noted(drakit: Drakit, site: ReleaseSite) -> None:
    with_password = site.url.replace("//", "//me:secret@")
    drakit("kubernetes", "download", "1.36.3", "--url", with_password, "--only", "kubelet")
    assert "secret" not in _entry("1.36.3").log.read_text()
    assert site.url in _entry("1.36.3").log.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["1.20.0"], "drakit has no build of Kubernetes 1.20.0, only of 1.37.1, 1.36.3, "),
        (["1.37"], "Kubernetes version '1.37': write it with three numbers, as in 1.37.1"),
        (["1.36.3", "--only", "../evil"], "there is no binary '../evil'; known are kube-apiserver, "),
        (["1.36.3", "--only", "etcd"], "the module of Kubernetes 1.36.3 has no etcd, only kube-apiserver, "),
        (["1.37.1", "--only", "pause"], "pause is published as an image only; with Go, build what you need of it: "),
        (["1.36.3", "--only", "kubelet", "--lacking"], "--only kubelet: --lacking says itself what is downloaded"),
        (["1.36.3", "--replace", "--lacking"], "--replace: --lacking downloads what is nowhere"),
        (["1.36.3", "--url", "file:///etc"], "'file:///etc' is no URL to download from; write it as in https://"),
        (["1.36.3", "--url", "mirror.example.com"], "'mirror.example.com' is no URL to download from"),
    ],
)
def test_mistakes_cost_one_line_and_no_request(
    download: Download, site: ReleaseSite, arguments: list[str], says: str
) -> None:
    assert download(*arguments, code=1).stderr.startswith(f"Error: {says}")
    assert site.asked == []


@pytest.mark.parametrize("text", ["", "https://", "https://host/?x=1", "ftp://host", "https://[::1", "https://host/#a"])
def test_what_is_no_url_is_refused(text: str) -> None:
    with pytest.raises(ClusterError, match="is no URL to download from"):
        checked_host(text)


_IN_A_DOWNLOAD = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root has real kubelets")
def test_what_clusters_lack_can_be_downloaded_alone(
    download: Download, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own" / "1.36.3"
    own.mkdir(parents=True)
    for name in _IN_A_DOWNLOAD:
        (own / name).write_bytes(program(name, "1.36.3"))
        (own / name).chmod(0o755)
    monkeypatch.setenv("DRAKIT_KUBERNETES_DIR", str(own.parent))
    done = download("1.36.3", "--lacking")
    assert _there("1.36.3") == ["kubelet"]
    assert _there("1.37.1") == sorted([*CONTAINERD, "etcd", "bridge", "host-local", "loopback"])
    assert done.stderr == (
        "pause is published as an image only; with Go, build what you need of it: "
        "`drakit kubernetes build 1.37.1 --only pause`\n"
    )


@pytest.mark.slow
@pytest.mark.usefixtures("signals_heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_download_leaves_whole_binaries_and_continues_later(
    download: Download, site: ReleaseSite, cache: Path, number: signal.Signals
) -> None:
    site.stuck.add(_kubernetes("kube-scheduler"))
    arguments = command("kubernetes", "download", "1.36.3", *_hosts(site))
    with subprocess.Popen(arguments, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as downloading:
        try:
            assert site.is_stuck.wait(_SECONDS)
            downloading.send_signal(number)
            stderr = downloading.communicate(timeout=_SECONDS)[1]
        finally:
            downloading.kill()
    assert downloading.returncode == 130
    assert stderr == "stopped; what is complete so far is kept, and the same command continues from it\n"
    assert _there("1.36.3") == ["kube-apiserver", "kube-controller-manager"]
    assert not _entry("1.36.3").unfinished.exists()
    site.go_on.set()
    download("1.36.3")
    assert _there("1.36.3") == sorted(mains.OF_KUBERNETES)


@pytest.mark.slow
def test_the_proxy_of_the_environment_is_asked_except_for_hosts_that_need_none(
    drakit: Drakit, site: ReleaseSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", site.url)
    elsewhere = "http://releases.invalid"
    drakit("kubernetes", "download", "1.36.3", "--url", elsewhere, "--only", "kubelet")
    assert site.asked == [f"{elsewhere}{_kubernetes('kubelet')}{ending}" for ending in (".sha256", "")]
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    drakit("kubernetes", "download", "1.36.3", "--url", site.url, "--only", "kubectl")
    assert _there("1.36.3") == ["kubectl", "kubelet"]


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """For https at 127.0.0.1; the environment says that it is to be trusted."""
    keep = tmp_path / "serving.pem"
    certificates.self_signed("127.0.0.1", keep)
    monkeypatch.setenv("SSL_CERT_FILE", str(keep))
    return keep


@pytest.mark.slow
def test_https_is_checked_and_leads_to_https_only(
    drakit: Drakit, site: ReleaseSite, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    safe = ReleaseSite()
    safe.publish_kubernetes("1.36.3")
    safe.files["/elsewhere"] = safe.files.pop(_kubernetes("kubectl"))
    safe.redirected |= {
        _kubernetes("kubectl"): "/elsewhere",
        _kubernetes("kubelet"): f"{site.url}{_kubernetes('kubelet')}",
    }
    with safe.serving(certificate):
        arguments = ["kubernetes", "download", "1.36.3", "--url", safe.url]
        drakit(*arguments, "--only", "kubectl")
        refused = drakit(*arguments, "--only", "kubelet", code=1).stderr
        assert refused == (
            "Error: a redirection leads away from https, which is refused: "
            f"{safe.url}{_kubernetes('kubelet')} -> {site.url}{_kubernetes('kubelet')}\n"
        )
        monkeypatch.delenv("SSL_CERT_FILE")
        assert "certificate verify failed" in drakit(*arguments, "--only", "kubeadm", code=1).stderr
    assert _there("1.36.3") == ["kubectl"]


def test_files_are_asked_for_where_the_projects_publish_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "host_platform", lambda: ("linux", "arm64"))
    names = ("kubelet", "etcd", "ctr", "bridge", "kind")
    files = published_files(pinned_release("1.37.1"), names, Hosts())
    github = "https://github.com"
    containerd = f"{github}/containerd/containerd/releases/download/v2.4.2/containerd-static-2.4.2-linux-arm64.tar.gz"
    plugins = f"{github}/containernetworking/plugins/releases/download/v1.9.1/cni-plugins-linux-arm64-v1.9.1.tgz"
    etcd = f"{github}/etcd-io/etcd/releases/download/v3.7.3"
    kind = f"{github}/kubernetes-sigs/kind/releases/download/v0.33.0/kind-linux-arm64"
    kubelet = "https://dl.k8s.io/v1.37.1/bin/linux/arm64/kubelet"
    assert [(file.url, file.checksum_url, dict(file.programs)) for file in files] == [
        (kubelet, f"{kubelet}.sha256", {"kubelet": None}),
        (
            f"{etcd}/etcd-v3.7.3-linux-arm64.tar.gz",
            f"{etcd}/SHA256SUMS",
            {"etcd": "etcd-v3.7.3-linux-arm64/etcd"},
        ),
        (containerd, f"{containerd}.sha256sum", {"ctr": "bin/ctr"}),
        (plugins, f"{plugins}.sha256", {"bridge": "bridge"}),
        (kind, f"{kind}.sha256sum", {"kind": None}),
    ]
    assert published.UNPUBLISHED == ("dra-test-driver", "pause")


_DIGEST = "ab" * 32
_OTHER = "cd" * 32


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        (_DIGEST, _DIGEST),
        (f"{_DIGEST.upper()}\n", _DIGEST),
        (f"{_OTHER}  other\n{_DIGEST}  file\n", _DIGEST),
        (f"{_DIGEST} *file", _DIGEST),
        (f"{_DIGEST}  release/file", _DIGEST),
        ("ab" * 64 + "  file", "ab" * 64),
        (f"{_OTHER}  other", None),
        (f"{_DIGEST}  file.txt", None),
        ("ab" * 20, None),
        ("", None),
    ],
)
def test_checksums_are_read_as_projects_publish_them(text: str, digest: str | None) -> None:
    assert published_digest(text, "file") == digest


def test_a_terminal_shows_how_much_of_a_file_has_come() -> None:
    screen = io.StringIO()
    with DownloadProgress(Console(file=screen, force_terminal=True, width=120)) as progress:
        progress.waiting(77)
        progress.started("kubelet", 2, 7)
        progress.received(24 << 20, 96 << 20)
        progress.finished("kubelet", 33.25, 96 << 20)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert "process 77 is building or downloading this already; waiting for it" in shown
    assert "24.0/96.0 MiB" in shown
    assert re.search(r"kubelet +33\.2 s +96\.0 MiB", shown)


def test_a_file_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    written = io.StringIO()
    with DownloadProgress(Console(file=written, width=120)) as progress:
        progress.started("kubelet", 1, 1)
        for now in (1.0, 11.0, 12.0):
            progress.received(int(now) << 20, 96 << 20)
        now = 22.0
        progress.received(22 << 20, None)
    assert written.getvalue().splitlines() == [
        "downloading kubelet (1 of 1)",
        "  kubelet: 11.0 MiB of 96.0 MiB",
        "  kubelet: 22.0 MiB",
    ]
