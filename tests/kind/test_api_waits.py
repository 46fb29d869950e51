"""Bounds of waits are stretched by the cluster's patience, also where one bound is for several waits."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drakit_client.resources import PODS
from drakit_kind.api import Api

PATIENCE = 4.0
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
users: [{name: a, user: {}}]
current-context: a
"""
Waits = Callable[[Api], object]


@pytest.mark.parametrize(
    "several",
    [
        pytest.param(lambda api: api.wait_gone(PODS, ["a", "b", "c"], timeout=30), id="wait_gone"),
        pytest.param(lambda api: api.wait_running("a", "b", "c", timeout=30), id="wait_running"),
    ],
)
def test_waits_one_after_the_other_have_the_patience_together(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, several: Waits
) -> None:
    clock = itertools.count(step=50)  # seconds that each wait takes
    bounds: list[float] = []

    def wait(self: Api, *args: Any, timeout: float, **options: Any) -> dict[str, Any]:
        bounds.append(timeout * PATIENCE)
        return {}

    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    with Api(tmp_path / "kubeconfig", patience=PATIENCE) as api, monkeypatch.context() as patch:
        patch.setattr(Api, "_wait", wait)
        patch.setattr("drakit_kind.api.time.monotonic", lambda: next(clock))
        several(api)
    assert bounds == pytest.approx([30 * PATIENCE - 50, 30 * PATIENCE - 100, 0.1])
