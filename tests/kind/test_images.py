"""Docker archives that are written without docker: their form, and that the same files give the same image."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from drakit_kind.cluster import ClusterError
from drakit_kind.images import Entry, Image, busybox_archive, pause_archive, write_images


def _documents(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def _config(archive: Path) -> dict[str, Any]:
    documents = _documents(archive)
    config: dict[str, Any] = json.loads(documents[json.loads(documents["manifest.json"])[0]["Config"]])
    return config


def _layer(archive: Path, index: int = 0) -> dict[str, tarfile.TarInfo]:
    path = json.loads(_documents(archive)["manifest.json"])[0]["Layers"][index]
    with tarfile.open(archive) as tar, tarfile.open(fileobj=tar.extractfile(path)) as layer:
        return {member.name: member for member in layer}


def _binary(path: Path, text: str = "#!/bin/sh\nprintf 'sh\\n[\\nenv\\nbusybox\\n'\n") -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_an_archive_has_what_docker_load_containerd_and_kind_look_for(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    layers = [[Entry(path="a", contents=b"first")], [Entry(path="b", contents=b"second")]]
    (identity,) = write_images(archive, [Image(["registry.k8s.io/tool:v1", "tool:v1.0"], layers, command=["/a"])])

    documents = _documents(archive)
    assert next(iter(documents)) == "repositories"
    [manifest] = json.loads(documents["manifest.json"])
    assert manifest["RepoTags"] == ["registry.k8s.io/tool:v1", "tool:v1.0"]
    digests = [hashlib.sha256(documents[path]).hexdigest() for path in manifest["Layers"]]
    assert manifest["Layers"] == [f"{digest}/layer.tar" for digest in digests]
    assert json.loads(documents["repositories"]) == {
        "registry.k8s.io/tool": {"v1": digests[-1]},
        "tool": {"v1.0": digests[-1]},
    }
    assert identity == "sha256:" + hashlib.sha256(documents[manifest["Config"]]).hexdigest()
    config = json.loads(documents[manifest["Config"]])
    assert config["rootfs"] == {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]}
    assert config["config"] == {"Cmd": ["/a"]}


def test_the_same_contents_give_the_same_image_whenever_and_wherever_they_lie(tmp_path: Path) -> None:
    archives = []
    for index, when in enumerate((1, 1_700_000_000)):
        source = tmp_path / f"source-{index}"
        source.write_bytes(b"binary")
        os.utime(source, (when, when))
        entries = [Entry(path="bin/tool", contents=source), Entry(path="etc/x", contents=b"")]
        archive = tmp_path / f"{index}.tar"
        write_images(archive, [Image(["tool:1"], [entries if index else list(reversed(entries))])])
        archives.append(archive.read_bytes())
    assert archives[0] == archives[1]


def test_layers_lie_beside_the_archive_and_not_in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are hundreds of megabytes, and /tmp may be memory."""
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    write_images(tmp_path / "image.tar", [Image(["tool:1"], [[Entry(path="a", contents=b"1")]])])
    assert [path.name for path in tmp_path.iterdir()] == ["image.tar"]


def test_a_finished_tar_is_a_layer_as_it_is(tmp_path: Path) -> None:
    layer = tmp_path / "root.tar"
    with tarfile.open(layer, "w") as tar:
        tar.add(__file__, "etc/story")
    write_images(tmp_path / "image.tar", [Image(["base:1"], [layer])])
    assert f"{hashlib.sha256(layer.read_bytes()).hexdigest()}/layer.tar" in _documents(tmp_path / "image.tar")


def test_entries_keep_their_modes_and_bring_the_directories_above_them(tmp_path: Path) -> None:
    entries = [
        Entry(path="/usr/local/bin/tool", contents=b"x"),
        Entry(path="tmp", mode=0o1777),
        Entry(path="usr/bin", link="local/bin"),
    ]
    write_images(tmp_path / "image.tar", [Image(["tool:1"], [entries])])
    layer = _layer(tmp_path / "image.tar")
    assert list(layer) == ["tmp", "usr", "usr/bin", "usr/local", "usr/local/bin", "usr/local/bin/tool"]
    assert {name: member.mode for name, member in layer.items() if not member.issym()} == {
        "tmp": 0o1777, "usr": 0o755, "usr/local": 0o755, "usr/local/bin": 0o755, "usr/local/bin/tool": 0o755,
    }  # fmt: skip
    assert layer["usr/bin"].linkname == "local/bin"
    assert {(member.uid, member.gid, member.mtime) for member in layer.values()} == {(0, 0, 0)}


