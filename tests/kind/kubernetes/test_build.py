"""A build makes what is missing, shows how it goes on, and leaves whole binaries or none."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from drakit_kind.cli.kubernetes.build_progress import BuildProgress
from drakit_kind.cluster import ClusterError
from drakit_kind.kind.node_images.image_builder import BINARIES
from drakit_kind.kubernetes.build import build
from drakit_kind.kubernetes.cache import CacheEntry, host_platform
from drakit_kind.kubernetes.releases import Release, pinned_release
from tests.kind.drakit_command import Drakit, command
from tests.kind.kubernetes.fake_go import FakeGo

_SECONDS = 20.0
_ALL = ["kube-apiserver", "kubelet", "etcd", "bridge"]


class Told:
    """What a build told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def waiting(self, process: int) -> None:
        self.lines.append(f"waiting for {process}")

    def started(self, name: str, number: int, of: int) -> None:
        self.lines.append(f"{number}/{of} {name}")

    def said(self, line: str) -> None:
        self.lines.append(line)

    def finished(self, name: str, seconds: float, size: int) -> None:
        self.lines.append(f"{name} of {size} bytes" if seconds > 0 else "no time")


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _binaries(entry: CacheEntry) -> list[str]:
    return sorted(path.name for path in entry.binaries.iterdir())


@pytest.mark.slow
def test_everything_is_built_in_the_order_of_the_table(go: FakeGo, release: Release, cache: Path) -> None:
    entry, told = CacheEntry.of(release), Told()
    assert build(release, release.names, entry, told) == _ALL
    assert entry.directory.is_relative_to(cache)
    assert _binaries(entry) == sorted(_ALL)
    assert all(os.access(path, os.X_OK) for path in entry.binaries.iterdir())
    assert told.lines[:4] == [
        "1/4 kube-apiserver",
        "go: downloading example.com/module v1.2.3",
        f"kube-apiserver of {(entry.binaries / 'kube-apiserver').stat().st_size} bytes",
        "2/4 kubelet",
    ]
    assert build(release, release.names, entry, told) == []
    assert go.built == _ALL


