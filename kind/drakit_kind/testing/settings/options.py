"""The settings of the pytest plugin, and how pytest is told of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

_BACKENDS = ("embedded", "binaries", "kind")
DEFAULT_BACKEND = "embedded"
DEFAULT_NODES = 5
# One node for each host of a pool of 4x4 TPU chips, the largest that a story asks for.
DEFAULT_KIND_NODES = 4
_PREFIX = "drakit"


@dataclass(frozen=True)
class Option:
    """One setting; ``name`` as in ``cluster-nodes``. Paths are relative to where the user has written them."""

    name: str
    help: str
    metavar: str | None = None
    kind: Literal["text", "number", "path"] = "text"
    choices: tuple[str, ...] = ()

    @property
    def long(self) -> str:
        """The option of the command line that nobody else has."""
        return f"--{_PREFIX}-{self.name}"

    @property
    def short(self) -> str:
        """The option that works where nobody else has one of this name."""
        return f"--{self.name}"

    @property
    def setting(self) -> str:
        """The name in pytest's configuration file, and in its namespace of options."""
        return f"{_PREFIX}_{self.name.replace('-', '_')}"

    @property
    def variable(self) -> str:
        """The environment variable that sets this option."""
        return self.setting.upper()


OPTIONS = (
    Option(
        "cluster",
        f"backend of the `cluster` fixture (default: {DEFAULT_BACKEND}, drakit's own components; binaries: Kubernetes' "
        "own; kind: Kubernetes in containers)",
        choices=_BACKENDS,
    ),
    Option(
        "real",
        "which of apiserver, controllers, scheduler and kubelet are Kubernetes' own (default: as the backend says)",
        metavar="COMPONENT,...",
    ),
    Option("kubernetes-version", "version of real components, e.g. 1.36.3", metavar="V"),
    Option("kubernetes-dir", "where they are (default: what drakit built)", metavar="DIR", kind="path"),
    Option(
        "cluster-nodes",
        f"nodes of the `cluster` fixture (default: {DEFAULT_NODES}; of kind {DEFAULT_KIND_NODES})",
        metavar="N",
        kind="number",
    ),
    Option("emulated-version", "Kubernetes 1.34 to 1.37 (default: the version's own)", metavar="V"),
    Option(
        "feature-gates",
        "feature gates of all components; or `needed`: those that the chosen tests need by their markers and that the "
        "version has, but not on by default",
        metavar="A=true,B=false",
    ),
    Option(
        "cluster-kubeconfig",
        "use the cluster of this kubeconfig, which stays as it is, instead of starting one",
        metavar="FILE",
        kind="path",
    ),
    Option(
        "subject-driver",
        "DRA driver that stories about any driver judge (default: one of drakit's, started for each)",
        metavar="NAME",
    ),
    Option(
        "keep-logs",
        "for each test that fails, write the logs of its cluster's components and drivers to a directory in DIR: all "
        "of them, where the report has the last lines; and those of a cluster that does not start",
        metavar="DIR",
        kind="path",
    ),
    Option("kind-bin", "kind (default: drakit's build, or the one in PATH)", metavar="FILE"),
    Option("kind-kubectl-bin", "kubectl, for tests that run one; a cluster needs none", metavar="FILE"),
    Option(
        "kind-image",
        "node image of kind, e.g. kindest/node:v1.37.1 (default: made of drakit's binaries if it has them)",
        metavar="IMAGE",
    ),
)
BY_NAME = {option.name: option for option in OPTIONS}
# Options with which a cluster is started, and those that only kind clusters have.
STARTED_WITH = tuple(
    BY_NAME[name]
    for name in (
        "cluster",
        "real",
        "kubernetes-version",
        "kubernetes-dir",
        "cluster-nodes",
        "emulated-version",
        "feature-gates",
    )
)
OF_KIND = (BY_NAME["kind-image"], BY_NAME["kind-bin"])


def add_options(parser: pytest.Parser) -> None:
    """Register every setting with pytest: as an option, in a section of its ``--help``, and as an entry of its file."""
    group = parser.getgroup(
        "drakit",
        "test clusters with DRA devices (drakit); defaults: environment variables, as $DRAKIT_CLUSTER, and entries of "
        "pytest's configuration file, as drakit_cluster",
    )
    for option in OPTIONS:
        group.addoption(
            option.long,
            dest=option.setting,
            type=int if option.kind == "number" else str,
            choices=option.choices or None,
            metavar=option.metavar,
            help=option.help,
        )
        parser.addini(option.setting, f"default of {option.long}", default=None)
