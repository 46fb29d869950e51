"""What a node image is made of: kind's own files with few changes, and images under the names that kubeadm wants."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from drakit_images import node_files, node_image, server_tar
from drakit_images.kind_module import KindModule, kind_version
from drakit_kind.cluster import ClusterError, silent
from drakit_kind.images import Entry
from drakit_kind.kubernetes.assets import Assets
from tests.kind.kind.fake_docker import FakeDocker


def _entries(module: KindModule, assets: Assets) -> dict[str, Entry]:
    return {entry.path: entry for entry in node_files.entries(module, assets)}


def _text(entry: Entry) -> str:
    assert entry.contents is not None
    return (entry.contents if isinstance(entry.contents, bytes) else entry.contents.read_bytes()).decode()


@pytest.mark.slow
def test_kinds_files_keep_their_places_and_modes(module: KindModule, assets: Assets) -> None:
    entries = _entries(module, assets)
    modes = {path: entries[path].mode for path in ("usr/local/bin/entrypoint", "kind/bin/mount-product-files.sh")}
    assert set(modes.values()) == {0o755}
    assert entries["etc/systemd/system/kubelet.service"].mode == 0o644
    assert not any(path.startswith("LICENSES") for path in entries)


@pytest.mark.slow
def test_a_node_runs_on_machines_with_cgroup_v1_and_without_cap_sys_resource(
    module: KindModule, assets: Assets
) -> None:
    entries = _entries(module, assets)
    assert _text(entries["etc/default/kubelet"]) == (
        "KUBELET_EXTRA_ARGS=--fail-cgroupv1=false --runtime-cgroups=/system.slice/containerd.service"
    )
    assert "restrict_oom_score_adj = true" in _text(entries["etc/containerd/config.toml"])


def test_a_kind_that_has_changed_is_not_half_patched(module: KindModule, assets: Assets) -> None:
    (module.directory / "images/base/files/etc/containerd/config.toml").write_text("version = 4\n")
    with pytest.raises(ClusterError, match=r"config.toml is not as drakit knows it.*restrict_oom_score_adj = false"):
        _entries(module, assets)


@pytest.mark.slow
def test_containers_of_a_node_start_from_containerds_spec_with_kinds_hook(module: KindModule, assets: Assets) -> None:
    spec = json.loads(_text(_entries(module, assets)["etc/containerd/cri-base.json"]))
    assert "rlimits" not in spec["process"]
    assert spec["hooks"]["createContainer"] == [{"path": "/kind/bin/mount-product-files.sh"}]


@pytest.mark.slow
def test_every_service_that_starts_with_a_node_is_there(module: KindModule, assets: Assets) -> None:
    module.directory.joinpath("images/base/files/etc/systemd/system/containerd.service").write_text("[Unit]\n")
    module.directory.joinpath("images/base/files/etc/systemd/system/undo-mount-hacks.service").write_text("[Unit]\n")
    entries = _entries(module, assets)
    wanted = [path for path in entries if path.startswith("etc/systemd/system/multi-user.target.wants/")]
    assert len(wanted) == 4
    assert all(f"etc/systemd/system/{Path(path).name}" in entries for path in wanted)


@pytest.mark.slow
@pytest.mark.parametrize("script", ["_NETWORK_SCRIPT", "_SETTINGS_SCRIPT", "_CRICTL"])
def test_scripts_of_a_node_are_valid(script: str) -> None:
    subprocess.run(["bash", "-n"], input=getattr(node_files, script), check=True)


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("usr/lib/systemd/system/kubelet.service", True),
        ("usr/lib/systemd/system/multi-user.target.wants/getty.target", False),
        ("usr/lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service", False),
        ("usr/lib/systemd/system/sysinit.target.wants/systemd-sysctl.service", True),
        ("usr/lib/systemd/system/sockets.target.wants/systemd-udevd-control.socket", False),
        ("usr/lib/systemd/system/sockets.target.wants/systemd-journald.socket", True),
        ("etc/systemd/system/getty.target.wants/getty@tty1.service", False),
        ("etc/passwd", True),
    ],
)
def test_units_of_machines_are_left_out(path: str, wanted: bool) -> None:
    assert node_files.belongs_in_node(path) is wanted


def _images(archive: Path) -> dict[str, list[str]]:
    """Names of each image, and the files of its layers."""
    found = {}
    with tarfile.open(archive) as tar:
        for entry in json.load(tar.extractfile("manifest.json")):  # type: ignore[arg-type]
            files: list[str] = []
            for layer in entry["Layers"]:
                with tarfile.open(fileobj=tar.extractfile(layer)) as content:
                    files += content.getnames()
            found.update(dict.fromkeys(entry["RepoTags"], files))
    return found


@pytest.mark.slow
def test_the_release_has_what_kind_reads(assets: Assets, module: KindModule, root: Path, tmp_path: Path) -> None:
    scratch, server = tmp_path / "scratch", tmp_path / "kubernetes-server.tar.gz"
    scratch.mkdir()
    server_tar.write_server_tar(server, assets, module, root, scratch)
    with tarfile.open(server) as tar:
        names = {name.removeprefix("kubernetes/") for name in tar.getnames()}
        version = tar.extractfile("kubernetes/version")
        assert version is not None
        assert version.read() == b"v1.37.1\n"
        tar.extractall(tmp_path / "unpacked", filter="data")
    assert names == {"version"} | {
        f"server/bin/{name}"
        for name in (
            "kubeadm", "kubelet", "kubectl", "kube-apiserver.tar", "kube-controller-manager.tar", "kube-scheduler.tar",
            "kube-proxy.tar",
        )
    }  # fmt: skip
    binaries = tmp_path / "unpacked/kubernetes/server/bin"
    scheduler = _images(binaries / "kube-scheduler.tar")
    assert "usr/local/bin/kube-scheduler" in scheduler["registry.k8s.io/kube-scheduler:v1.37.1"]
    others = _images(binaries / "kube-proxy.tar")
    assert set(others) == {
        "registry.k8s.io/kube-proxy:v1.37.1",
        "registry.k8s.io/etcd:3.7.0-0",
        "registry.k8s.io/pause:3.10",
        "registry.k8s.io/coredns/coredns:v1.14.6",
        "docker.io/kindest/kindnetd:v1",
        "docker.io/kindest/local-path-provisioner:v1",
    }
    proxy = others["registry.k8s.io/kube-proxy:v1.37.1"]
    assert {"usr/local/bin/kube-proxy", "usr/sbin/iptables-restore", "usr/sbin/nft", "usr/sbin/conntrack"} <= set(proxy)
    assert "usr/lib/x86_64-linux-gnu/libm.so.6" in proxy


def test_a_missing_binary_is_named_before_anything_is_built(assets: Assets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_image, "check_daemon", lambda: None)
    (assets.own[0] / "kube-proxy").unlink()
    with pytest.raises(
        ClusterError,
        match=r"there is no kube-proxy of Kubernetes 1\.37\.1(.|\n)*`--drakit-kind-image kindest/node:v1\.37\.1`",
    ):
        node_image.build(assets, print)


def test_without_a_debian_root_the_error_names_the_image_of_a_registry(
    assets: Assets, module: KindModule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who is not root may have built binaries for other clusters."""
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(node_image, "check_daemon", lambda: None)
    monkeypatch.setattr(node_image, "kind_version", lambda kind: module.version)
    monkeypatch.setattr(node_image, "kind_module", lambda version: module)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ClusterError, match=r"\$DRAKIT_DEBIAN_ROOT; .*`--drakit-kind-image kindest/node:v1\.37\.1`"):
        node_image.build(assets, silent)