@pytest.mark.slow
def test_go_is_told_everything_that_the_binaries_depend_on(
    go: FakeGo, release: Release, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the user's own settings are: GOFLAGS, a workspace, another platform, another toolchain."""
    for name, value in {
        "GOFLAGS": "-mod=mod -race",
        "GOWORK": "/somewhere/go.work",
        "GOOS": "windows",
        "GOARCH": "wasm",
        "GOTOOLCHAIN": "auto",
        "CGO_ENABLED": "1",
        "GO111MODULE": "off",
        "GOAMD64": "v4",
        "GOFIPS140": "latest",
        "GOEXPERIMENT": "rangefunc",
        "GOPROXY": "https://proxy.example.com",
    }.items():
        monkeypatch.setenv(name, value)
    entry = CacheEntry.of(release)
    build(release, ["kubelet", "bridge"], entry, Told())
    kubelet, bridge = go.calls
    versions = " ".join(
        f"-X {package}.gitVersion=v1.37.1 -X {package}.gitMajor=1 -X {package}.gitMinor=37 "
        f"-X {package}.gitTreeState=clean"
        for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    )
    unfinished = str(entry.unfinished)
    build_to = ["build", "-o"]
    assert kubelet["arguments"] == [
        *build_to, f"{unfinished}/kubelet", "-ldflags", f"-s -w {versions}", "./cmd/kubelet"
    ]  # fmt: skip
    assert bridge["arguments"][-1] == "github.com/containernetworking/plugins/plugins/main/bridge"
    assert kubelet["directory"] == str(release.directory)
    goos, goarch = host_platform()
    assert kubelet["environment"] == {
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false -tags=no_btrfs,no_devmapper,no_zfs",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "GOOS": goos,
        "GOARCH": goarch,
        "CGO_ENABLED": "0",
        "GOTMPDIR": f"{unfinished}/work",
        "GOPROXY": "https://proxy.example.com",
        # Said, as the user may have set another one with `go env -w`.
        "GO111MODULE": "on",
        "GOAMD64": "v1",
        "GOARM64": "v8.0",
        "GOFIPS140": "off",
    }


@pytest.mark.slow
def test_a_failed_build_says_what_go_said_and_the_next_one_continues(go: FakeGo, release: Release, cache: Path) -> None:
    entry = CacheEntry.of(release)
    go.behave(kubelet="fail")
    with pytest.raises(ClusterError) as failed:
        build(release, release.names, entry, Told())
    assert "kubelet of Kubernetes 1.37.1: `go build` ended with status 1; the end of" in str(failed.value)
    assert str(failed.value).endswith("\n  cmd/x/main.go:3:1: this does not compile")
    assert _binaries(entry) == ["kube-apiserver"]
    assert not entry.unfinished.exists()
    go.behave()
    assert build(release, release.names, entry, Told()) == ["kubelet", "etcd", "bridge"]
    assert go.built == ["kube-apiserver", "kubelet", "kubelet", "etcd", "bridge"]


@pytest.mark.slow
def test_the_log_of_all_builds_is_kept(go: FakeGo, release: Release, cache: Path) -> None:
    entry = CacheEntry.of(release)
    build(release, ["kubelet"], entry, Told())
    build(release, ["etcd"], entry, Told())
    lines = entry.log.read_text().splitlines()
    stamp = r"== \d{4}-\d\d-\d\d \d\d:\d\d:\d\d "
    expected = [
        rf"{stamp}kubelet, with go1\.26\.8",
        r"go: downloading example\.com/module v1\.2\.3",
        rf"{stamp}kubelet: \d+\.\d s, \d+\.\d s of processor time",
        rf"{stamp}etcd, with go1\.26\.8",
    ]
    assert [re.fullmatch(pattern, line) is not None for pattern, line in zip(expected, lines, strict=False)] == [
        True
    ] * 4


@pytest.mark.slow
def test_what_is_built_is_the_users_alone(go: FakeGo, release: Release, cache: Path) -> None:
    entry = CacheEntry.of(release)
    build(release, ["kubelet"], entry, Told())
    assert {path.stat().st_mode & 0o777 for path in (cache, entry.directory, entry.binaries)} == {0o700}


@pytest.mark.slow
def test_what_a_killed_build_left_is_removed_by_the_next(go: FakeGo, release: Release, cache: Path) -> None:
    entry = CacheEntry.of(release)
    (entry.unfinished / "work" / "go-build123").mkdir(parents=True)
    (entry.unfinished / "kubelet").write_text("half")
    build(release, ["etcd"], entry, Told())
    assert not entry.unfinished.exists()
    assert _binaries(entry) == ["etcd"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "says"),
    [
        (
            "go1.26.5",
            r"building Kubernetes 1\.37\.1 needs Go 1\.26\.6 or later, and .*/go is go1\.26\.5; install a newer",
        ),
        ("go1.9", r"needs Go 1\.26\.6 or later, and .*/go is go1\.9;"),
        ("devel", r"/go does not tell its version: devel"),
    ],
)
def test_a_go_that_is_too_old_is_refused_before_anything_is_built(
    go: FakeGo, release: Release, cache: Path, version: str, says: str
) -> None:
    go.version(version)
    with pytest.raises(ClusterError, match=says):
        build(release, ["kubelet"], CacheEntry.of(release), Told())
    assert go.calls == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "version", ["go1.26.6", "go1.27", "go1.27rc1", "devel go1.28-0123456789 Tue Nov 1", "go1.100.0"]
)
def test_any_newer_go_will_do(go: FakeGo, release: Release, cache: Path, version: str) -> None:
    go.version(version)
    assert build(release, ["kubelet"], CacheEntry.of(release), Told()) == ["kubelet"]


