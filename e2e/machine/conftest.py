"""Which backend is looked at: real nodes on this machine, or with ``--cluster kind`` those in containers."""

from __future__ import annotations

import os

import pytest

from e2e.machine.backends import BACKENDS, Backend


def _chosen(config: pytest.Config) -> Backend:
    return BACKENDS["kind" if config.getoption("--cluster") == "kind" else "binaries"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each way in which the backend may be ended."""
    if "ending" in metafunc.fixturenames:
        metafunc.parametrize("ending", _chosen(metafunc.config).endings, ids=lambda ending: ending.name)


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> Backend:
    """The backend that this run is about."""
    backend = _chosen(request.config)
    if backend.needs_root and os.geteuid() != 0:
        pytest.skip("real nodes need root")
    return backend
