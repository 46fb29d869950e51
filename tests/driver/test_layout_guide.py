"""The examples of docs/layouts.md are layouts, and mean what the text says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from drakit_api.features import FeatureGates
from drakit_api.layouts.mixins import flatten
from drakit_api.layouts.pools import Pool
from drakit_api.layouts.slices import resource_slices
from drakit_driver.profiles.reading.catalog import build

_GUIDE = (Path(__file__).parents[2] / "docs" / "layouts.md").read_text(encoding="utf-8")
_EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", _GUIDE, re.MULTILINE | re.DOTALL)


def _pool(tmp_path: Path, text: str) -> Pool:
    path = tmp_path / "layout.yaml"
    path.write_text(text, encoding="utf-8")
    (pool,) = build("layout", layout=path)
    return pool


@pytest.mark.parametrize("text", _EXAMPLES, ids=["partitions", "multi-host", "mixins"])
def test_examples_can_be_published(tmp_path: Path, text: str) -> None:
    assert len(resource_slices(_pool(tmp_path, text), generation=1, gates=FeatureGates())) == 2


def test_the_device_overrides_its_mixin(tmp_path: Path) -> None:
    flat = flatten(_pool(tmp_path, _EXAMPLES[2]))
    versions = [device["attributes"]["driverVersion"]["version"] for device in flat.devices]
    assert versions == ["580.126.20", "595.58.3"]
