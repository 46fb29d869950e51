"""The plugin takes no name from anybody: a project with drakit installed starts, whatever options it has."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from drakit_kind.testing.settings.options import OPTIONS
from drakit_kind.testing.settings.short_names import written_out

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.usefixtures("few_plugins")

# Somebody else's options of all of our short names, and a test that sees what they say.
_THEIRS = f"""
def pytest_addoption(parser):
    for name in {[option.short for option in OPTIONS]}:
        parser.addoption(name, default="their default")
"""
_THEIR_TEST = """
def test_it(request):
    assert request.config.getoption("--cluster") == "theirs"
    assert request.config.getoption("--keep-logs") == "their default"
    assert request.config.getoption("drakit_cluster") == "embedded"
"""
_SAID = ["--cluster", "theirs", "--drakit-cluster", "embedded"]

_SHOWS_CLUSTER = """
import os
from drakit_kind.testing.settings.values import backend
from drakit_kind.testing.settings.values import number, path, text

def test_it(request):
    config = request.config
    shown = backend(config), text(config, "real"), number(config, "cluster-nodes"), path(config, "keep-logs")
    print("set to", *(os.path.relpath(each, config.rootpath) if hasattr(each, "parent") else each for each in shown))
"""


@pytest.mark.slow
@pytest.mark.usefixtures("all_plugins")
@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["here", "in a worker"])
def test_a_project_whose_conftest_has_an_option_of_our_name_uses_its_own(
    pytester: pytest.Pytester, workers: list[str]
) -> None:
    pytester.makeconftest(_THEIRS)
    pytester.makepyfile(_THEIR_TEST)
    # The extra `kind` brings a plugin that owns an option of one of these names: that quarrel is not about ours.
    without = ["-p", "no:pytest-kind"]
    pytester.runpytest_subprocess(*without, *_SAID, *workers, timeout=60).assert_outcomes(passed=1)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["theirs,drakit_kind.pytest_plugin", "drakit_kind.pytest_plugin,theirs"])
def test_another_plugin_has_an_option_of_our_name(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    pytester.makepyfile(theirs=_THEIRS)
    pytester.makepyfile(_THEIR_TEST)
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    monkeypatch.setenv("PYTEST_PLUGINS", order)
    pytester.runpytest_subprocess(*_SAID, timeout=60).assert_outcomes(passed=1)


@pytest.mark.slow
def test_a_conftest_that_is_found_with_its_tests_may_have_an_option_of_our_name(pytester: pytest.Pytester) -> None:
    """Its options come too late to be given, but not to be declared."""
    below = pytester.mkdir("one") / "two"
    below.mkdir()
    below.joinpath("conftest.py").write_text(_THEIRS)
    below.joinpath("test_it.py").write_text(
        "def test_it(request): assert request.config.getoption('--cluster') == 'their default'"
    )
    pytester.runpytest_subprocess("--drakit-cluster", "binaries", timeout=60).assert_outcomes(passed=1)


_EXPECTED = "set to binaries scheduler 3 kept"


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        "--drakit-cluster binaries --drakit-real scheduler --drakit-cluster-nodes 3 --drakit-keep-logs kept",
        "--drakit-cluster=binaries --drakit-real=scheduler --drakit-cluster-nodes=3 --drakit-keep-logs=kept",
        "--cluster binaries --real scheduler --cluster-nodes 3 --keep-logs kept",
        "--cluster=binaries --real=scheduler --cluster-nodes=3 --keep-logs=kept",
    ],
)
@pytest.mark.parametrize("place", ["command line", "addopts", "workers"])
def test_options_have_long_names_and_short_ones_where_nobody_else_has_them(
    pytester: pytest.Pytester, options: str, place: str
) -> None:
    pytester.makepyfile(_SHOWS_CLUSTER)
    if place == "addopts":
        pytester.makeini(f"[pytest]\naddopts = {options}\n")
    given = [] if place == "addopts" else shlex.split(options)
    result = pytester.runpytest_subprocess("-rP", *given, *(["-n", "1"] if place == "workers" else []), timeout=60)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([_EXPECTED])


@pytest.mark.slow
def test_what_follows_a_short_name_stands_in_for_no_path_of_the_project(pytester: pytest.Pytester) -> None:
    """Which conftest.py files pytest loads at first, is decided before a short name is known."""
    stories = pytester.mkdir("stories")
    stories.joinpath("conftest.py").write_text("def pytest_addoption(parser): parser.addoption('--mine')")
    stories.joinpath("test_it.py").write_text("def test_it(request): assert request.config.getoption('--mine') == 'x'")
    pytester.makeini("[pytest]\ntestpaths = stories\n")
    pytester.runpytest_subprocess("--cluster", "binaries", "--mine=x", timeout=60).assert_outcomes(passed=1)


@pytest.mark.slow
def test_a_flag_of_a_conftest_that_has_our_name_keeps_the_path_behind_it(pytester: pytest.Pytester) -> None:
    stories = pytester.mkdir("stories")
    stories.joinpath("conftest.py").write_text(
        "def pytest_addoption(parser): parser.addoption('--cluster', action='store_true')"
    )
    stories.joinpath("test_it.py").write_text("def test_it(request): assert request.config.getoption('--cluster')")
    pytester.runpytest_subprocess("--cluster", "stories", timeout=60).assert_outcomes(passed=1)


def test_only_options_are_written_out() -> None:
    assert written_out(
        ["--cluster", "kind", "--real=x", "-k", "cluster", "--clusters", "a/--cluster", "--mine=--real"]
    ) == [
        *("--drakit-cluster", "kind", "--drakit-real=x", "-k", "cluster", "--clusters", "a/--cluster", "--mine=--real")
    ]
    assert written_out(["--", "--cluster", "kind"]) == ["--", "--cluster", "kind"]
    assert written_out(["--cluster", "--real"], ["--real"]) == ["--cluster", "--drakit-real"]


_COMMAND_LINE = ["--drakit-cluster", "binaries", "--drakit-cluster-nodes", "3"]
_ENVIRONMENT = {"DRAKIT_CLUSTER": "kind", "DRAKIT_CLUSTER_NODES": "4", "DRAKIT_REAL": "kubelet"}
_FILE = """
[pytest]
drakit_cluster = embedded
drakit_cluster_nodes = 5
drakit_real = apiserver
drakit_keep_logs = logs
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "environment", "file", "shown"),
    [
        ([], {}, "[pytest]", "embedded None None None"),
        ([], {}, _FILE, "embedded apiserver 5 ini/logs"),
        ([], _ENVIRONMENT, _FILE, "kind kubelet 4 ini/logs"),
        (_COMMAND_LINE, _ENVIRONMENT, _FILE, "binaries kubelet 3 ini/logs"),
        (["--drakit-keep-logs", "kept"], {"DRAKIT_KEEP_LOGS": "x"}, _FILE, "embedded apiserver 5 kept"),
        ([], {"DRAKIT_KEEP_LOGS": "there", "DRAKIT_REAL": ""}, _FILE, "embedded apiserver 5 there"),
    ],
    ids=["nothing", "file", "environment", "command line", "path of the command line", "path of the environment"],
)
def test_the_command_line_counts_before_the_environment_and_that_before_the_file(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    environment: dict[str, str],
    file: str,
    shown: str,
) -> None:
    """Paths are of the file's directory, or of where pytest is started."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    pytester.mkdir("ini").joinpath("pytest.ini").write_text(file)
    pytester.makepyfile(_SHOWS_CLUSTER)
    result = pytester.runpytest_subprocess("-rP", "-c", "ini/pytest.ini", "--rootdir", ".", *options, timeout=60)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"set to {shown}"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environment", "file", "says"),
    [
        ({"DRAKIT_CLUSTER": "foo"}, "", "$DRAKIT_CLUSTER: 'foo' is none of embedded, binaries, kind"),
        ({}, "drakit_cluster = foo", "drakit_cluster in pytest.ini: 'foo' is none of embedded, binaries, kind"),
        ({"DRAKIT_CLUSTER_NODES": "-1"}, "", "$DRAKIT_CLUSTER_NODES must be 0 or more, is -1"),
        ({}, "drakit_cluster_nodes = -1", "drakit_cluster_nodes in pytest.ini must be 0 or more, is -1"),
        ({"DRAKIT_CLUSTER_NODES": "many"}, "", "$DRAKIT_CLUSTER_NODES: 'many' is no whole number"),
    ],
)
def test_a_setting_that_means_nothing_is_refused_with_its_place(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], file: str, says: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    pytester.path.joinpath("pytest.ini").write_text(f"[pytest]\n{file}\n")
    pytester.makepyfile("def test_it(): pass")
    refused = pytester.runpytest_subprocess(timeout=60)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert refused.stderr.str().strip() == f"ERROR: {says}"


@pytest.mark.slow
def test_defaults_of_a_project_give_way_to_the_cluster_that_a_run_names(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]\ndrakit_cluster = kind\ndrakit_kind_image = x\ndrakit_kubernetes_dir = programs\n")
    monkeypatch.setenv("DRAKIT_FEATURE_GATES", "needed")
    pytester.makepyfile("def test_it(): pass")
    for options in (["--drakit-cluster-kubeconfig", "config"], ["--drakit-cluster", "embedded"]):
        pytester.runpytest_subprocess(*options, timeout=60).assert_outcomes(passed=1)
    monkeypatch.setenv("DRAKIT_CLUSTER_KUBECONFIG", "config")
    refused = pytester.runpytest_subprocess("--drakit-cluster", "binaries", timeout=60)
    assert "the cluster of $DRAKIT_CLUSTER_KUBECONFIG is there already and stays as it is" in refused.stderr.str()


@pytest.mark.slow
def test_programs_that_a_project_names_are_for_clusters_that_have_some(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ndrakit_kubernetes_dir = programs\n")
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def start_cluster():
            return lambda spec: spec
        """
    )
    pytester.makepyfile(f"def test_it(cluster): assert cluster.kubernetes_dir == {str(pytester.path / 'programs')!r}")
    for options in ([], ["--drakit-real", "scheduler"]):
        pytester.runpytest_subprocess(*options, timeout=60).assert_outcomes(passed=1)


@pytest.mark.slow
def test_help_and_documentation_name_every_setting(pytester: pytest.Pytester) -> None:
    shown = pytester.runpytest_subprocess("--help", timeout=60).stdout.str()
    page = Path(__file__).parents[2].joinpath("docs", "clusters.md").read_text()
    assert "$DRAKIT_CLUSTER" in shown
    for option in OPTIONS:
        assert f"  {option.long}=" in shown
        assert f"  {option.setting} (" in shown
        assert f"`{option.long}" in page, option.long
    assert "$DRAKIT_CLUSTER" in page
    assert "drakit_cluster =" in page
