"""An installed drakit makes no images without a registry: it takes a registry's, and says how to get others."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hatchling.builders.wheel import WheelBuilder

import drakit_images.debian
import drakit_images.node_image
from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec, silent
from drakit_kind.kind.commands import kind
from drakit_kind.kind.node_images import driver_image, image_builder, images
from drakit_kind.kind.node_images.image_builder import Debian, NodeImageBuilder
from drakit_kind.kind.node_images.images import NodeImages, node_images
from drakit_kind.kubernetes.assets import Assets
from tests.kind.kind.fake_docker import FakeDocker

_TREE = Path(__file__).parents[3]
_SPEC = ClusterSpec(name="story", nodes=["a"], real=frozenset(COMPONENTS))
_SKEWED = replace(_SPEC, versions={"kubelet": "1.36.3"})
_HERE = '[ "$2" != inspect ] || echo null'
_OURS = f"""[ "$2" != inspect ] || echo '{{"{image_builder.INPUTS_LABEL}": "abc"}}'"""
_NO_REGISTRY = """case "$1 $2" in
"image inspect") echo 'Error response from daemon: No such image: x' >&2; exit 1 ;;
"pull "*) echo no route to host >&2; exit 1 ;;
esac"""
_WAY_OUT = r"images without a registry are made by drakit's source tree only \(`make setup` there, or .*\)"


@pytest.fixture
def installed(assets: Assets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All binaries are here, and neither the package that would make an image of them nor a source tree."""
    monkeypatch.setattr(image_builder, "PACKAGE", "drakit_images_elsewhere")
    monkeypatch.setattr(driver_image, "_source_tree", lambda: None)
    monkeypatch.setattr(images, "assets_of", lambda spec, version: Assets(version, assets.own, ()))
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DRAKIT_KUBERNETES_DIR", str(assets.own[0]))


def test_a_source_tree_has_what_is_looked_for() -> None:
    nodes: NodeImageBuilder = drakit_images.node_image
    debian: Debian = drakit_images.debian
    assert image_builder.node_image_builder() is nodes
    assert image_builder.debian() is debian


@pytest.mark.slow
def test_a_wheel_does_not_have_it(tmp_path: Path) -> None:
    [wheel] = WheelBuilder(str(_TREE)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "drakit_kind/kind/node_images/images.py" in names
    assert [name for name in names if "drakit_images" in name or name.endswith("/debian.py")] == []


def test_what_a_builder_lacks_itself_is_no_missing_builder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_builder, "PACKAGE", "drakit_kind.kind")
    with pytest.raises(ModuleNotFoundError, match=r"drakit_kind\.kind\.debian"):
        image_builder.debian()


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_nodes_of_an_installed_drakit_have_a_registrys_images(fake: FakeDocker) -> None:
    fake.answers(_HERE)
    stock = {version: f"kindest/node:v{version}" for version in ("1.37.1", "1.36.3")}
    assert node_images(_SKEWED, None, silent) == NodeImages(stock, dns=True)


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_without_a_registry_an_installed_drakit_says_where_images_are_made(fake: FakeDocker) -> None:
    fake.answers(_NO_REGISTRY)
    with pytest.raises(
        ClusterError,
        match=rf"^node image kindest/node:v1\.36\.3 is not here and cannot be pulled .*no route to host.*; "
        rf"name another with --drakit-kind-image, or have all made here: {_WAY_OUT}$",
    ):
        node_images(_SKEWED, None, silent)


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_an_image_that_was_made_elsewhere_serves_nodes_of_its_version(fake: FakeDocker) -> None:
    fake.answers(_OURS)
    made = "localhost/drakit-node:v1.37.1"
    assert node_images(_SPEC, made, silent) == NodeImages({"1.37.1": made}, dns=False)
    with pytest.raises(ClusterError, match=rf"was made by drakit, and kindest/node:v1\.36\.3 has .*{_WAY_OUT}$"):
        node_images(_SKEWED, made, silent)


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_the_image_with_driver_and_scheduler_needs_a_registry_there(fake: FakeDocker) -> None:
    fake.answers(_NO_REGISTRY)
    with pytest.raises(ClusterError, match=rf"^no python:3\.11-slim from a registry \(.*no route.*\); .*{_WAY_OUT}$"):
        driver_image.archive(silent)
    with pytest.raises(ClusterError, match=rf"{_WAY_OUT}$"):
        driver_image.archive(silent, local=True)


@pytest.mark.usefixtures("installed")
def test_the_command_for_node_images_says_what_to_do_instead() -> None:
    ended = CliRunner().invoke(kind, ["node-image", "1.37.1"])
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr == (
        "Error: images without a registry are made by drakit's source tree only (`make setup` there, or "
        "`pip install --editable .`); where a registry can be reached, kind and the tests take kindest/node:v1.37.1\n"
    )
