"""A known bug of Kubernetes is shown by its number where it shows, and excuses nothing else."""

from __future__ import annotations

import pytest

from drakit_kind.cluster import ClusterSpec, Component
from e2e.known_bugs import known_bug
from e2e.ledger import HeldTwice, OverCommitted

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.usefixtures("few_plugins")

TWICE = HeldTwice("gpu-0-mig-1g of pool node-1 is held by claims a and b")
REAL: frozenset[Component] = frozenset({"scheduler", "apiserver"})
RUSH = {"many_at_once", "capability"}

# What a story failed of, and where; whether it is the known double allocation.
FAILURES = {
    "as it is": (ClusterSpec(version="1.34.3", real=REAL), TWICE, True),
    "a vendor's build": (ClusterSpec(version="v1.34.3+vendor", real=REAL), TWICE, True),
    "an early patch": (ClusterSpec(version="1.35.0", real=REAL), TWICE, True),
    "the scheduler alone is old": (ClusterSpec(versions={"scheduler": "1.34.3"}, real=REAL), TWICE, True),
    "mended in 1.34": (ClusterSpec(version="1.34.4", real=REAL), TWICE, False),
    "a later patch than nine": (ClusterSpec(version="1.34.10", real=REAL), TWICE, False),
    "mended in 1.35": (ClusterSpec(version="1.35.4", real=REAL), TWICE, False),
    "never in 1.37": (ClusterSpec(version="1.37.1", real=REAL), TWICE, False),
    "no patch is known": (ClusterSpec(version="1.34", real=REAL), TWICE, False),
    "our scheduler": (ClusterSpec(version="1.34.3", real=REAL - {"scheduler"}), TWICE, False),
    "our API server": (ClusterSpec(version="1.34.3", real=REAL - {"apiserver"}), TWICE, False),
    "counters alone": (ClusterSpec(version="1.34.3", real=REAL), OverCommitted("more than there is"), False),
    "another failure": (ClusterSpec(version="1.34.3", real=REAL), AssertionError("not running"), False),
    "only the scheduler is not old": (
        ClusterSpec(version="1.34.3", versions={"scheduler": "1.36.3"}, real=REAL),
        TWICE,
        False,
    ),
}


@pytest.mark.parametrize(("spec", "error", "known"), FAILURES.values(), ids=FAILURES)
def test_a_double_allocation_is_known_where_kubernetes_has_that_bug(
    spec: ClusterSpec, error: AssertionError, known: bool
) -> None:
    said = known_bug(RUSH, spec, error)
    assert bool(said) == known
    assert not known or ("kubernetes#136269" in said and str(error) in said)
    assert known_bug({"capability"}, spec, error) == ""  # where pods come one after the other


@pytest.mark.slow
def test_the_summary_has_its_number_and_what_was_seen(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import types
        import pytest
        from drakit_kind.cluster import ClusterSpec
        from e2e.conftest import pytest_configure, pytest_runtest_makereport

        @pytest.fixture
        def cluster():
            return types.SimpleNamespace(spec=ClusterSpec(version="1.34.3", real=frozenset({"scheduler", "apiserver"})))
        """
    )
    pytester.makepyfile(
        """
        import pytest
        from e2e.ledger import HeldTwice

        @pytest.mark.many_at_once
        def test_twice(cluster):
            raise HeldTwice("gpu-0 is held by claims a and b")

        @pytest.mark.many_at_once
        def test_elsewhere():
            raise HeldTwice("no cluster")

        @pytest.mark.many_at_once
        def test_otherwise(cluster):
            raise AssertionError("something else")

        def test_one_by_one(cluster):
            raise HeldTwice("nothing that is known")

        def test_right(cluster):
            pass
        """
    )
    result = pytester.runpytest("-rx")
    result.assert_outcomes(xfailed=1, failed=3, passed=1)
    result.stdout.fnmatch_lines(["XFAIL *test_twice - kubernetes#136269: *1.34.4*gpu-0 is held by claims a and b"])
