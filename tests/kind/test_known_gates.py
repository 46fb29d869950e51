"""Gates of Kubernetes that drakit does not know are no reason to tell stories whose own gates are off."""

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
