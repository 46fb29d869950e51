"""Somebody else's suite uses the fixtures as the README shows them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from drakit_kind.testing.features_off import to_turn_on

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.usefixtures("few_plugins")
ROOT = Path(__file__).parents[2]


def _readme_example() -> str:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return str(block)


@pytest.mark.slow
@pytest.mark.usefixtures("all_plugins")
def test_the_example_of_the_readme_passes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(_readme_example())
    result = pytester.runpytest_subprocess("--cluster-nodes", "1", timeout=100)
    result.assert_outcomes(passed=1)


@pytest.mark.slow
def test_the_options_say_what_they_are_for(pytester: pytest.Pytester) -> None:
    shown = pytester.runpytest_subprocess("--help", timeout=60).stdout.str()
    assert "test clusters with DRA devices (drakit)" in shown
    assert "--drakit-emulated-version" in shown


@pytest.mark.slow
def test_a_suite_that_uses_no_fixture_pays_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\n\ndef test_nothing():\n    assert not {'grpc', 'aiohttp', 'kubernetes'} & set(sys.modules)\n"
    )
    pytester.runpytest_subprocess(timeout=60).assert_outcomes(passed=1)


@pytest.mark.slow
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


_FAKES = """
import pytest
from drakit_kind.cluster import ClusterError, ClusterSpec

class FakeDriver:
    def __init__(self, spec):
        self.spec, self.name = spec, spec.name

    def start(self):
        print(f"{self.name} starts")
        if self.name == "second":
            raise ClusterError("the second does not start")

    def stop(self):
        print(f"{self.name} stops")
        if self.name == "second":
            raise ClusterError("the second does not stop")

    def logs(self):
        return f"said by {self.name}"

class FakeCluster:
    spec = ClusterSpec(nodes=["node-1"])
    driver = staticmethod(FakeDriver)

    def logs(self, component=None):
        raise ClusterError("no logs")

class FakeApi:
    namespace = "test"

    def objects(self, *arguments, **options):
        raise TimeoutError("no answer")

@pytest.fixture(scope="session")
def cluster():
    return FakeCluster()

@pytest.fixture
def api():
    return FakeApi()
"""


@pytest.mark.slow
def test_drivers_are_stopped_and_their_logs_shown_whatever_fails_before(pytester: pytest.Pytester) -> None:
    """A start, the end of the pods, the stop of another driver."""
    pytester.makeconftest(_FAKES)
    pytester.makepyfile(
        """
        def test_it(driver):
            driver("a100-40gb", name="first")
            driver("a100-40gb", name="second")
        """
    )
    result = pytester.runpytest_subprocess(timeout=60)
    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*the second does not stop",
            "second stops",
            "first stops",
            "*pods, claims and events*",
            "*no answer",
            "*log of driver first*",
            "said by first",
            "*log of driver second*",
            "said by second",
        ]
    )


@pytest.mark.slow
def test_a_failed_setup_is_reported_with_the_logs_of_its_drivers(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def gpus(driver):
            driver("a100-40gb")
            raise RuntimeError("no more")

        def test_it(gpus):
            pass
        """
    )
    result = pytester.runpytest_subprocess("--cluster-nodes", "1", timeout=100)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no more*", "*log of driver test-*gpu.nvidia.com*", "*log of apiserver*"])


_INTERRUPTED = """
from drakit_kind.clusters.api import Api

def wait(self, resource, name, **options):
    raise KeyboardInterrupt

def delete(self, resource, name, **options):
    print(f"deleted: {resource.plural} {name}")

Api.wait, Api.delete = wait, delete
Api.wait_gone = lambda self, resource, names, **options: None
"""


@pytest.mark.slow
def test_a_namespace_goes_also_if_the_run_is_interrupted_while_it_is_made(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(_INTERRUPTED)
    pytester.makepyfile("def test_it(namespace):\n    pass\n")
    result = pytester.runpytest_subprocess("-s", "--cluster-nodes", "1", timeout=100)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*deleted: namespaces test-*"])


_STUCK = """
import os, pathlib, signal
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.manifests import pod

delete = Api.delete

def noted(self, resource, name, *arguments, **options):
    delete(self, resource, name, *arguments, **options)
    print(f"deleted: {resource.plural} {name} {options}")

Api.delete = noted

def test_it(api, driver):
    driver("a30", nodes=["node-1"], gpus=1)
    api.create(pod("stuck", nodeName="nowhere"))  # no kubelet says that it has ended
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()
"""


@pytest.mark.slow
@pytest.mark.usefixtures("signals_heard")
def test_an_interrupted_run_does_not_wait_long_for_pods_that_do_not_end(pytester: pytest.Pytester) -> None:
    """Whoever interrupts a run kills it before long, and then a cluster of theirs keeps all that there is."""
    pytester.makepyfile(_STUCK)
    result = pytester.runpytest_subprocess("-s", "--cluster-nodes", "1", timeout=35)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        ["*deleted: pods stuck {}", "deleted: pods stuck {'grace_period_seconds': 0}", "*deleted: namespaces test-*"]
    )


