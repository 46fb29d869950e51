"""What a test leaves open is told as this test's fault, whenever Python would have come across it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

_TESTS = """
import pytest

class Open:
    def __del__(self):
        raise OSError("left open")

@pytest.fixture
def knot():
    return [Open()]

def test_that_leaves_something():
    knot = [Open()]
    knot.append(knot)

def test_whose_fixture_does(knot):
    knot.append(knot)

def test_that_follows():
    pass
"""


@pytest.mark.slow
def test_what_a_test_leaves_is_not_the_fault_of_the_next_one(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest((root / "tests" / "conftest.py").read_text())
    pytester.makepyfile(_TESTS)
    result = pytester.runpytest_subprocess("-W", "error", "-o", f"pythonpath={root}", "-rA", timeout=60)
    lines = [line.split(" - ")[0] for line in result.outlines if line.startswith(("PASSED", "FAILED", "ERROR"))]
    name = "test_what_a_test_leaves_is_not_the_fault_of_the_next_one.py"
    assert [line for line in lines if line.startswith("ERROR")] == [
        f"ERROR {name}::test_that_leaves_something",
        f"ERROR {name}::test_whose_fixture_does",
    ]
    assert f"PASSED {name}::test_that_follows" in lines
