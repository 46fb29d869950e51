"""The walkthrough of docs/patches.md: its files do what the page prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_DRAKIT = Path(sys.executable).parent / "drakit"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_GATE = ("--feature-gates", "DRAAdminControlledDeviceAttributes=true")


def _blocks() -> list[tuple[str, str]]:
    page = (_ROOT / "docs" / "patches.md").read_text(encoding="utf-8")
    return _BLOCK.findall(page.partition("\n## Walkthrough\n")[2].partition("\n## ")[0])


def _drakit(folder: Path, *arguments: str) -> str:
    ended = subprocess.run([_DRAKIT, *arguments], cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode in (0, 1), ended.stderr  # 1: a pod does not fit, which is what one of them is for
    return ended.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the page, and what a cluster has by then: slices, classes and the second pod."""
    patch, pod = (text for language, text in _blocks() if language == "yaml")
    (tmp_path / "patch.yaml").write_text(patch, encoding="utf-8")
    (tmp_path / "pod.yaml").write_text(pod, encoding="utf-8")
    (tmp_path / "silver.yaml").write_text(pod.replace("gold", "silver"), encoding="utf-8")
    for kind in ("slices", "classes"):
        (tmp_path / f"{kind}.yaml").write_text(_drakit(tmp_path, "driver", kind, "dgx-a100"), encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_the_pod_gets_the_patched_device_as_the_page_lists_it(folder: Path) -> None:
    files = ("-f", "slices.yaml", "-f", "classes.yaml", "-f", "patch.yaml")
    claims = _drakit(folder, "allocate", *files, "-f", "pod.yaml", "-o", "yaml", *_GATE)
    (folder / "claims.yaml").write_text(claims, encoding="utf-8")
    listed = _drakit(folder, "get", "devices", "--patched", "--patch", "tier-gold", *files, "-f", "claims.yaml")
    assert len(listed.splitlines()) == 2
    assert listed in "".join(text for _, text in _blocks())


@pytest.mark.slow
def test_the_second_pod_is_explained_as_the_page_prints_it(folder: Path) -> None:
    files = ("-f", "slices.yaml", "-f", "classes.yaml", "-f", "patch.yaml", "-f", "silver.yaml")
    explained = _drakit(folder, "allocate", "--explain", *files, *_GATE)
    read = [line for line in explained.splitlines() if "tier" in line]
    assert len(read) == 3
    printed = [line.strip() for _, text in _blocks() for line in text.splitlines()]
    assert [line for line in read if line.strip() not in printed] == []
