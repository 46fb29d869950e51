"""The facade: what it promises is there, typed, documented, and all that the documentation imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import drakit

_ROOT = Path(__file__).resolve().parents[2]
_PAGES = (_ROOT / "README.md", *sorted((_ROOT / "docs").glob("*.md")))


@pytest.mark.parametrize("name", drakit.__all__)
def test_a_public_name_is_there_with_a_docstring(name: str) -> None:
    value = getattr(drakit, name)
    assert value.__doc__, name
    if hasattr(value, "__name__"):
        assert value.__name__ == name


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(drakit.__file__).read_text(encoding="utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.asname: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert seen == drakit._HOMES


def test_every_public_name_is_in_its_guide() -> None:
    guide = (_ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert [name for name in drakit.__all__ if not re.search(rf"\b{name}\b", guide)] == []


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_examples_import_nothing_private(page: Path) -> None:
    assert re.findall(r"^ *(?:from|import) drakit_\w+.*$", page.read_text(encoding="utf-8"), re.MULTILINE) == []


def test_an_unknown_name_is_told_with_those_that_there_are() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'allocates'; public are AllocatedState, "):
        drakit.allocates  # noqa: B018


@pytest.mark.slow
def test_importing_it_imports_nothing_else() -> None:
    code = "import sys; import drakit; print(*sorted(one for one in sys.modules if one.startswith('drakit_')))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.split() == []
