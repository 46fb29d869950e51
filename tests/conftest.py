"""What all unit tests share."""

from __future__ import annotations

import pytest

from e2e.heard_signals import signals_heard

__all__ = ["signals_heard"]


def pytest_configure(config: pytest.Config) -> None:
    """What the order of the tests follows."""
    config.addinivalue_line("markers", "long: begins early, as it would hold up the end of all")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first: as the last of all it would leave the other workers nothing to do."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
