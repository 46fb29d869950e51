"""A story with a cluster of its own that failed says what was going on there."""

from __future__ import annotations

from e2e.evidence import pytest_runtest_makereport

__all__ = ["pytest_runtest_makereport"]
