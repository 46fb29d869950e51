"""A test with a cluster of its own that fails says what was going on there, as one with the shared cluster does."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

_PLAIN = ("-p", "no:cacheprovider", "-p", "no:asyncio")

_CONFTEST = """
    import pytest

    from drakit_kind.testing.reported import reported

    class Api:
        def objects(self, resource):
            return [{"metadata": {"name": "mine"}, "status": {"phase": "Pending"}}]

        def all_events(self):
            return [("mine", "FailedScheduling: nothing fits")]

    class Cluster:
        def logs(self, component):
            return f"{component} says"

    class Driver:
        name = "late"

        def logs(self):
            return "driver says"

    @pytest.fixture
    def drivers(request):
        started = []
        with reported(request.node, Cluster(), Api(), started):
            yield started

    @pytest.fixture
    def broken(drivers):
        assert not "does not start"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("def test_it(drivers): drivers.append(Driver()); assert False", {"failed": 1}),
        ("def test_it(broken): pass", {"errors": 1}),
    ],
)
def test_a_failure_comes_with_objects_events_and_logs(
    pytester: pytest.Pytester, test: str, outcome: dict[str, int]
) -> None:
    pytester.makeconftest(_CONFTEST)
    pytester.makepyfile(f"from conftest import Driver\n{test}")
    result = pytester.runpytest_inprocess(*_PLAIN)
    result.assert_outcomes(**outcome)
    expected = ["*pods, claims and events*", "Pod mine: {phase: Pending}", "event of mine: FailedScheduling: *"]
    expected += ["*log of driver late*", "driver says"] * ("failed" in outcome)
    result.stdout.fnmatch_lines([*expected, "*log of apiserver*", "apiserver says", "*log of scheduler*"])


def test_what_passes_says_nothing(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(_CONFTEST)
    pytester.makepyfile("def test_it(drivers): pass")
    result = pytester.runpytest_inprocess(*_PLAIN, "-rA")
    result.assert_outcomes(passed=1)
    assert "apiserver says" not in result.stdout.str()