@pytest.mark.slow
def test_path_may_name_go_relatively(
    go: FakeGo, release: Release, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(go.state)
    monkeypatch.setenv("PATH", f"bin:{os.environ['PATH']}")
    assert build(release, ["kubelet"], CacheEntry.of(release), Told()) == ["kubelet"]


def test_without_go_the_error_says_which_one_to_install(
    release: Release, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match=r"needs Go 1\.26\.6 or later, and there is no `go` in PATH; install it"):
        build(release, ["kubelet"], CacheEntry.of(release), Told())


@pytest.mark.slow
def test_what_is_built_already_needs_no_go(
    go: FakeGo, release: Release, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(release, ["kubelet"], CacheEntry.of(release), Told())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert build(release, ["kubelet"], CacheEntry.of(release), Told()) == []


def test_other_systems_than_linux_are_told_so(
    go: FakeGo, release: Release, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(ClusterError, match="on Linux only; elsewhere name a directory with them"):
        build(release, ["kubelet"], CacheEntry.of(release), Told())


def test_a_terminal_shows_what_is_built_now_and_what_go_downloads() -> None:
    screen = io.StringIO()
    with BuildProgress(Console(file=screen, force_terminal=True, width=100)) as progress:
        progress.waiting(77)
        progress.started("kubelet", 2, 7)
        progress.said("go: downloading example.com/module v1.2.3")
        progress.finished("kubelet", 33.25, 96 << 20)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    for expected in (
        "process 77 is building this already; waiting for it",
        "kubelet (2 of 7)",
        "go: downloading example.com/module v1.2.3",
        "kubelet                    33.2 s    96.0 MiB",
    ):
        assert expected in shown


@pytest.mark.slow
def test_a_file_gets_a_line_at_the_start_and_the_end_of_each_binary(go: FakeGo, drakit: Drakit) -> None:
    lines = drakit("kubernetes", "build", "1.36.3", "--only", "kubelet", "--only", "kubectl").stdout.splitlines()
    assert lines[0] == "building kubectl (1 of 2)"
    assert re.fullmatch(r"kubectl +\d+\.\d s +0\.0 MiB", lines[1])
    assert lines[2] == "building kubelet (2 of 2)"
    assert re.fullmatch(r"Kubernetes 1\.36\.3 has 2 of 7 binaries built: /.*/bin \(0\.0 MiB\)", lines[4])
    assert len(lines) == 5
    again = drakit("kubernetes", "build", "v1.36.3", "--only", "kubelet").stdout
    assert "has 2 of 7 binaries built, nothing was to be done: /" in again


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["1.20.0"], "drakit has no build of Kubernetes 1.20.0, only of 1.37.1, 1.36.3, "),
        (["../../evil"], "Kubernetes version '../../evil': write it with three numbers, as in 1.37.1"),
        (["1.37"], "Kubernetes version '1.37': write it with three numbers, as in 1.37.1"),
        (["1.36.3", "--only", "../evil"], "there is no binary '../evil'; known are kube-apiserver, "),
        (["1.36.3", "--only", "kubelet", "--lacking"], "--only kubelet: --lacking says itself what is built"),
        (["1.33.0", "--lacking"], "drakit has no build of Kubernetes 1.33.0, only of 1.37.1, "),
        (["1.36.3", "--only", "etcd"], "the module of Kubernetes 1.36.3 has no etcd, only kube-apiserver, "),
    ],
)
def test_mistakes_cost_one_line(go: FakeGo, drakit: Drakit, arguments: list[str], says: str) -> None:
    assert drakit("kubernetes", "build", *arguments, code=1).stderr.startswith(f"Error: {says}")
    assert go.calls == []


