"""The one test of the matrix: every row tells its story."""

from __future__ import annotations

import pytest

from e2e.matrix.row import Row, play
from e2e.matrix.rows import ROWS
from e2e.matrix.stage import Stage

# Real components take seconds to restart, and a row restarts several.
_ROW_SECONDS = 600


@pytest.mark.timeout(_ROW_SECONDS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row(row: Row, stage: Stage, request: pytest.FixtureRequest) -> None:
    if "kubelet" in stage.cluster.spec.real:
        request.node.user_properties.append(("kubelet", "real"))
    play(row, stage)
    stage.close()