_GATED = """
import pytest

@pytest.fixture(scope="session")
def cluster(cluster_spec):
    return cluster_spec

@pytest.mark.capability("partitions", source="KEP-4815", gates=["DRAPartitionableDevices"])
def test_by_its_capability(cluster):
    assert cluster.gates.get("DRAPartitionableDevices", True)

@pytest.mark.needs_gates("DRAListTypeAttributes")
def test_by_its_needs(cluster):
    assert cluster.gates == {} or cluster.gates["DRAListTypeAttributes"]

@pytest.mark.needs_gates("DRAListTypeAttributes")
def test_with_a_cluster_of_its_own(cluster_spec):
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "left_out"),
    [
        ([], ["DRAListTypeAttributes, which is off in Kubernetes 1.37 "]),
        (["--feature-gates", "needed"], []),
        (["--feature-gates", "DRAListTypeAttributes=true"], []),
        (
            ["--feature-gates", "DRAListTypeAttributes=true,DRAPartitionableDevices=false"],
            ["DRAPartitionableDevices, which is off in Kubernetes 1.37 as it is configured here\n"],
        ),
        (["--emulated-version", "1.36", "--feature-gates", "needed"], []),
        (
            ["--kubernetes-version", "1.35.4"],
            [
                "DRAPartitionableDevices, which is off in Kubernetes 1.35 as it is configured here; "
                "--drakit-feature-gates needed turns it on\n",
                "DRAListTypeAttributes, which Kubernetes 1.35 does not have\n",
            ],
        ),
        (
            ["--kubernetes-version", "1.35.4", "--feature-gates", "needed"],
            ["DRAListTypeAttributes, which Kubernetes 1.35 does not have\n"],
        ),
        (
            ["--cluster", "kind", "--kind-image", "kindest/node:v1.35.4@sha256:12", "--feature-gates", "needed"],
            ["DRAListTypeAttributes, which Kubernetes 1.35 does not have\n"],
        ),
    ],
    ids=["by default", "needed", "on", "off", "emulated", "older", "older, needed", "an older node image"],
)
def test_a_test_is_left_out_where_a_gate_that_it_needs_is_off(
    pytester: pytest.Pytester, options: list[str], left_out: list[str]
) -> None:
    pytester.makepyfile(_GATED)
    result = pytester.runpytest_subprocess("-rs", *options, timeout=60)
    result.assert_outcomes(passed=3 - len(left_out), skipped=len(left_out))
    shown = result.stdout.str()
    assert [reason for reason in left_out if f"needs feature gate {reason}" not in shown] == []


@pytest.mark.slow
@pytest.mark.parametrize("gates", ["needed", "DRAListTypeAttributes=true"])
def test_the_gates_of_a_run_are_found_once_however_many_tests_ask(pytester: pytest.Pytester, gates: str) -> None:
    pytester.makepyfile(
        """
        from drakit_kind.testing.features_off import run_gates

        def test_it(cluster_spec, request):
            assert run_gates(request.session) is cluster_spec.gates
        """
    )
    pytester.runpytest_subprocess("--feature-gates", gates, timeout=60).assert_outcomes(passed=1)


def test_needed_gates_come_with_those_that_they_depend_on() -> None:
    assert to_turn_on(["DRAPartitionableDevicesType"], "1.37") == {
        "DRAPartitionableDevicesType": True,
        "DRAResourcePoolStatus": True,
    }
    assert to_turn_on(["DRAPartitionableDevices", "DRAPrioritizedList"], "1.34") == {"DRAPartitionableDevices": True}


@pytest.mark.slow
@pytest.mark.parametrize("real", ["scheduler", "apiserver,kubelet"])
def test_what_kind_cannot_run_is_not_started_elsewhere(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, real: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    pytester.makepyfile("def test_it(cluster):\n    pass\n")
    result = pytester.runpytest_subprocess("--cluster", "kind", "--real", real, timeout=60)
    result.assert_outcomes(errors=1)
    result.stdout.re_match_lines([r".*in kind, only the scheduler can be drakit's.*"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plugins", "options"),
    [
        ("all_plugins", []),
        ("few_plugins", []),
        ("all_plugins", ["--disable-plugin-autoload", "-p", "drakit_kind.pytest_plugin"]),
    ],
)
def test_the_options_of_kind_are_there_whatever_is_loaded(
    pytester: pytest.Pytester, request: pytest.FixtureRequest, plugins: str, options: list[str]
) -> None:
    """pytest-kind brings them too, where it is installed and loaded."""
    request.getfixturevalue(plugins)
    pytester.makepyfile("def test_it(request): assert request.config.getoption('drakit_kind_image') == 'mine'")
    options = [*options, "--drakit-cluster", "kind", "--drakit-kind-image", "mine"]
    pytester.runpytest_subprocess(*options, timeout=60).assert_outcomes(passed=1)


_THERE = "the cluster of --drakit-cluster-kubeconfig is there already and stays as it is; leave that out, or "
_OF_KIND = "is of kind clusters; add --drakit-cluster kind, or leave it out"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--kind-image", "x"], f"--drakit-kind-image {_OF_KIND}"),
        (["--kind-bin=x", "--cluster=binaries"], f"--drakit-kind-bin {_OF_KIND}"),
        (["--cluster-kubeconfig", "x", "--cluster", "binaries"], f"{_THERE}--drakit-cluster"),
        (["--cluster-kubeconfig", "x", "--kubernetes-version", "1.36.3"], f"{_THERE}--drakit-kubernetes-version"),
        (["--cluster-kubeconfig", "x", "--feature-gates", "needed"], f"{_THERE}--drakit-feature-gates"),
        (
            ["--cluster-kubeconfig", "x", "--cluster-nodes=2", "--real=scheduler"],
            f"{_THERE}--drakit-real, --drakit-cluster-nodes",
        ),
        (["--cluster-kubeconfig", "x", "--emulated-version", "1.36"], f"{_THERE}--drakit-emulated-version"),
        (["--cluster-kubeconfig", "x", "--kubernetes-dir", "x"], f"{_THERE}--drakit-kubernetes-dir"),
    ],
)
def test_an_option_that_the_cluster_of_a_run_cannot_have_is_refused(
    pytester: pytest.Pytester, options: list[str], says: str
) -> None:
    pytester.makepyfile("def test_it(): pass")
    refused = pytester.runpytest_subprocess(*options, timeout=60)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert refused.stderr.str().strip() == f"ERROR: {says}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ["--cluster-kubeconfig", "x", "--cluster", "embedded", "--feature-gates="],
        ["--cluster-kubeconfig", "x", "--kind-kubectl-bin", "kubectl", "--subject-driver", "x", "--keep-logs", "x"],
        ["--cluster", "kind", "--kind-bin", "kind", "--kind-image", "x"],
    ],
)
def test_an_option_that_is_read_or_says_the_default_is_not_refused(
    pytester: pytest.Pytester, options: list[str]
) -> None:
    pytester.makepyfile("def test_it(): pass")
    pytester.runpytest_subprocess(*options, timeout=60).assert_outcomes(passed=1)


_OTHER_KIND = """
def pytest_addoption(parser):
    for name in ("--kind-image", "--kind-bin", "--kind-kubectl-bin"):
        parser.addoption(name)
