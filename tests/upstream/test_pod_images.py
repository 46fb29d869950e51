"""What the pods of Kubernetes' tests run on real nodes is in the images that they get."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from e2e.upstream.pod_images import write_pod_images
from e2e.upstream.program import OF_PODS


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Of programs that are no more than needed."""
    programs = {name: tmp_path / name for name in (*OF_PODS, "busybox")}
    for path in programs.values():
        path.write_text("#!/bin/sh\nprintf 'sh\\nenv\\n'\n")
        path.chmod(0o755)
    write_pod_images(tmp_path / "images.tar", programs["busybox"], programs)
    return tmp_path / "images.tar"


@pytest.mark.slow
def test_each_image_has_a_shell_and_what_its_containers_start(archive: Path) -> None:
    started = {}
    with tarfile.open(archive) as tar:
        for image in _json(tar, "manifest.json"):
            ((repository, _),) = (name.split(":") for name in image["RepoTags"])
            config = _json(tar, image["Config"])["config"]
            program, *_ = config.get("Entrypoint") or config["Cmd"]
            files = {path for layer in image["Layers"] for path in _paths(tar, layer)}
            assert config["Env"] == ["PATH=/bin"]
            assert {"bin/sh", "bin/env", "tmp"} <= files
            assert program == "sh" or program.removeprefix("/") in files
            started[repository.rpartition("/")[2]] = program
    assert started == {"busybox": "sh"} | {name: f"/{name}" for name in OF_PODS}


def _json(tar: tarfile.TarFile, name: str) -> Any:
    file = tar.extractfile(name)
    assert file is not None
    return json.loads(file.read())


def _paths(tar: tarfile.TarFile, layer: str) -> list[str]:
    with tarfile.open(fileobj=tar.extractfile(layer)) as opened:
        return opened.getnames()
