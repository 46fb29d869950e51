"""The image with driver and scheduler: the same drakit, whatever it is built from."""

from __future__ import annotations

import os
import tarfile
import tomllib
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from drakit_kind.cluster import silent
from drakit_kind.images import write_layer
from drakit_kind.kind.commands import kind
from drakit_kind.kind.node_images import driver_image
from tests.kind.kind.fake_docker import FakeDocker

_TREE = Path(__file__).parents[3]
_DOCKERFILE = _TREE / "driver" / "Dockerfile"
# `docker save --output FILE NAME` writes a file, `docker cp - CONTAINER:/` reads one, `docker create` says an id.
_DOCKER = """case "$1" in
save) echo "image $4" >"$3" ;;
cp) cat >"$(dirname "$0")/layer-$(ls "$(dirname "$0")" | wc -l).tar" ;;
create) echo c0ffee ;;
esac"""


@pytest.fixture
def docker(fake: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """A daemon that has every image."""
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path / "cache"))
    fake.answers(_DOCKER)
    return fake


def _copied() -> set[str]:
    lines = [line.split() for line in _DOCKERFILE.read_text().splitlines()]
    return {source for line in lines if line[:1] == ["COPY"] and "--from=build" not in line for source in line[1:-1]}


def test_the_dockerfile_copies_all_that_a_wheel_is_made_of() -> None:
    """What is missing would be missing in the image without a word: a wheel is also made of what is left."""
    project = tomllib.loads((_TREE / "pyproject.toml").read_text())
    packed = {path.partition("/")[0] for path in project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]}
    readme = {
        fragment["path"] for fragment in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["fragments"]
    }
    assert packed | readme | {"pyproject.toml", "LICENSE"} == _copied()


def test_docker_gets_what_the_dockerfile_copies_and_nothing_else() -> None:
    """A source tree also has a virtual environment, of hundreds of megabytes."""
    lines = (_TREE / ".dockerignore").read_text().splitlines()
    assert lines[1] == "*"
    assert {line.removeprefix("!") for line in lines if line.startswith("!")} == _copied()
    # BuildKit takes one with the Dockerfile's name instead, where there is one.
    assert list(_DOCKERFILE.parent.glob("*.dockerignore")) == []


@pytest.mark.slow
def test_in_a_source_tree_it_is_what_the_dockerfile_says(docker: FakeDocker) -> None:
    name, file = driver_image.archive(silent, local=False)
    assert f"build -f {_DOCKERFILE} -t {name} {_TREE}" in docker.calls
    assert file.read_text() == f"image {name}\n"


@pytest.mark.slow
def test_an_image_is_kept_in_one_place_only(docker: FakeDocker) -> None:
    """Each change of the source makes one."""
    name, _ = driver_image.archive(silent, local=False)
    assert docker.calls[-1] == f"rmi {name}"


@pytest.mark.slow
def test_a_stage_of_the_dockerfile_leaves_no_image(docker: FakeDocker) -> None:
    """Docker without BuildKit keeps one for each stage."""
    assert _DOCKERFILE.read_text().count("LABEL drakit.stage=build\n") == 1
    driver_image.archive(silent, local=False)
    order = [call.partition(" -")[0] for call in docker.calls]
    assert order.index("build") < order.index("image prune")
    assert "image prune --force --filter label=drakit.stage=build" in docker.calls


