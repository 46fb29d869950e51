"""The suites of Kubernetes' tests that are run, and their lists of those that are known to fail."""

from __future__ import annotations

import pytest

from e2e.upstream.expectations import Known
from e2e.upstream.suites import SUITES, known_failures

COLUMNS = ["embedded", "embedded-real", "binaries", "kind"]


@pytest.mark.parametrize("name", SUITES)
def test_each_list_can_be_read(name: str) -> None:
    known = known_failures([name], COLUMNS, "embedded")
    assert known
    assert all(isinstance(test, Known) and test.reason for test in known.values())


def test_lists_of_several_suites_are_read_together() -> None:
    both = known_failures(list(SUITES), COLUMNS, "embedded")
    assert both.keys() == {test for name in SUITES for test in known_failures([name], COLUMNS, "embedded")}


def test_each_suite_lists_its_own_tests_only() -> None:
    listed = {name: known_failures([name], COLUMNS, "embedded") for name in SUITES}
    assert all("[DRA]" in test for test in listed["dra"])
    assert all(test.startswith("[sig-api-machinery]") and "[Conformance]" in test for test in listed["api-machinery"])
