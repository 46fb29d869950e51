"""Options of pytest that say which cluster the fixtures start, and what they make of them."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the options are in every pytest of the environment
    from drakit_kind.cluster import ClusterSpec

# What a cluster is started with, and what only one in kind is.
STARTED_WITH = (
    "--cluster",
    "--real",
    "--kubernetes-version",
    "--kubernetes-dir",
    "--cluster-nodes",
    "--emulated-version",
    "--feature-gates",
)
OF_KIND = ("--kind-image", "--kind-bin")
_DEFAULT_BACKEND = "embedded"
_DEFAULT_NODES = 5
# Each is a container with systemd, containerd and pods of its own.
_DEFAULT_KIND_NODES = 2


def add_options(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Tell pytest of them, in a section of its ``--help``."""
    group = parser.getgroup("drakit", "test clusters with DRA devices (drakit)")
    group.addoption(
        "--cluster",
        choices=["embedded", "binaries", "kind"],
        default=_DEFAULT_BACKEND,
        help="backend of the `cluster` fixture (default: embedded, drakit's own components; binaries: Kubernetes' own; "
        "kind: Kubernetes in containers)",
    )
    _add_kind_options(group, pluginmanager)
    group.addoption(
        "--real",
        metavar="COMPONENT,...",
        help="which of apiserver, controllers, scheduler and kubelet are Kubernetes' own (default: as --cluster says)",
    )
    group.addoption("--kubernetes-version", metavar="V", help="version of real components, e.g. 1.36.3")
    group.addoption("--kubernetes-dir", metavar="DIR", help="where they are (default: what drakit built)")
    group.addoption(
        "--cluster-nodes",
        type=int,
        metavar="N",
        help=f"nodes of the `cluster` fixture (default: {_DEFAULT_NODES}; of kind {_DEFAULT_KIND_NODES})",
    )
    group.addoption("--emulated-version", metavar="V", help="Kubernetes 1.34 to 1.37 (default: the version's own)")
    group.addoption(
        "--cluster-kubeconfig",
        metavar="FILE",
        type=Path,
        help="use the cluster of this kubeconfig, which stays as it is, instead of starting one",
    )
    group.addoption(
        "--subject-driver",
        metavar="NAME",
        help="DRA driver that stories about any driver judge (default: one of drakit's, started for each)",
    )
    group.addoption(
        "--feature-gates",
        default="",
        metavar="A=true,B=false",
        help="feature gates of all components; or `needed`: those that the chosen tests need by their markers and that "
        "the version has, but not on by default",
    )
    group.addoption(
        "--keep-logs",
        metavar="DIR",
        type=Path,
        help="for each test that fails, write the logs of its cluster's components and drivers to a directory in DIR: "
        "all of them, where the report has the last lines; and those of a cluster that does not start",
    )


def _add_kind_options(group: pytest.OptionGroup, pluginmanager: pytest.PytestPluginManager) -> None:
    """pytest-kind has these too, with the same meaning; where it is a plugin of this run, its own are used."""
    if _has_pytest_kind(pluginmanager):
        return
    group.addoption("--kind-bin", metavar="FILE", help="kind (default: drakit's build, or the one in PATH)")
    group.addoption("--kind-kubectl-bin", metavar="FILE", help="kubectl, for tests that run one; a cluster needs none")
    group.addoption(
        "--kind-image",
        metavar="IMAGE",
        help="node image of kind, e.g. kindest/node:v1.37.1 (default: made of drakit's binaries if it has them)",
    )


def _has_pytest_kind(pluginmanager: pytest.PytestPluginManager) -> bool:
    """Whether it is loaded already, or will be: plugins that are installed come one after the other."""
    known = getattr(pluginmanager.get_plugin("pytestconfig"), "known_args_namespace", None)
    is_told = getattr(known, "disable_plugin_autoload", False)
    loads_all = not (is_told or os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"))
    is_installed = importlib.util.find_spec("pytest_kind") is not None
    named = any(pluginmanager.has_plugin(name) for name in ("pytest-kind", "pytest_kind.plugin"))
    return named or (loads_all and is_installed and not pluginmanager.is_blocked("pytest-kind"))


def refuse_ignored(config: pytest.Config) -> None:
    """Raise ``pytest.UsageError`` for options that no cluster of this run would read."""
    option = config.getoption
    # pytest-kind's own fixture reads options of the same names, whatever our cluster is.
    of_kind = [name for name in OF_KIND if option(name)] if not _has_pytest_kind(config.pluginmanager) else []
    if option("--cluster-kubeconfig") is not None:
        given = [name for name in STARTED_WITH if option(name) not in (None, "", _DEFAULT_BACKEND)] + of_kind
        if given:
            raise pytest.UsageError(
                "the cluster of --cluster-kubeconfig is there already and stays as it is; leave that out, or "
                + ", ".join(given)
            )
    elif of_kind and option("--cluster") != "kind":
        raise pytest.UsageError(f"{of_kind[0]} is of kind clusters; add --cluster kind, or leave it out")


def spec_of(session: pytest.Session) -> ClusterSpec:
    """The cluster that the options of a run ask for, whose tests are collected."""
    from drakit_kind.backends import real_components
    from drakit_kind.cluster import ClusterSpec
    from drakit_kind.features_off import run_gates, run_version

    option = session.config.getoption
    programs = option("--kubernetes-dir")
    count = option("--cluster-nodes")
    if count is None:
        count = _DEFAULT_KIND_NODES if option("--cluster") == "kind" else _DEFAULT_NODES
    return ClusterSpec(
        name="pytest",
        version=run_version(session.config),
        real=real_components(option("--cluster"), option("--real")),
        # Of where pytest was started: clusters run elsewhere.
        kubernetes_dir=str(session.config.invocation_params.dir / programs) if programs else None,
        nodes=[f"node-{number}" for number in range(1, count + 1)],
        emulated_version=option("--emulated-version"),
        gates=run_gates(session),
    )
