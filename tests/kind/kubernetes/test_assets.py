"""Where the binaries of a version are found: the user's directory first, then what was built, never a wrong version."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.flags import PROGRAMS
from drakit_kind.kubernetes.assets import find_assets
from drakit_kind.kubernetes.cache import CacheEntry, host_platform
from drakit_kind.kubernetes.releases import is_of_kubernetes, pinned_release
from tests.kind.drakit_command import Drakit
from tests.kind.kubernetes.fake_go import write_module

_PLATFORM = "-".join(host_platform())


def _put(directory: Path, *names: str, version: str = "1.37.1") -> Path:
    """Components in a directory, which tell their version when they are asked."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / name).write_text(f"#!/bin/sh\necho Kubernetes v{version}\n")
        (directory / name).chmod(0o755)
    return directory


def _built(version: str, *names: str) -> Path:
    return _put(CacheEntry.of(pinned_release(version)).binaries, *names)


@pytest.mark.slow
@pytest.mark.parametrize("below", [".", "bin", "1.37.1", "v1.37.1", "1.37.1/bin", f"1.37.1-{_PLATFORM}"])
def test_a_directory_of_the_users_may_have_any_usual_shape(cache: Path, tmp_path: Path, below: str) -> None:
    place = _put(tmp_path / "own" / below, "kube-apiserver", "etcd")
    assets = find_assets("1.37.1", tmp_path / "own")
    assert assets.path("kube-apiserver") == place / "kube-apiserver"
    assert assets.path("etcd") == place / "etcd"


