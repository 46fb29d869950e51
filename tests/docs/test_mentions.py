"""What the documentation names is there: files, sections, make targets, tests and modules."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_PAGES = sorted(page for page in (*_ROOT.glob("*.md"), *_ROOT.glob("docs/*.md"), *_ROOT.glob("tests/**/*.md")))
_FOLDERS = "api|driver|allocator|embedded|kind|e2e|tests|bench|docs"
_PATH = re.compile(rf"(?<![\w/.-])((?:{_FOLDERS})/[\w./*-]*\.\w+)")
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_LINK = re.compile(r"\]\((?![a-z]+:)([^)#]*)(?:#([^)]+))?\)")


def _code(page: Path) -> str:
    """The code of a page, blocks and spans, a line each."""
    return "\n".join(_CODE.findall(page.read_text(encoding="utf-8")))


def _anchors(page: Path) -> set[str]:
    """The names that GitHub gives to the sections of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    words = (re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "]", heading)).lower() for heading in headings)
    return {text.strip().replace(" ", "-") for text in words}


def _broken_links(page: Path) -> Iterator[str]:
    for path, section in _LINK.findall(page.read_text(encoding="utf-8")):
        there = page.parent / path if path else page
        if not there.exists() or (section and section not in _anchors(there)):
            yield f"{path}#{section}"


def _is_there(name: str, page: Path) -> bool:
    """Whether there are files of a path, from the root or from where the page is; in capitals is what differs."""
    pattern = re.sub(r"\b[A-Z]+\b", "*", name)
    return any(next(place.glob(pattern), None) for place in (_ROOT, page.parent))


def _of_pages(*pages: Path) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(_ROOT))) for page in pages])


@_of_pages(*_PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    assert list(_broken_links(page)) == []


@_of_pages(*_PAGES)
def test_files_are_there(page: Path) -> None:
    assert [name for name in _PATH.findall(_code(page)) if not _is_there(name, page)] == []


@_of_pages(*_PAGES)
def test_make_knows_the_targets(page: Path) -> None:
    known = set(re.findall(r"^([\w-]+):", (_ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^|`|\$ )make ([a-z][\w-]*)", _code(page), re.MULTILINE))
    assert named - known == set()


@_of_pages(*_PAGES)
def test_modules_are_there(page: Path) -> None:
    named = set(re.findall(r"\b(drakit_\w+(?:\.[a-z_]+)+)\b", _code(page)))
    assert {name for name in named if not _is_module_or_name(name)} == set()


def _is_module_or_name(dotted: str) -> bool:
    """Whether there is such a module, or a module that has such a name."""
    try:
        if importlib.util.find_spec(dotted):
            return True
    except ModuleNotFoundError:
        pass
    module, _, name = dotted.rpartition(".")
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return False
    return bool(found and found.origin and re.search(rf"\b{name}\b", Path(found.origin).read_text()))
