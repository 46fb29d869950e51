"""What a package index shows of drakit: links that lead somewhere from there, and where to report."""

from __future__ import annotations

import re
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from click.testing import CliRunner
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from drakit_kind.cli.drakit_command import main

_ROOT = Path(__file__).parents[2]
_URLS: dict[str, str] = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["urls"]
_IN_REPOSITORY = f"{_URLS['Homepage']}/blob/main/"
_LINK = re.compile(r"\]\(([^)]*)\)")


def _wheel(directory: Path) -> str:
    """The METADATA of a wheel as it is uploaded."""
    [wheel] = WheelBuilder(str(_ROOT)).build(directory=str(directory), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(next(name for name in archive.namelist() if name.endswith("/METADATA"))).decode()


def _sdist(directory: Path) -> str:
    """The PKG-INFO of an sdist, which is all of it that an index reads: packing the rest would take long."""
    builder = SdistBuilder(str(_ROOT))
    return str(builder.config.core_metadata_constructor(builder.metadata))


@pytest.mark.slow
@pytest.mark.parametrize("metadata", [_wheel, _sdist])
def test_links_of_the_description_are_absolute_and_lead_to_what_there_is(metadata: object, tmp_path: Path) -> None:
    assert callable(metadata)
    shown = Parser().parsestr(metadata(tmp_path))
    assert shown["Description-Content-Type"] == "text/markdown"
    links = _LINK.findall(str(shown.get_payload()))
    assert [link for link in links if not link.startswith("https://")] == []
    places = [link.removeprefix(_IN_REPOSITORY).partition("#")[0] for link in links if link.startswith(_IN_REPOSITORY)]
    assert len(places) >= 20
    assert [place for place in places if not (_ROOT / place).exists()] == []


def test_links_of_the_documents_lead_to_what_there_is() -> None:
    for document in (*_ROOT.glob("*.md"), *_ROOT.glob("docs/*.md")):
        places = [link.partition("#")[0] for link in _LINK.findall(document.read_text()) if ":" not in link]
        assert [place for place in places if not (document.parent / place).exists()] == [], document


def test_an_index_shows_where_to_find_and_to_report(tmp_path: Path) -> None:
    shown = Parser().parsestr(_sdist(tmp_path))
    assert shown.get_all("Project-URL") == [f"{name}, {url}" for name, url in _URLS.items()]
    assert {"Homepage", "Documentation", "Issues", "Security"} <= _URLS.keys()


def test_the_readme_the_command_and_the_index_name_one_place_for_bugs() -> None:
    assert f"({_URLS['Issues']})" in (_ROOT / "README.md").read_text()
    assert f"Report bugs at {_URLS['Issues']}" in CliRunner().invoke(main, ["--help"]).output
    assert "/security/advisories/new" in (_ROOT / "SECURITY.md").read_text()
