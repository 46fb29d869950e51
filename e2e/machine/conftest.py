"""Which backend is looked at: Kubernetes' programs on this machine, or those in containers of kind."""

from __future__ import annotations

import os

import pytest

from drakit_kind.testing.settings.values import backend as chosen_backend
from e2e.heard_signals import signals_heard
from e2e.machine.backends import KIND, REAL_NODES, SIMULATED_NODES, Backend

__all__ = ["signals_heard"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each way in which the backends may be ended; that they end by themselves is shown on one."""
    names = metafunc.fixturenames
    backends = [KIND] if chosen_backend(metafunc.config) == "kind" else [REAL_NODES, SIMULATED_NODES]
    if "ending" in names:
        cases = [
            pytest.param(backend, ending, id=f"{backend.name}, {ending.name}", marks=_marks(backend))
            for backend in backends
            for ending in backend.endings
        ]
        metafunc.parametrize(("backend", "ending"), cases)
    elif "backend" in names:
        backend = next(backend for backend in backends if not _marks(backend))
        metafunc.parametrize("backend", [backend], ids=[backend.name])


def _marks(backend: Backend) -> list[pytest.MarkDecorator]:
    return [pytest.mark.skip(reason="real nodes need root")] if backend.needs_root and os.geteuid() != 0 else []
