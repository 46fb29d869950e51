"""Somebody else's suite uses the fixtures as the README shows them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]


def _readme_example() -> str:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return str(block)


def test_the_example_of_the_readme_passes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(_readme_example())
    result = pytester.runpytest_subprocess("--cluster-nodes", "1", timeout=100)
    result.assert_outcomes(passed=1)


def test_the_options_say_what_they_are_for(pytester: pytest.Pytester) -> None:
    shown = pytester.runpytest_subprocess("--help", timeout=60).stdout.str()
    assert "test clusters with DRA devices (drakit)" in shown
    assert "--emulated-version" in shown


def test_a_suite_that_uses_no_fixture_pays_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\n\ndef test_nothing():\n    assert not {'grpc', 'aiohttp', 'kubernetes'} & set(sys.modules)\n"
    )
    pytester.runpytest_subprocess(timeout=60).assert_outcomes(passed=1)


def test_a_failing_test_with_an_api_fixture_of_its_own_is_reported_as_ever(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def api():
            return "theirs"

        def test_it(api):
            assert api == "ours"
        """
    )
    result = pytester.runpytest_subprocess(timeout=60)
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