@pytest.mark.slow
def test_the_environment_names_the_directory_and_an_option_wins(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = _put(tmp_path / "variable", "kubelet")
    option = _put(tmp_path / "option", "kubelet")
    monkeypatch.setenv("DRAKIT_KUBERNETES_DIR", str(variable))
    assert find_assets("1.37.1").path("kubelet") == variable / "kubelet"
    assert find_assets("1.37.1", option).path("kubelet") == option / "kubelet"


@pytest.mark.slow
def test_paths_are_absolute(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = _put(tmp_path / "own", "kubelet")
    monkeypatch.chdir(tmp_path)
    assert find_assets("1.37.1", Path("own")).path("kubelet") == own / "kubelet"
    monkeypatch.setenv("DRAKIT_CACHE", "cache")
    built = _built("1.36.3", "kubelet")
    assert built.is_absolute()
    assert find_assets("1.36.3").path("kubelet") == built / "kubelet"


@pytest.mark.slow
def test_what_the_users_directory_lacks_is_taken_from_the_build(cache: Path, tmp_path: Path) -> None:
    """setup-envtest has no controller manager."""
    own = _put(tmp_path / "own", "kube-apiserver", "etcd", "kubectl")
    built = _built("1.37.1", "kube-apiserver", "kube-controller-manager")
    assets = find_assets("1.37.1", own)
    assert assets.path("kube-apiserver") == own / "kube-apiserver"
    assert assets.path("kube-controller-manager") == built / "kube-controller-manager"


def test_what_serves_all_versions_comes_from_the_newest_one_that_is_built(cache: Path) -> None:
    older, newest = _built("1.34.3", "kubelet"), _built("1.37.1", "kubelet", "etcd", "containerd")
    assets = find_assets("1.34.3")
    assert assets.path("kubelet") == older / "kubelet"
    assert assets.path("etcd") == newest / "etcd"
    assert list(assets.found()) == ["kubelet", "etcd", "containerd"]


def test_a_component_is_never_taken_from_another_version(cache: Path) -> None:
    _built("1.37.1", "kubelet")
    with pytest.raises(ClusterError) as missing:
        find_assets("1.36.3").path("kubelet")
    assert str(missing.value) == (
        "there is no kubelet of Kubernetes 1.36.3; `drakit kubernetes build 1.36.3` builds it with all the others "
        "(`--only kubelet`: it alone); "
        f"it was looked for in\n  {CacheEntry.of(pinned_release('1.36.3')).binaries}"
    )


def test_the_error_for_what_serves_all_versions_names_the_version_that_builds_it(cache: Path) -> None:
    with pytest.raises(
        ClusterError, match=r"no etcd of Kubernetes 1\.36\.3; `drakit kubernetes build 1\.37\.1` builds it"
    ):
        find_assets("1.36.3").path("etcd")


def test_a_version_that_drakit_does_not_build_needs_a_directory(cache: Path, tmp_path: Path) -> None:
    own = _put(tmp_path / "own" / "1.33.2", "kube-apiserver")
    assert find_assets("1.33.2", tmp_path / "own").path("kube-apiserver") == own / "kube-apiserver"
    with pytest.raises(
        ClusterError, match=r"drakit builds 1\.37\.1, .* only, so name a directory .*DRAKIT_KUBERNETES_DIR$"
    ):
        find_assets("1.33.2").path("kube-apiserver")


def _other_version(own: Path) -> str:
    _put(own, "kubelet", version="1.36.3")
    return f"{own}/kubelet is Kubernetes 1.36.3, not 1.37.1; put each version's binaries in a directory of its name"


def _another_beside(own: Path) -> str:
    _put(own, "kube-apiserver")
    return _other_version(own)


def _no_version(own: Path) -> str:
    (_put(own) / "kubelet").write_text("#!/bin/sh\necho hello\n")
    (own / "kubelet").chmod(0o755)
    return f"{own}/kubelet does not tell its version: hello"


def _another_machines(own: Path) -> str:
    (_put(own) / "kubelet").write_bytes(b"\x7fELF nonsense")
    (own / "kubelet").chmod(0o755)
    return f"{own}/kubelet does not tell its version: [Errno 8] Exec format error"


def _no_directory(own: Path) -> str:
    return f"{own} is no directory; it was to hold the binaries of Kubernetes 1.37.1"


def _not_executable(own: Path) -> str:
    (_put(own) / "kubectl").write_text("downloaded by a browser")
    return f"{own}/kubectl is not executable; `chmod +x` it"


@pytest.mark.slow
@pytest.mark.parametrize(
    "prepare", [_other_version, _another_beside, _no_version, _another_machines, _no_directory, _not_executable]
)
def test_a_directory_that_cannot_be_used_is_refused(
    cache: Path, tmp_path: Path, prepare: Callable[[Path], str]
) -> None:
    says = prepare(tmp_path / "own")
    with pytest.raises(ClusterError) as refused:
        find_assets("1.37.1", tmp_path / "own").path("kubectl")
    assert str(refused.value).startswith(says)


@pytest.mark.slow
def test_each_binary_of_a_directory_is_asked_once_until_it_is_another(cache: Path, tmp_path: Path) -> None:
    own = _put(tmp_path / "own")
    for name in ("kubelet", "kube-scheduler"):
        (own / name).write_text(f"#!/bin/sh\necho {name} >>{tmp_path}/asked\necho Kubernetes v1.37.1\n")
        (own / name).chmod(0o755)
    for _ in range(3):
        find_assets("1.37.1", own)
    assert (tmp_path / "asked").read_text().splitlines() == ["kubelet", "kube-scheduler"]
    _other_version(own)
    with pytest.raises(ClusterError, match=r"kubelet is Kubernetes 1\.36\.3, not 1\.37\.1"):
        find_assets("1.37.1", own)


def test_a_name_is_never_a_path(cache: Path) -> None:
    with pytest.raises(ClusterError, match=r"there is no binary '\.\./kubelet'; known are kube-apiserver, "):
        find_assets("1.37.1").path("../kubelet")
    with pytest.raises(ClusterError, match="write it with three numbers"):
        find_assets("../1.37.1")


def test_the_cache_is_keyed_by_all_that_a_build_depends_on(cache: Path, tmp_path: Path) -> None:
    release = write_module(tmp_path / "modules", "1.37.1", ["kubelet", "etcd"])
    keys = [CacheEntry.of(release).directory.name]
    for path in ("go.mod", "go.sum", "cmd/kubelet/main.go", "cmd/etcd/main.go"):
        with (release.directory / path).open("a") as file:
            file.write("\n")
        keys.append(CacheEntry.of(release).directory.name)
    (release.directory / "README.md").write_text("does not matter")
    assert CacheEntry.of(release).directory.name == keys[-1]
    assert len(set(keys)) == 5
    assert {key.rpartition("-")[0] for key in keys} == {f"1.37.1-{_PLATFORM}"}


@pytest.mark.slow
def test_the_command_prints_one_path_for_scripts_and_all_for_readers(drakit: Drakit) -> None:
    built = _built("1.37.1", "kubelet", "etcd")
    assert drakit("kubernetes", "where", "1.37.1", "kubelet").stdout == f"{built}/kubelet\n"
    lines = [line.split() for line in drakit("kubernetes", "where", "1.37.1").stdout.splitlines()]
    assert lines == [["kubelet", f"{built}/kubelet"], ["etcd", f"{built}/etcd"]]
    nothing = drakit("kubernetes", "where", "1.33.2", "kubelet", code=1).stderr
    assert nothing.startswith("Error: there is no kubelet of Kubernetes 1.33.2; drakit builds 1.37.1, ")
    assert drakit("kubernetes", "where", "1.37.1", "kubectl", code=1).stderr.startswith(
        "Error: there is no kubectl of Kubernetes 1.37.1; `drakit kubernetes build 1.37.1` builds it with all"
    )


@pytest.mark.slow
@pytest.mark.parametrize("built", [(), ("kubelet", "etcd")])
def test_no_command_is_advised_that_would_refuse(drakit: Drakit, cache: Path, built: tuple[str, ...]) -> None:
    """What serves all versions is no version of Kubernetes."""
    _built("1.37.1", *built)
    unknown = drakit("kubernetes", "where", "1.99.9", code=1)
    assert unknown.stderr.startswith("Error: drakit has no build of Kubernetes 1.99.9, only of 1.37.1, ")
    assert "name a directory" in unknown.stderr
    assert drakit("kubernetes", "where", "1.36.3", code=1).stderr == (
        "Error: there are no binaries of Kubernetes 1.36.3; build them with `drakit kubernetes build 1.36.3`, or name "
        "their directory in $DRAKIT_KUBERNETES_DIR\n"
    )
    assert unknown.stdout == ""


@pytest.mark.slow
def test_the_list_shows_what_is_built_and_what_may_be_removed(
    drakit: Drakit, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = _built("1.36.3", "kubelet")
    old = _put(cache / "kubernetes" / "1.36.2-linux-amd64-0123456789ab" / "bin", "kubelet").parent
    lines = drakit("kubernetes", "list").stdout.splitlines()
    assert lines[0].split() == ["1.37.1", "0", "of", "19", "-", "not", "built"]
    assert lines[1].split() == ["1.36.3", "1", "of", "7", "0.0", "MiB", str(built)]
    monkeypatch.chdir(cache.parent)
    assert drakit("kubernetes", "list", "--cache", cache.name).stdout.splitlines() == lines
    assert lines[-2:] == ["of other versions of drakit, 0.0 MiB, yours to remove:", f"  {old}"]


@pytest.mark.slow
def test_what_is_built_for_scripts(drakit: Drakit, cache: Path) -> None:
    built = _built("1.36.3", "kubelet")
    listed = {each["version"]: each for each in json.loads(drakit("kubernetes", "list", "-o", "json").stdout)}
    assert (listed["1.36.3"]["built"], listed["1.36.3"]["directory"]) == (["kubelet"], str(built))
    assert len(listed["1.36.3"]["missing"]) == 6
    assert (listed["1.37.1"]["built"], listed["1.37.1"]["directory"]) == ([], None)
    where = {"kubelet": str(built / "kubelet")}
    assert json.loads(drakit("kubernetes", "where", "1.36.3", "-o", "json").stdout) == where
    assert yaml.safe_load(drakit("kubernetes", "where", "1.36.3", "kubelet", "-o", "yaml").stdout) == where


def test_the_guide_names_what_each_real_component_takes() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "clusters.md").read_text()
    for component, programs in PROGRAMS.items():
        of_version = ", ".join(filter(is_of_kubernetes, programs))
        others = ", ".join(name for name in programs if not is_of_kubernetes(name))
        assert f"\n| `{component}` | {of_version} | {others} |\n".replace("|  |", "| |") in guide