@pytest.fixture
def in_background(cache: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the command without waiting for it; what still runs in the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(command(*arguments), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.usefixtures("signals_heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_build_ends_its_compilers_and_continues_later(
    go: FakeGo, drakit: Drakit, in_background: Callable[..., subprocess.Popen[str]], number: signal.Signals
) -> None:
    go.behave(**{"kube-scheduler": "hang"})
    building = in_background("kubernetes", "build", "1.36.3")
    _wait_for((go.state / "hangs").exists)
    building.send_signal(number)
    stderr = building.communicate(timeout=_SECONDS)[1]
    assert building.returncode == 130
    assert stderr == "stopped; what is built so far is kept, and the same command continues from it\n"
    assert not _lives(go.calls[-1]["pid"])
    _ends_and_continues(go, drakit)
    assert not CacheEntry.of(pinned_release("1.36.3")).unfinished.exists()


@pytest.mark.slow
def test_a_killed_build_leaves_no_compilers_and_continues_later(
    go: FakeGo, drakit: Drakit, in_background: Callable[..., subprocess.Popen[str]]
) -> None:
    go.behave(**{"kube-scheduler": "hang"})
    building = in_background("kubernetes", "build", "1.36.3")
    _wait_for((go.state / "hangs").exists)
    building.kill()
    building.communicate(timeout=_SECONDS)
    _ends_and_continues(go, drakit)


def _ends_and_continues(go: FakeGo, drakit: Drakit) -> None:
    """What hangs ends, and the next build takes up from what is there."""
    compiler = int((go.state / "compiler").read_text())
    _wait_for(lambda: not _lives(compiler) and not _lives(go.calls[-1]["pid"]))
    entry = CacheEntry.of(pinned_release("1.36.3"))
    assert _binaries(entry) == ["kube-apiserver", "kube-controller-manager"]
    go.behave()
    drakit("kubernetes", "build", "1.36.3")
    assert go.built[2:4] == ["kube-scheduler", "kube-scheduler"]
    assert len(go.built) == 8
    assert not entry.unfinished.exists()


def _lives(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet reaped by its new parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter if it goes between opening and reading
        return False


@pytest.mark.slow
def test_the_second_of_two_builds_waits_and_finds_it_done(
    go: FakeGo, in_background: Callable[..., subprocess.Popen[str]]
) -> None:
    go.behave(**{"kube-apiserver": "wait"})
    first = in_background("kubernetes", "build", "1.36.3")
    _wait_for((go.state / "waits").exists)
    second = in_background("kubernetes", "build", "1.36.3")
    assert second.stdout is not None
    assert second.stdout.readline() == f"process {first.pid} is building this already; waiting for it\n"
    go.go_on()
    assert first.communicate(timeout=_SECONDS)[1] == ""
    assert "Kubernetes 1.36.3 is built, nothing was to be done: /" in second.communicate(timeout=_SECONDS)[0]
    assert (first.returncode, second.returncode) == (0, 0)
    assert len(go.built) == 7


_IN_A_DOWNLOAD = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl")
_CONTAINERS = ["containerd", "containerd-shim-runc-v2", "ctr", "bridge", "host-local", "loopback", "pause"]


def _own(tmp_path: Path, version: str, *names: str) -> Path:
    """A directory of the user's, with some binaries of a version."""
    directory = tmp_path / "own" / version
    directory.mkdir(parents=True)
    for name in names:
        (directory / name).write_text("")
        (directory / name).chmod(0o755)
    return directory.parent


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root has real kubelets")
@pytest.mark.parametrize(
    ("own", "built"),
    [
        (_IN_A_DOWNLOAD, ["etcd", *_CONTAINERS]),
        (("kube-apiserver", "etcd", "kubectl"), ["kube-controller-manager", "kube-scheduler", "kubelet", *_CONTAINERS]),
        ((*_IN_A_DOWNLOAD, "etcd", *_CONTAINERS), []),
    ],
    ids=["a release download", "setup-envtest", "all"],
)
def test_what_a_directory_lacks_for_clusters_can_be_built_alone(
    go: FakeGo, drakit: Drakit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: tuple[str, ...], built: list[str]
) -> None:
    directory = _own(tmp_path, "1.36.3", *own) / "1.36.3"
    monkeypatch.setenv("DRAKIT_KUBERNETES_DIR", str(directory.parent))
    drakit("kubernetes", "build", "1.36.3", "--lacking")
    assert sorted(go.built) == sorted(built)
    where = [drakit("kubernetes", "where", "1.36.3", name).stdout for name in (*own[:1], *built[:1])]
    assert [str(directory) in path for path in where] == [True, False][: len(where)]
    assert "nothing was to be done" in drakit("kubernetes", "build", "1.36.3", "--lacking").stdout


@pytest.mark.slow
def test_what_a_node_image_needs_and_a_directory_lacks_is_built(
    go: FakeGo, drakit: Drakit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAKIT_KUBERNETES_DIR", str(_own(tmp_path, "1.36.3", "kubelet", "kube-apiserver", "etcd")))
    drakit("kubernetes", "build", "1.36.3", "--lacking", "kind")
    assert sorted(go.built) == sorted(set(BINARIES) - {"kubelet", "kube-apiserver", "etcd"})
    for name in BINARIES:
        drakit("kubernetes", "where", "1.36.3", name)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root has real kubelets")
def test_what_drakit_cannot_build_of_a_version_is_told_and_left_to_the_start(
    go: FakeGo, drakit: Drakit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster with other real components may do without."""
    own = _own(tmp_path, "1.36.5", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
    monkeypatch.setenv("DRAKIT_KUBERNETES_DIR", str(own))
    for built in (["etcd", *_CONTAINERS], []):
        done = drakit("kubernetes", "build", "1.36.5", "--lacking")
        assert sorted(go.built) == sorted(["etcd", *_CONTAINERS])
        assert done.stderr.startswith("there is no kubelet of Kubernetes 1.36.5; drakit builds 1.37.1, 1.36.3, ")
        assert ("is built" in done.stdout or "binaries built" in done.stdout) is bool(built)
        assert "have all that they need" not in done.stdout


@pytest.mark.slow
def test_what_is_lacking_is_looked_for_in_the_cache_that_is_named(go: FakeGo, drakit: Drakit, tmp_path: Path) -> None:
    drakit("kubernetes", "build", "1.37.1")
    go.behave()
    before = len(go.built)
    other = ["--lacking", "--cache", str(tmp_path / "other")]
    drakit("kubernetes", "build", "1.37.1", *other)
    assert len(go.built) > before
    assert "nothing was to be done" in drakit("kubernetes", "build", "1.37.1", *other).stdout