@pytest.fixture
def built(
    fake: FakeDocker, assets: Assets, module: KindModule, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str], list[str]]:
    """Builds with a cache directory and answers of docker: the calls. What is loaded is ``loaded.tar`` there."""
    monkeypatch.setattr(node_image, "kind_version", lambda kind: module.version)
    monkeypatch.setattr(node_image, "kind_module", lambda version: module)

    def build(cache: str, answers: str) -> list[str]:
        monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path / cache))
        fake.answers(f"""case "$*" in
*inspect*) echo null ;;
create*) echo container ;;
load*) cp "$4" {tmp_path / cache}/loaded.tar ;;
{answers}
esac""")
        before = len(fake.calls)
        assert node_image.build(assets, silent, base=root) == "localhost/drakit-node:v1.37.1"
        return fake.calls[before:]

    return build


@pytest.mark.slow
def test_a_build_removes_its_own_containers_and_no_cluster_made_of_its_image(
    built: Callable[[str, str], list[str]],
) -> None:
    """An image's containers have its labels."""
    calls = built("cache", "ps*name=^kind-build-*) echo unfinished ;;\nps*) echo unfinished node-of-a-cluster ;;")
    removed = {word for call in calls if call.startswith("rm ") for word in call.split()[1:]}
    assert removed == {"--force", "--volumes", "unfinished", "container"}
    (created,) = [call for call in calls if call.startswith("create")]
    assert created.startswith("create --name kind-build-drakit-")
    assert calls[-1] == "image prune --force --filter label=drakit.inputs"


