"""Whole clusters and pods that come one after the other: each pod gets the node and devices that upstream gave it.

The files are those of ``make bench ARGS=workloads``, which measures them as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.recorded import Replay, files, read


def _name(path: Path) -> str:
    return path.name.partition(".")[0]


@pytest.mark.slow
@pytest.mark.parametrize("path", files(), ids=_name)
def test_pods_are_placed_as_by_upstream(path: Path) -> None:
    workload = read(path)
    assert Replay.of(workload).placements == workload.placements


def test_no_file_is_left_out() -> None:
    assert len(files()) == 20
