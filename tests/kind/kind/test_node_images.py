"""Which images a cluster gets: made here, a registry's stock ones, or the one that was named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from drakit_images import node_image
from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec, Report, silent
from drakit_kind.kind.node_images import driver_image, image_builder, images
from drakit_kind.kind.node_images.images import NodeImages, node_images, pod_images
from drakit_kind.kind.nodes import Nodes
from drakit_kind.kubernetes.assets import Assets
from tests.kind.kind.fake_docker import FakeDocker

SPEC = ClusterSpec(name="story", nodes=["a"], real=frozenset(COMPONENTS))
SKEWED = replace(SPEC, versions={"kubelet": "1.36.3"})
NO_SUCH_IMAGE = "echo 'Error response from daemon: No such image: x' >&2; exit 1"
# What the daemon has: nothing of a registry, and images of other names.
MISSING = f'[ "$2" != inspect ] || {{ {NO_SUCH_IMAGE}; }}'
LABELS = f"""[ "$2" != inspect ] || case "$*" in
*drakit-node*) echo '{{"{image_builder.INPUTS_LABEL}": "abc"}}';;
*) echo null;;
esac"""
HERE = '[ "$2" != inspect ] || echo null'
NO_REGISTRY = 'if [ "$1" = pull ]; then echo no route to host >&2; exit 1; fi'


@pytest.fixture(autouse=True)
def _nothing_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DRAKIT_KUBERNETES_DIR", raising=False)
    monkeypatch.delenv("DRAKIT_BUSYBOX", raising=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "image", "pulled"),
    [
        (SPEC, None, {"1.37.1": "kindest/node:v1.37.1"}),
        (replace(SPEC, version="1.35.4"), None, {"1.35.4": "kindest/node:v1.35.4"}),
        (SPEC, "kindest/node:v1.37.1@sha256:abc", {"1.37.1": "kindest/node:v1.37.1@sha256:abc"}),
        (SKEWED, None, {"1.37.1": "kindest/node:v1.37.1", "1.36.3": "kindest/node:v1.36.3"}),
        (SKEWED, "mirror/node:v1.37.1", {"1.37.1": "mirror/node:v1.37.1", "1.36.3": "kindest/node:v1.36.3"}),
    ],
    ids=["stock", "stock of another version", "named", "older kubelets", "older kubelets beside a named one"],
)
def test_a_registrys_images_are_pulled_as_far_as_they_are_missing(
    fake: FakeDocker, spec: ClusterSpec, image: str | None, pulled: dict[str, str]
) -> None:
    fake.answers(HERE)
    assert node_images(spec, image, silent) == NodeImages(pulled, dns=True)
    assert [call for call in fake.calls if call.startswith("pull")] == []
    fake.answers(_pulling())
    assert node_images(spec, image, silent) == NodeImages(pulled, dns=True)
    assert sorted(call for call in fake.calls if call.startswith("pull")) == sorted(
        f"pull --quiet {name}" for name in pulled.values()
    )


def _pulling() -> str:
    """A docker that has what it has pulled."""
    return f"""case "$1 $2" in
"image inspect") for name; do :; done; grep -qxF "pull --quiet $name" "$(dirname "$0")/calls" && echo null ||
  {{ {NO_SUCH_IMAGE}; }} ;;
