"""How Kubernetes' tests are run: in which order, and how long each may take."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from e2e.upstream import runs
from e2e.upstream.runs import Runner
from e2e.upstream.specs import Spec


class NoClusters:
    real = frozenset({"apiserver", "kubelet"})

    @asynccontextmanager
    async def running(self, name: str, *, with_gates: bool) -> AsyncIterator[Any]:
        yield Mock(kubeconfig="config")


async def test_what_takes_long_begins_first_and_has_the_time_that_it_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[tuple[str, float]] = []

    async def ended(command: Sequence[str], log: Path, seconds: float) -> None:
        focus = next(option for option in command if option.startswith("--ginkgo.focus="))
        assert f"--ginkgo.timeout={seconds / 60 - 1:.0f}m" in command
        given.append((focus.partition("=")[2].rstrip("$"), seconds / 60 - 1))
        log.write_text("it ended")

    monkeypatch.setattr(runs, "_ended", ended)
    labels = {"plain": (), "slow": ("Slow",), "failing": (), "both": ("Slow",)}
    specs = [Spec(name, frozenset({"sig-api-machinery", *more})) for name, more in labels.items()]
    clusters: Any = NoClusters()
    runner = Runner(Path("program"), clusters, tmp_path, fail={"failing", "both"})
    await runner.run(specs, jobs=1, told=lambda outcome: None)
    assert given == [("slow", 15), ("failing", 3), ("both", 3), ("plain", 10)]