def test_settings_of_containers(tmp_path: Path) -> None:
    image = Image(
        ["tool:1"],
        [[Entry(path="a")]],
        entrypoint=["/tool"],
        env={"PATH": "/bin"},
        user="65532:65532",
        working_directory="/a",
        stop_signal="SIGRTMIN+3",
        labels={"built.from": "abc"},
    )
    write_images(tmp_path / "image.tar", [image])
    assert _config(tmp_path / "image.tar")["config"] == {
        "Entrypoint": ["/tool"],
        "Env": ["PATH=/bin"],
        "User": "65532:65532",
        "WorkingDir": "/a",
        "StopSignal": "SIGRTMIN+3",
        "Labels": {"built.from": "abc"},
    }


@pytest.mark.slow
def test_busybox_has_every_applet_beside_it(tmp_path: Path) -> None:
    busybox_archive(tmp_path / "image.tar", _binary(tmp_path / "busybox"))
    layer = _layer(tmp_path / "image.tar")
    assert {name: member.linkname for name, member in layer.items() if member.issym()} == {
        "bin/[": "busybox", "bin/env": "busybox", "bin/sh": "busybox",
    }  # fmt: skip
    assert layer["bin/busybox"].isreg()
    assert json.loads(_documents(tmp_path / "image.tar")["manifest.json"])[0]["RepoTags"] == ["busybox:1.36"]


def test_pause_runs_as_nobody(tmp_path: Path) -> None:
    pause_archive(tmp_path / "image.tar", _binary(tmp_path / "pause"), name="registry.k8s.io/pause:3.10")
    assert _config(tmp_path / "image.tar")["config"] == {"Entrypoint": ["/pause"], "User": "65535:65535"}


@pytest.mark.parametrize("name", ["busybox", "busybox:", ":1", "Busybox:1", "busybox:1/2", "../x:1 y", "a b:1"])
def test_a_name_without_repository_and_tag_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ClusterError, match="must be like repository:tag"):
        write_images(tmp_path / "image.tar", [Image([name], [[Entry(path="a")]])])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["", "/", "..", "a/../../b", "//a"])
def test_a_path_outside_of_the_image_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(ClusterError, match="is no path inside of an image"):
        write_images(tmp_path / "image.tar", [Image(["tool:1"], [[Entry(path=path)]])])


def test_an_archive_that_fails_leaves_the_earlier_one(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    write_images(archive, [Image(["tool:1"], [[Entry(path="a", contents=b"1")]])])
    before = archive.read_bytes()
    with pytest.raises(FileNotFoundError):
        write_images(archive, [Image(["tool:1"], [[Entry(path="a", contents=tmp_path / "missing")]])])
    assert archive.read_bytes() == before
    assert list(tmp_path.iterdir()) == [archive]


@pytest.mark.slow
def test_what_is_no_busybox_is_named_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"false does not list its applets.*busybox-static"):
        busybox_archive(tmp_path / "image.tar", _binary(tmp_path / "false", "#!/bin/sh\nexit 1\n"))


def test_several_images_in_one_archive_share_their_layers(tmp_path: Path) -> None:
    base = [Entry(path="etc/passwd", contents=b"root")]
    images = [Image(["a:1"], [base, [Entry(path="a")]]), Image(["b:1", "c:2"], [base, [Entry(path="b")]])]
    identities = write_images(tmp_path / "images.tar", images)
    documents = _documents(tmp_path / "images.tar")
    manifest = json.loads(documents["manifest.json"])
    assert [entry["RepoTags"] for entry in manifest] == [["a:1"], ["b:1", "c:2"]]
    assert [entry["Config"] for entry in manifest] == [f"{each.removeprefix('sha256:')}.json" for each in identities]
    assert manifest[0]["Layers"][0] == manifest[1]["Layers"][0]
    assert sum(name.endswith("/layer.tar") for name in documents) == 3
    assert set(json.loads(documents["repositories"])) == {"a", "b", "c"}


def test_archives_that_are_written_at_once_are_all_whole(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    image = Image(["tool:1"], [[Entry(path="a", contents=b"1" * 1000)]])
    write_images(archive, [image])
    whole = archive.read_bytes()
    at_once = [threading.Thread(target=write_images, args=(archive, [image])) for _ in range(8)]
    for thread in at_once:
        thread.start()
    for thread in at_once:
        thread.join()
    assert archive.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [archive]
