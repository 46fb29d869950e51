"""Bounds of waits are stretched by the cluster's patience, also where one bound is for several waits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from drakit_client.resources import PODS
from drakit_kind.api import Api, WaitTimeout

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


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    with Api(tmp_path / "kubeconfig", patience=PATIENCE) as api:
        yield api


@pytest.mark.parametrize(
    "several",
    [
        pytest.param(lambda api: api.wait_gone(PODS, ["a", "b", "c"], timeout=30), id="wait_gone"),
        pytest.param(lambda api: api.wait_running("a", "b", "c", timeout=30), id="wait_running"),
    ],
)
def test_waits_one_after_the_other_have_the_patience_together(
    monkeypatch: pytest.MonkeyPatch, api: Api, several: Waits
) -> None:
    clock = itertools.count(step=50)  # seconds that each wait takes
    bounds: list[float] = []

    def wait(self: Api, *args: Any, timeout: float, **options: Any) -> dict[str, Any]:
        bounds.append(timeout * PATIENCE)
        return {}

    with monkeypatch.context() as patch:
        patch.setattr(Api, "_wait", wait)
        patch.setattr("drakit_kind.api.time.monotonic", lambda: next(clock))
        several(api)
    assert bounds == pytest.approx([30 * PATIENCE - 50, 30 * PATIENCE - 100, 0.1])


def test_an_environment_is_waited_for(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    logs = iter(["", "# nothing yet\n", "A=1\nB=x=y\n"])
    monkeypatch.setattr(Api, "log", lambda *_: next(logs))
    assert api.environment("pod") == {"A": "1", "B": "x=y"}


def test_a_pod_that_prints_no_environment_is_named(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    monkeypatch.setattr(Api, "log", lambda *_: "hello\n")
    monkeypatch.setattr("drakit_kind.api._LOG_SECONDS", 0.05)
    with pytest.raises(WaitTimeout, match=r"Pod quiet has printed no environment; its log: \['hello'\]"):
        api.environment("quiet")