esac"""


@pytest.mark.slow
def test_an_image_made_here_has_no_coredns_and_a_stock_one_has(fake: FakeDocker) -> None:
    fake.answers(f"""[ "$2" != inspect ] || echo '{{"{image_builder.INPUTS_LABEL}": "abc"}}'""")
    assert not node_images(SPEC, "localhost/drakit-node:v1.37.1", silent).dns
    fake.answers("""[ "$2" != inspect ] || echo '{"maintainer": "somebody"}'""")
    assert node_images(SPEC, "kindest/node:v1.37.1", silent).dns


@pytest.mark.slow
def test_where_the_binaries_are_an_image_is_made_of_them(
    fake: FakeDocker, assets: Assets, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.answers(HERE)
    built = _builds(monkeypatch, assets, "1.37.1")
    assert node_images(SPEC, None, silent).by_version == {"1.37.1": "localhost/drakit-node:v1.37.1"}
    assert node_images(SPEC, "kindest/node:v1.37.1", silent).by_version == {"1.37.1": "kindest/node:v1.37.1"}
    assert built == ["1.37.1"]


OURS = {"1.37.1": "localhost/drakit-node:v1.37.1", "1.36.3": "localhost/drakit-node:v1.36.3"}
STOCK = {"1.37.1": "kindest/node:v1.37.1", "1.36.3": "kindest/node:v1.36.3"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("built", "image", "expected"),
    [
        (["1.37.1", "1.36.3"], None, OURS),
        (["1.37.1"], None, STOCK),
        (["1.36.3"], None, STOCK),
        (["1.36.3"], OURS["1.37.1"], OURS),
        (["1.37.1", "1.36.3"], STOCK["1.37.1"], STOCK),
    ],
    ids=["all built", "the kubelets' not built", "the control plane's not built", "one of ours", "a registry's"],
)
def test_the_nodes_of_a_cluster_are_all_made_here_or_all_of_a_registry(
    fake: FakeDocker,
    assets: Assets,
    monkeypatch: pytest.MonkeyPatch,
    built: list[str],
    image: str | None,
    expected: dict[str, str],
) -> None:
    """Those made here have a pod network of their own: beside others they would never be ready."""
    fake.answers(LABELS)
    _builds(monkeypatch, assets, *built)
    assert node_images(SKEWED, image, silent) == NodeImages(expected, dns=expected is STOCK)


# As of a release download, which has no more of what a node image is made of.
_DOWNLOADED = (
    "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubeadm", "kubelet", "kubectl",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("lacking", ["etcd", "pause", "portmap", "kind", "kubeadm"])
def test_an_image_is_made_only_where_all_is_here_that_it_is_made_of(
    fake: FakeDocker, assets: Assets, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    """A build of Kubernetes that was interrupted is no reason to refuse a cluster that a registry's image gives."""
    fake.answers(HERE)
    _builds(monkeypatch, assets, "1.37.1")
    (assets.own[0] / lacking).unlink()
    assert node_images(SPEC, None, silent) == NodeImages({"1.37.1": STOCK["1.37.1"]}, dns=True)


