"""One class for every kind of test cluster, so that a story is written once and runs on all of them.

A backend decides what stands behind it: one Python process (``embedded``), real binaries, kind, or a cluster that is
there already. What a story may use is what stands here; anything else it needs, it does through the Kubernetes API.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from drakit_kind.cluster import ClusterSpec, Component, Driver, DriverSpec
from drakit_kind.clusters.flags import Change


class Cluster(ABC):
    """A test cluster: what was asked for (``spec``), and how it is reached.

    ``kubeconfig`` is a file that kubectl and every client library can read; private to the user. ``ready_seconds`` is
    how long its start took: nothing for one that somebody else has started.
    """

    ready_seconds = 0.0

    def __init__(self, spec: ClusterSpec, kubeconfig: Path) -> None:
        self.spec: Final = spec
        self.kubeconfig: Final = kubeconfig

    def start(self) -> None:
        """Start and wait until nodes are Ready. Raises ``ClusterError`` with the log's end otherwise."""
        began = time.monotonic()
        self._start()
        self.ready_seconds = time.monotonic() - began

    @abstractmethod
    def _start(self) -> None: ...

    @abstractmethod
    def stop(self) -> None:
        """Stop everything that was started and remove what is not worth keeping."""

    def restart(
        self,
        component: Component,
        *,
        version: str | None = None,
        gates: Mapping[str, bool] | None = None,
        emulated_version: str | None = None,
    ) -> None:
        """Stop one component and start it again on the same data, possibly as another version or with other gates.

        What is None is as the cluster was started. One that does not come back as it was asked to is put back as it was
        before, and ``ClusterError`` says why.
        """
        self._restart(
            component, Change(version=version, gates=gates and dict(gates), emulated_version=emulated_version)
        )

    @abstractmethod
    def _restart(self, component: Component, change: Change) -> None: ...

    @abstractmethod
    def logs(self, component: Component | None = None) -> str:
        """Return the log of one component, or of all."""

    @abstractmethod
    def driver(self, spec: DriverSpec) -> Driver:
        """Make a driver for some nodes, without starting it."""