@pytest.mark.slow
def test_layers_and_images_of_what_was_before_are_forgotten(
    docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change of the source, or of a version, makes others."""
    monkeypatch.setattr(driver_image, "_source_tree", lambda: None)
    monkeypatch.setattr(driver_image, "_pip_install", lambda target, *_: target.mkdir())
    cache = tmp_path / "cache" / "kind"
    cache.mkdir(parents=True)
    for name in ("drakit-0-registry.tar", "dependencies-0.layer", "busybox.tar"):
        (cache / name).touch()
        os.utime(cache / name, (0, 0))
    (cache / "drakit-1-registry.tar").touch()  # another source tree's tests have just asked for it
    _, file = driver_image.archive(silent, local=False)
    (layer,) = cache.glob("*.layer")
    assert layer.name != "dependencies-0.layer"
    assert {path.name for path in cache.glob("*.tar")} == {"busybox.tar", "drakit-1-registry.tar", file.name}


@pytest.mark.slow
def test_what_a_killed_build_has_left_goes_with_the_next(docker: FakeDocker, tmp_path: Path) -> None:
    left = tmp_path / "cache" / "kind" / "driver-image-killed"
    (left / "lib").mkdir(parents=True)
    driver_image.archive(silent, local=False)
    assert not left.exists()


@pytest.mark.slow
def test_an_image_is_made_from_what_was_asked_for_whatever_is_there(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_image, "_build_local", lambda name, file, report, base: file.write_text("of Debian"))
    registry, debian = (driver_image.archive(silent, local=local) for local in (False, True))
    assert debian[1].read_text() == "of Debian"
    assert registry[1].read_text() == f"image {registry[0]}\n"
    assert registry[0] == debian[0], "what a cluster runs has one name"
    calls = len(docker.calls)
    assert driver_image.archive(silent) in (registry, debian)
    assert len(docker.calls) == calls


@pytest.mark.slow
def test_each_debian_root_of_the_user_makes_another_image(
    docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_image, "_build_local", lambda name, file, report, base: file.write_text(f"of {base}"))
    first, second = tmp_path / "first.tar", tmp_path / "second.tar"
    for root in (first, second):
        root.touch()
    made = driver_image.archive(silent, local=True)[1]
    assert made.read_text() == "of None"
    for root in (first, second):
        assert driver_image.archive(silent, local=True, base=root)[1].read_text() == f"of {root}"
    monkeypatch.setenv("DRAKIT_DEBIAN_ROOT", str(first))
    assert driver_image.archive(silent)[1].read_text() == f"of {first}", "tests take the one that is there"


@pytest.mark.slow
def test_a_changed_dockerfile_makes_another_image(
    docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_image, "_source_tree", lambda: tmp_path)
    (tmp_path / "driver").mkdir()
    names = set()
    for text in ("FROM a\n", "FROM b\n", "FROM a\n"):
        (tmp_path / "driver" / "Dockerfile").write_text(text)
        names.add(driver_image.archive(silent, local=False)[0])
    assert len(names) == 2


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No source tree, and nothing that drakit depends on."""
    monkeypatch.setattr(driver_image, "_source_tree", lambda: None)
    dependencies = tmp_path / "dependencies.layer"
    with dependencies.open("wb") as stream:
        write_layer(stream, [])
    monkeypatch.setattr(driver_image, "_dependencies", lambda report, scratch: dependencies)


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_the_container_of_a_killed_build_goes_with_the_next(docker: FakeDocker, tmp_path: Path) -> None:
    label = f"drakit.build={tmp_path / 'cache'}"
    docker.answers(f'case "$*" in *"--filter label={label}") echo left ;; esac\n{_DOCKER}')
    driver_image.archive(silent, local=False)
    calls = [call for call in docker.calls if call.split()[0] in ("create", "rm")]
    assert calls == [
        "rm --force --volumes left", f"create --label {label} python:3.11-slim", "rm --force --volumes c0ffee"
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_an_installed_drakit_is_added_to_the_base(docker: FakeDocker, tmp_path: Path) -> None:
    name, file = driver_image.archive(silent, local=False)
    assert file.read_text() == f"image {name}\n"
    commit = next(call for call in docker.calls if call.startswith("commit"))
    assert commit.endswith(f"c0ffee {name}")
    assert '--change USER 65532:65532 --change ENTRYPOINT ["drakit"]' in commit
    assert "PATH=/opt/drakit/bin:/usr/local/bin:" in commit
    # The container's own label would make every container of the image one of a build that was killed.
    assert "--change LABEL drakit.build= " in commit
    assert "rm --force --volumes c0ffee" in docker.calls
    _, layer = sorted((tmp_path / "programs").glob("layer-*.tar"))
    with tarfile.open(layer) as packed:
        command = packed.extractfile("opt/drakit/bin/drakit")
        assert command is not None
        assert command.readline() == b"#!/usr/local/bin/python3\n"
        assert {"drakit_kind", "drakit_api"} <= {
            Path(name).parts[3] for name in packed.getnames() if name.count("/") > 2
        }


@pytest.mark.parametrize(
    ("options", "variable", "local"),
    [(["--base", "root.tar"], None, True), ([], "root.tar", None), (["--registry"], "root.tar", False)],
    ids=["an option", "a variable", "a variable and a registry"],
)
def test_a_root_that_is_named_on_the_command_line_is_what_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], variable: str | None, local: bool | None
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "root.tar").touch()
    asked = Mock(return_value=("name", tmp_path / "image.tar"))
    monkeypatch.setattr(driver_image, "archive", asked)
    ended = CliRunner(env={"DRAKIT_DEBIAN_ROOT": variable}).invoke(kind, ["driver-image", *options])
    assert ended.exit_code == 0, ended.output
    assert asked.call_args.kwargs == {"local": local, "base": Path("root.tar")}


def test_a_root_is_not_taken_for_an_image_of_a_registry(tmp_path: Path) -> None:
    (root := tmp_path / "root.tar").touch()
    ended = CliRunner().invoke(kind, ["driver-image", "--registry", "--base", str(root)])
    assert (ended.exit_code, "an image of a --registry does not need" in ended.output) == (2, True)