@pytest.mark.slow
def test_a_release_download_alone_is_no_node_image(
    fake: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "download" / "1.37.1"
    directory.mkdir(parents=True)
    for name in _DOWNLOADED:
        (directory / name).touch(0o755)
    monkeypatch.setenv("DRAKIT_KUBERNETES_DIR", str(directory.parent))
    fake.answers(HERE)
    assert node_images(SPEC, None, silent) == NodeImages({"1.37.1": STOCK["1.37.1"]}, dns=True)
    fake.answers(f"{MISSING}; {NO_REGISTRY}")
    with pytest.raises(
        ClusterError,
        match=r"name another with --drakit-kind-image, or .* etcd .*missing: `drakit kubernetes build 1\.37\.1` builds",
    ):
        node_images(SPEC, None, silent)


@pytest.mark.slow
@pytest.mark.parametrize("built", [(), ("1.37.1",)], ids=["beside a registry's", "beside one made here"])
def test_no_build_is_advised_of_a_version_that_drakit_does_not_build(
    fake: FakeDocker, assets: Assets, monkeypatch: pytest.MonkeyPatch, built: tuple[str, ...]
) -> None:
    _builds(monkeypatch, assets, *built)
    fake.answers(f"{LABELS}; {NO_REGISTRY}" if built else f"{MISSING}; {NO_REGISTRY}")
    spec = replace(SKEWED, versions={"kubelet": "1.35.1"}) if built else replace(SPEC, version="1.35.1")
    with pytest.raises(ClusterError, match=r"drakit builds .* only.*\$DRAKIT_KUBERNETES_DIR$") as error:
        node_images(spec, OURS["1.37.1"] if built else None, silent)
    assert "build 1.35.1" not in str(error.value)


@pytest.mark.slow
def test_a_pull_is_said_before_it_takes_long(fake: FakeDocker) -> None:
    said: list[str] = []
    fake.answers(HERE)
    node_images(SPEC, STOCK["1.37.1"], said.append)
    assert said == []
    fake.answers(_pulling())
    node_images(SPEC, None, said.append)
    assert said == ["pulling kindest/node:v1.37.1"]


@pytest.mark.slow
def test_where_they_would_not_fit_the_error_says_what_to_build(
    fake: FakeDocker, assets: Assets, monkeypatch: pytest.MonkeyPatch
) -> None:
    _builds(monkeypatch, assets, "1.37.1")
    fake.answers(LABELS)
    with pytest.raises(
        ClusterError,
        match=r"node:v1\.37\.1 was made by drakit, and kindest/node:v1\.36\.3 .*`drakit kubernetes build 1\.36\.3` ",
    ):
        node_images(SKEWED, OURS["1.37.1"], silent)
    fake.answers(f"{MISSING}; {NO_REGISTRY}")
    with pytest.raises(
        ClusterError, match=r"cannot be pulled .*made here.*: `drakit kubernetes build 1\.36\.3` builds"
    ):
        node_images(SKEWED, None, silent)


def _builds(monkeypatch: pytest.MonkeyPatch, assets: Assets, *versions: str) -> list[str]:
    """Binaries of these versions are there; what is built of them is in the list."""
    built: list[str] = []

    def build(assets: Assets, report: Report) -> str:
        built.append(assets.version)
        return node_image.default_name(assets.version)

    def of(spec: ClusterSpec, version: str) -> Assets:
        return Assets(version, assets.own if version in versions else (), ())

    monkeypatch.setattr(node_image, "build", build)
    monkeypatch.setattr(images, "assets_of", of)
    return built


@pytest.mark.slow
@pytest.mark.parametrize(
    ("image", "way_out"),
    [
        (None, r"made here.*kube-apiserver of Kubernetes 1\.37\.1 .*: `drakit kubernetes build 1\.37\.1` builds .*"),
        ("kindest/node:v1.37.1", "name another with --drakit-kind-image"),
    ],
)
def test_without_a_registry_the_error_says_the_way_out(fake: FakeDocker, image: str | None, way_out: str) -> None:
    fake.answers(f"{MISSING}; {NO_REGISTRY}")
    with pytest.raises(
        ClusterError,
        match=rf"^node image kindest/node:v1\.37\.1 is not here and cannot be pulled .*no route to host.*{way_out}$",
    ):
        node_images(SPEC, image, silent)


@pytest.fixture
def no_busybox(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """drakit's own image is there; neither a busybox nor apt is."""
    monkeypatch.setattr(driver_image, "archive", lambda report: ("localhost/drakit:test", tmp_path / "drakit.tar"))

    def missing(report: Report) -> Path:
        raise ClusterError("containers need a busybox: there is none; install busybox-static or set $DRAKIT_BUSYBOX")

    monkeypatch.setattr(images, "find_busybox", missing)
    (tmp_path / "cache" / "kind").mkdir(parents=True)
    return tmp_path


@pytest.mark.slow
def test_without_a_busybox_here_that_of_a_registry_is_taken(fake: FakeDocker, no_busybox: Path) -> None:
    fake.answers(f"""{MISSING}; [ "$1" != save ] || echo saved >"$3" """)
    drakit, (name, archive) = pod_images(silent)
    assert drakit[0] == "localhost/drakit:test"
    assert (name, archive.read_text()) == ("busybox:1.36", "saved\n")
    assert "pull --quiet busybox:1.36" in fake.calls
    assert list(archive.parent.iterdir()) == [archive]


@pytest.mark.slow
def test_without_any_busybox_the_error_says_both_ways_out(fake: FakeDocker, no_busybox: Path) -> None:
    fake.answers(f"{MISSING}; {NO_REGISTRY}")
    with pytest.raises(
        ClusterError, match=r"busybox:1\.36, which test pods run, cannot be pulled .*no route.*install busybox-static"
    ):
        list(pod_images(silent))


def test_a_busybox_that_was_named_and_is_none_is_no_reason_to_take_another(
    fake: FakeDocker, no_busybox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAKIT_BUSYBOX", "/nonexistent")
    fake.answers("exit 0")
    with pytest.raises(ClusterError, match="there is none"):
        list(pod_images(silent))
    assert fake.calls == []


@pytest.mark.slow
def test_a_control_planes_own_kubectl_is_asked(fake: FakeDocker) -> None:
    """So none is needed here."""
    fake.answers("echo ok")
    assert Nodes("drakit-story", ["a"]).kubectl("get", "--raw", "/readyz").strip() == "ok"
    assert fake.calls == [
        "exec drakit-story-control-plane kubectl --kubeconfig /etc/kubernetes/admin.conf get --raw /readyz"
    ]
