"""Which stories are told beside gates that only Kubernetes knows, and with gates that only drakit knows."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.usefixtures("few_plugins")

_STORY = """
import pytest

@pytest.fixture
def cluster():
    pass

@pytest.mark.needs_gates("DRAListTypeAttributes")
def test_it(cluster):
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["binaries", "kind"])
def test_a_story_is_left_out_beside_a_gate_that_only_kubernetes_knows(pytester: pytest.Pytester, backend: str) -> None:
    pytester.makepyfile(_STORY)
    options = ["-rs", "--cluster", backend, "--feature-gates", "InPlacePodVerticalScaling=true"]
    result = pytester.runpytest_subprocess(*options, timeout=60)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*needs feature gate DRAListTypeAttributes, which is off in Kubernetes 1.37*"])


_PATCHING = _STORY.replace("DRAListTypeAttributes", "DRAAdminControlledDeviceAttributes")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        (["--real", "apiserver,controllers,scheduler"], "passed"),
        (["--real", "apiserver,controllers"], "skipped"),
        (["--real", "apiserver,controllers", "--feature-gates", "needed"], "passed"),
        (["--real", "scheduler"], "skipped"),
    ],
)
def test_a_story_that_needs_a_gate_of_the_kit_brings_who_knows_it_only_where_the_cluster_has_nobody(
    pytester: pytest.Pytester, options: list[str], outcome: str
) -> None:
    pytester.makepyfile(_PATCHING)
    result = pytester.runpytest_subprocess("-rs", "--cluster", "binaries", *options, timeout=60)
    result.assert_outcomes(**{outcome: 1})
