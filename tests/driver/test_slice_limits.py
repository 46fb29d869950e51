"""A layout whose slices no API server can store is refused before it is published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from drakit_driver.cli.driver_command import driver

pytestmark = pytest.mark.slow


def layout(path: Path, values: int) -> Path:
    """128 devices that are on one of so many nodes each, with names of 60 characters."""
    nodes = [f"node-{number:055}" for number in range(values)]
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": nodes}]}]
    devices: list[dict[str, Any]] = [
        {"name": f"gpu-{number}", "nodeSelector": {"nodeSelectorTerms": terms}} for number in range(128)
    ]
    spec = {"driver": "gpu.example.com", "pool": {"name": "rack"}, "perDeviceNodeSelection": True, "devices": devices}
    path.write_text(yaml.safe_dump(spec))
    return path


def slices(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(driver, ["slices", "layout", str(path), *arguments])


@pytest.mark.parametrize("arguments", [(), ("--sizes",), ("-o", "json")])
def test_a_slice_over_the_limit_of_etcd_is_an_error(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = slices(layout(tmp_path / "layout.yaml", 200), *arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "(pool rack, 128 devices): 1,5" in result.stderr
    assert "and etcd takes 1,572,864 in a request: give its devices fewer or shorter attributes" in result.stderr


def test_a_slice_just_below_it_is_none(tmp_path: Path) -> None:
    result = slices(layout(tmp_path / "layout.yaml", 190), "--sizes")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("pool rack: 1 slice, 1,5")