@pytest.mark.slow
def test_what_a_killed_build_left_goes_with_the_next_one_of_the_same_cache_whatever_that_makes(
    built: Callable[[str, str], list[str]], tmp_path: Path
) -> None:
    base = "localhost/drakit-node-base"
    left = f"{base}:0f0f0f0f0f0f {base}:0f0f0f0f0f0f-built"
    calls = built("cache", f"""ps*) echo left ;;\n"image ls "*reference={base}*) echo {left} ;;""")
    order = [call.split()[0] for call in calls]
    gone = calls[: order.index("load")]
    assert "rm --force --volumes left" in gone
    assert [f"rmi {name}" for name in left.split()] == [call for call in gone if call.startswith("rmi")]
    ours = f"--filter label=drakit.node-image.build={tmp_path / 'cache'}"
    assert all(ours in call for call in calls if call.startswith(("ps", "image ls")))
    labels = _labels(tmp_path / "cache" / "loaded.tar")
    assert f"--filter label=drakit.node-image.build={labels['drakit.node-image.build']}" == ours
    # What is made of it belongs to no build.
    assert any(call.startswith('commit --change LABEL drakit.node-image.build="" ') for call in calls)


def _labels(archive: Path) -> dict[str, str]:
    with tarfile.open(archive) as tar:
        (image,) = json.load(tar.extractfile("manifest.json"))  # type: ignore[arg-type]
        labels: dict[str, str] = json.load(tar.extractfile(image["Config"]))["config"]["Labels"]  # type: ignore[arg-type]
    return labels


@pytest.mark.slow
def test_builds_of_the_same_with_two_caches_at_once_have_nothing_in_common(
    built: Callable[[str, str], list[str]],
) -> None:
    """They do not wait for each other, and the daemon's names are for all."""
    names = [
        {word for call in built(cache, "") if call.startswith("create") for word in call.split()[1:]} - {"--name"}
        for cache in ("cache", "other-cache")
    ]
    assert all(len(each) == 2 for each in names)
    assert not names[0] & names[1]


@pytest.mark.slow
def test_without_a_daemon_the_error_says_the_way_out(assets: Assets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(
        ClusterError, match=r"no Docker daemon answers .*there is no 'docker' in PATH.*\.ci/docker start"
    ):
        node_image.build(assets, print)


def test_a_kind_that_hides_its_images_is_refused(module: KindModule) -> None:
    assert module.sandbox_image == "registry.k8s.io/pause:3.10"
    for source in (module.directory / "pkg/build/nodeimage").iterdir():
        source.unlink()
    with pytest.raises(ClusterError, match=r"kind v0\.33\.0 names its add-on images elsewhere"):
        assert replace(module).addon_images


@pytest.mark.slow
@pytest.mark.parametrize(("printed", "version"), [("kind v0.33.0 go1.26.8 linux/amd64", "v0.33.0"), ("kindly", None)])
def test_the_module_is_that_of_the_kind_that_is_used(tmp_path: Path, printed: str, version: str | None) -> None:
    kind = tmp_path / "kind"
    kind.write_text(f"#!/bin/sh\necho {printed}\n")
    kind.chmod(0o755)
    if version is None:
        with pytest.raises(ClusterError, match="is no kind"):
            kind_version(kind)
    else:
        assert kind_version(kind) == version
