"""A combination that failed says what was going on in its cluster."""

from __future__ import annotations

from e2e.evidence import pytest_runtest_makereport

__all__ = ["pytest_runtest_makereport"]