"""


@pytest.mark.slow
def test_what_is_said_to_the_fixtures_of_pytest_kind_is_not_refused(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has options of the same names, and a suite may use its cluster, and ours or none."""
    found = pytester.mkdir("site") / "pytest_kind-1.dist-info"
    found.mkdir()
    found.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: pytest-kind\nVersion: 1\n")
    (package := found.parent / "pytest_kind").mkdir()
    package.joinpath("__init__.py").touch()
    package.joinpath("plugin.py").write_text(_OTHER_KIND)
    monkeypatch.setenv("PYTHONPATH", str(found.parent))
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_kind.plugin,drakit_kind.pytest_plugin")
    pytester.makepyfile("def test_it(request): assert request.config.getoption('--kind-image') == 'theirs'")
    pytester.runpytest_subprocess("--kind-image", "theirs", timeout=60).assert_outcomes(passed=1)


@pytest.mark.slow
@pytest.mark.parametrize(("options", "errors"), [([], 1), (["--real", "scheduler"], 0)])
def test_a_place_of_programs_is_refused_by_a_cluster_that_has_none(
    pytester: pytest.Pytester, options: list[str], errors: int
) -> None:
    """Not by a run: a test may start another cluster with them."""
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def start_cluster():
            return lambda spec: spec
        """
    )
    pytester.makepyfile("def test_it(cluster): pass\ndef test_other(cluster_spec): assert cluster_spec.kubernetes_dir")
    result = pytester.runpytest_subprocess("--kubernetes-dir", "x", *options, timeout=60)
    result.assert_outcomes(passed=2 - errors, errors=errors)
    says = "all components are drakit's own; say with --drakit-cluster binaries or --drakit-real which are not"
    assert (says in result.stdout.str()) == bool(errors)
