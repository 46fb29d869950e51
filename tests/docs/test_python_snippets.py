"""The Python of the documentation runs as it stands: copied into a file, nothing added."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _snippets() -> Iterator[object]:
    for document in (_ROOT / "README.md", *sorted((_ROOT / "docs").glob("*.md"))):
        for number, found in enumerate(_SNIPPET.finditer(document.read_text())):
            yield pytest.param(found[1], id=f"{document.name}-{number}")


@pytest.mark.slow
@pytest.mark.parametrize("snippet", list(_snippets()))
def test_a_snippet_runs_as_it_stands(snippet: str, tmp_path: Path) -> None:
    is_test = "\ndef test_" in snippet
    path = tmp_path / ("test_snippet.py" if is_test else "snippet.py")
    path.write_text(snippet)
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if is_test else ["-W", "error"]
    ended = subprocess.run(
        [sys.executable, *command, path.name], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for line in re.findall(r"print\(.*\)  # (.*)$", snippet, re.MULTILINE):
        assert line in ended.stdout


def test_there_are_snippets() -> None:
    documents = {str(getattr(one, "id", "")).rpartition("-")[0] for one in _snippets()}
    assert {"README.md", "allocator.md", "defects.md", "explain.md", "python.md"} <= documents
