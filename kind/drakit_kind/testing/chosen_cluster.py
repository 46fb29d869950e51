"""The cluster that the settings of a run ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

from drakit_kind.testing.settings.options import (
    DEFAULT_BACKEND,
    DEFAULT_KIND_NODES,
    DEFAULT_NODES,
    OF_KIND,
    STARTED_WITH,
)
from drakit_kind.testing.settings.values import Origin, backend, number, path, read, text

if TYPE_CHECKING:  # the plugin is in every pytest of the environment
    from drakit_kind.cluster import ClusterSpec


def refuse_ignored(config: pytest.Config) -> None:
    """Raise ``pytest.UsageError`` for options of the command line that no cluster of this run would read.

    Environment and file hold defaults for many runs, so what they say is left out where it is about another cluster.
    """
    chosen = backend(config)
    number(config, "cluster-nodes")
    of_kind = [option.long for option in OF_KIND if _said_for_this_run(config, option.name)]
    there = read(config, "cluster-kubeconfig")
    if there.value is not None:
        given = [option.long for option in STARTED_WITH if _said_for_this_run(config, option.name)] + of_kind
        if given:
            raise pytest.UsageError(
                f"the cluster of {there.said} is there already and stays as it is; leave that out, or "
                + ", ".join(given)
            )
    elif of_kind and chosen != "kind":
        raise pytest.UsageError(f"{of_kind[0]} is of kind clusters; add --drakit-cluster kind, or leave it out")


def _said_for_this_run(config: pytest.Config, name: str) -> bool:
    """Whether the command line says something else than the default."""
    setting = read(config, name)
    return setting.origin is Origin.COMMAND_LINE and setting.value not in ("", DEFAULT_BACKEND)


def refuse_unused_programs(config: pytest.Config, spec: ClusterSpec) -> None:
    """Raise ``ClusterError`` if programs are named for this run's cluster and all its components are drakit's own."""
    from drakit_kind.clusters import backends

    if read(config, "kubernetes-dir").origin is not Origin.FILE:  # that is a default for clusters that have some
        backends.refuse_unused_programs(spec, prefix="--drakit-")


def spec_of(session: pytest.Session) -> ClusterSpec:
    """Return the spec of the cluster that a run asks for; its tests must be collected already."""
    from drakit_kind.testing.features_off import run_gates

    return _spec(session.config, run_gates(session))


def require_cluster(config: pytest.Config) -> None:
    """Raise ``ClusterError`` for what this machine lacks to start the cluster that a run asks for.

    Tests need not be collected yet: which gates they need is another question.
    """
    if read(config, "cluster-kubeconfig").value is None:
        from drakit_kind.cluster import silent
        from drakit_kind.testing.prerequisites import require

        require(_spec(config, {}), backend(config), silent, kind_program=text(config, "kind-bin"))


def _spec(config: pytest.Config, gates: Mapping[str, bool]) -> ClusterSpec:
    from drakit_kind.cluster import ClusterSpec
    from drakit_kind.clusters.backends import real_components
    from drakit_kind.testing.features_off import run_version

    # Of the environment: every start of a cluster looks for programs there.
    in_environment = read(config, "kubernetes-dir").origin is Origin.ENVIRONMENT
    programs = None if in_environment else path(config, "kubernetes-dir")
    count = number(config, "cluster-nodes")
    if count is None:
        count = DEFAULT_KIND_NODES if backend(config) == "kind" else DEFAULT_NODES
    return ClusterSpec(
        name="pytest",
        version=run_version(config),
        real=real_components(backend(config), text(config, "real"), option="--drakit-real"),
        kubernetes_dir=str(programs) if programs else None,
        nodes=[f"node-{number}" for number in range(1, count + 1)],
        emulated_version=text(config, "emulated-version"),
        gates=gates,
    )
