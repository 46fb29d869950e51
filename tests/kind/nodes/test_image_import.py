"""A node that does not get its images says so, with its name and that of the archive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drakit_kind import bounds
from drakit_kind.cluster import ClusterError
from drakit_kind.nodes.image_import import import_images

pytestmark = pytest.mark.slow


class Scripts:
    """Binaries all of which are this shell script."""

    def __init__(self, directory: Path, text: str) -> None:
        self._file = directory / "program"
        self._file.write_text(f"#!/bin/sh\n{text}\n")
        self._file.chmod(0o700)

    def path(self, name: str) -> Path:
        return self._file


@pytest.fixture
def given(tmp_path: Path) -> Callable[[str], Any]:
    """Gives an archive to a node, whose ``ctr`` is this script."""
    return lambda text: import_images(Scripts(tmp_path, text), tmp_path, Path("/pause.tar"), node="node-7")


async def test_an_image_that_is_taken(given: Callable[[str], Any]) -> None:
    await given("exit 0")


@pytest.mark.parametrize(
    ("ctr", "says"),
    [
        ("echo no space; exit 1", "containerd of node-7 does not take /pause.tar: no space"),
        ("exec sleep 1000", "containerd of node-7 does not take /pause.tar within 1 s"),
    ],
)
async def test_an_image_that_is_not_taken_is_named(
    given: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, ctr: str, says: str
) -> None:
    monkeypatch.setattr(bounds, "IMAGE_IMPORT", 1.0)
    with pytest.raises(ClusterError, match=f"^{says}$"):
        await given(ctr)
