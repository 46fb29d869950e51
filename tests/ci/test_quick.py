"""`make check` leaves out slow tests, and says which test should have their mark."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

_TESTS = """
import subprocess, sys, time
import pytest

def _program():
    try:
        subprocess.run([sys.executable, "-c", ""])
    except Exception:
        pass  # as a program does that is told what failed

@pytest.fixture(scope="module")
def server():
    _program()

def test_in_moments():
    pass

@pytest.mark.slow
def test_marked():
    raise AssertionError

def test_with_a_program():
    _program()

def test_with_a_fixture_that_has_one(server):
    pass

def test_busy():
    end = time.process_time() + 1.6
    while time.process_time() < end:
        pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makeini("[pytest]\nmarkers = slow")
    pytester.makepyfile(_TESTS)
    return pytester


def test_what_is_slow_is_left_out_and_what_should_be_is_told(suite: pytest.Pytester) -> None:
    result = suite.runpytest_subprocess("-p", "tests.slow_marks", "-p", "tests.quick", "-rA")
    result.assert_outcomes(passed=1, failed=2, errors=1, deselected=1)
    result.stdout.fnmatch_lines_random(
        [
            "starts a program (subprocess.Popen *): mark the test `slow`",
            "takes 1.? s of CPU time, more than 1.5: mark the test `slow`",
            "ERROR *::test_with_a_fixture_that_has_one*",
            "FAILED *::test_with_a_program*",
            "FAILED *::test_busy*",
        ]
    )


def test_all_tests_together_tell_which_lack_the_mark(suite: pytest.Pytester) -> None:
    result = suite.runpytest_subprocess("-p", "tests.slow_marks", "-rA")
    result.assert_outcomes(passed=2, failed=2, errors=1)
    result.stdout.fnmatch_lines_random(
        [
            "FAILED *::test_marked*",
            "FAILED *::test_with_a_program*",
            "ERROR *::test_with_a_fixture_that_has_one*",
        ]
    )
