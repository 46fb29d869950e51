"""Clusters on this machine, supervised by one process each: the backends ``embedded`` and ``binaries``.

They differ only in which components are Kubernetes' own programs: without any, a cluster needs neither root nor more
than pip installs. The supervisor is a process of its own, also in tests: it can be killed like a real cluster's
machine, its work does not share an interpreter with the test's, and what ``drakit cluster up`` keeps in the background
is exactly what the suite was run on.
"""

from __future__ import annotations

import re
import secrets
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from drakit_api.features import FeatureGateError
from drakit_client.processes import control
from drakit_kind import bounds
from drakit_kind.cluster import (
    ClusterError,
    ClusterSpec,
    Component,
    Driver,
    DriverSpec,
    Report,
    check_names,
    check_nodes,
    cleaning_up_after,
    minor_version,
    silent,
)
from drakit_kind.clusters import cluster_logs, short_paths, temporary
from drakit_kind.clusters.backends import started_components
from drakit_kind.clusters.flags import PROGRAMS, Behaviour, Change
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.clusters.known_gates import driver_gates
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.processes import spawn
from drakit_kind.processes.drivers import DriverProcess, pools_of
from drakit_kind.processes.ports import free_port

_ANSWER_SECONDS = 10.0
# What may follow "Bearer" in a header: one word.
_TOKEN = re.compile(r"[!-~]+")


class LocalCluster(Cluster):
    """One cluster in ``home``; ``start`` also takes up again what an earlier run left there.

    ``spec`` has the token and the port that were chosen. ``tied``: the cluster does not outlive the process that
    starts it, however that ends; with ``temporary``, neither does its directory. ``report`` is told of each step of a
    start.
    """

    def __init__(
        self,
        spec: ClusterSpec,
        home: ClusterHome,
        *,
        tied: bool = False,
        temporary: bool = False,
        report: Report = silent,
    ) -> None:
        spec = replace(spec, token=spec.token or secrets.token_urlsafe(32), port=spec.port or free_port())
        super().__init__(spec, home.kubeconfig)
        self.home: Final = home
        self._tied = tied or temporary
        self._is_temporary = temporary
        self._report = report
        self._process: subprocess.Popen[bytes] | None = None  # None if another process started it

    @classmethod
    def running(cls, home: ClusterHome) -> LocalCluster | None:
        """Return the cluster that runs in ``home``, or None."""
        spec = home.read_spec()
        if spec is None or home.running_pid() is None:
            return None
        return cls(spec, home)

    @property
    def url(self) -> str:
        """The URL of the API server."""
        return f"{'https' if self.spec.tls else 'http'}://127.0.0.1:{self.spec.port}"

    def _start(self) -> None:
        if sys.platform != "linux":
            raise ClusterError(
                f"clusters of drakit need Linux, and this is {sys.platform}: its kernel tells which of a cluster's "
                "processes live; use a virtual machine or a container with Linux"
            )
        self._refuse_running()
        check(self.spec, self.home, self._report)
        _check_port(self.spec.port)
        self._undo()
        self.home.make(self.spec.nodes, mounts="kubelet" in self.spec.real)
        with self.home.starting():
            self._refuse_running()
            if not self.home.spec_file.exists():
                self.home.never_ready.touch(mode=0o600)
            self.home.write_spec(self.spec)
            if self._is_temporary:
                temporary.Heir.of_this_process().inherit(self.home.directory)
            self._process = self._spawn()

    def _refuse_running(self) -> None:
        if self.home.running_pid() is not None:
            status = f"`drakit cluster status{self.home.option}`"
            raise ClusterError(f"cluster {self.spec.name} is running already; see {status}")

    def _spawn(self) -> subprocess.Popen[bytes]:
        # Without -P, Python would import what lies in the user's current directory.
        command = [sys.executable, "-P", "-m", "drakit_kind.local.host", str(self.home.directory)]
        try:
            return spawn.spawn(
                command,
                log=self.home.log,
                timeout=bounds.cluster_start(self.spec.real, self.spec.driven_nodes),
                tied=self._tied,
                report=self._report,
                end_timeout=bounds.cluster_stop(self.spec.real),
            )
        except BaseException as error:
            failed = isinstance(error, spawn.SpawnError)
            reason = ClusterError(f"cluster {self.spec.name} did not start: {error}") if failed else error
            with cleaning_up_after(reason):
                self._undo()
            raise reason from None

    def stop(self) -> None:
        """End the process; its files stay, those of a temporary cluster until the process that started it ends."""
        if self._process is not None:
            spawn.end(self._process, timeout=bounds.cluster_stop(self.spec.real))
        elif (pid := self.home.running_pid()) is not None:
            spawn.end_pid(pid, timeout=bounds.cluster_stop(self.spec.real))
        short_paths.remove(self.home.directory)
        self._undo()

    def _undo(self) -> None:
        """Undo what real nodes in this directory changed on the machine before their process was killed.

        This does not depend on the spec, because an earlier run may have had another one.
        """
        from drakit_kind.nodes import leftovers

        leftovers.undo_dead(self.home.directory)

    def _restart(self, component: Component, change: Change) -> None:
        """Send the change to the cluster's process, which makes the other checks: it knows where programs are."""
        Behaviour.of(self.spec, component, change)
        if change.version is not None and change.emulated_version is None:
            self._refuse_unheard(component, change.version)
        request = {"component": component, **msgspec.to_builtins(change)}
        self._call(request, timeout=bounds.restart(component, self.spec.real))

    def behaviours(self) -> dict[Component, Behaviour]:
        """Ask the cluster's process what each component runs as now: it may have been restarted as something else."""
        answer = self._call({"ask": "behaviours"}, timeout=_ANSWER_SECONDS)
        return msgspec.convert(answer, dict[Component, Behaviour])

    def _call(self, request: dict[str, Any], *, timeout: float) -> dict[str, Any]:
        try:
            return control.call(self.home.control, request, who="the cluster's process", timeout=timeout)
        except control.ControlError as error:
            raise ClusterError(str(error)) from None

    def _refuse_unheard(self, component: Component, version: str) -> None:
        """Of drakit's own, only a kubelet shows its version; the others do what is emulated, which stays."""
        emulated, minor = self.spec.emulated_version, minor_version(version)
        if component in self.spec.real or component == "kubelet" or emulated in (None, minor):
            return
        raise ClusterError(
            f"{component}: it is drakit's own and does as Kubernetes {emulated}, which this cluster emulates "
            f"(--emulated-version), whatever its version; name --emulated-version {minor} to change that"
        )

    def logs(self, component: Component | None = None) -> str:
        """Return the log of all components, or of one; see ``cluster_logs``."""
        return "".join(cluster_logs.lines(self.home, component))

    def driver(self, spec: DriverSpec) -> Driver:
        """Make a driver process for this cluster's kubelet directories, without starting it."""
        check_nodes(spec, self.spec)
        pools_of(spec)
        return DriverProcess(spec, self.kubeconfig, self.home.nodes, self.home.directory)


def check(spec: ClusterSpec, home: ClusterHome, report: Report) -> None:
    """Refuse what cannot start before anything does: in the supervisor's log it would be hard to find.

    What is wrong on every machine comes first, so that the message is the same on all of them.
    """
    check_spec(spec)
    if "kubelet" in spec.real and spec.nodes:
        from drakit_kind.kubernetes.assets import assets_of
        from drakit_kind.nodes import requirements

        assets = assets_of(spec, spec.version_of("kubelet"))
        requirements.check_machine(assets, home.directory, nodes=len(spec.nodes), report=report)
    for component in started_components(spec):
        _check_programs(spec, component, Behaviour.of(spec, component))


def check_spec(spec: ClusterSpec) -> None:
    """Raise ``ClusterError`` for what no machine could start, whatever programs it has."""
    check_names(spec)
    if spec.token is not None and not _TOKEN.fullmatch(spec.token):
        raise ClusterError("--token: use visible ASCII characters without spaces, as it is sent in a header")
    if spec.real and not spec.tls:
        raise ClusterError(
            "--no-tls goes with drakit's own components only, as Kubernetes' send no token over plain HTTP; leave it "
            "out, or --real and --cluster binaries"
        )
    if "apiserver" in spec.real and "controllers" not in spec.real:
        raise ClusterError(
            "a real API server needs real controllers: nodes keep the taint that it gives them until "
            "kube-controller-manager sees them ready"
        )
    for component in started_components(spec):
        _check_gates(spec, component, Behaviour.of(spec, component))
    for driver in spec.drivers:
        driver_gates(spec, driver)
    _check_drivers(spec.drivers)


def _check_drivers(drivers: Sequence[DriverSpec]) -> None:
    """Refuse two drivers of one name on a node: a kubelet knows drivers by name, so the second would not start."""
    there: dict[tuple[str, str], DriverSpec] = {}
    for driver in drivers:
        name = pools_of(driver)[0].driver
        for node in driver.nodes:
            other = there.setdefault((name, node), driver)
            if other is not driver:
                raise ClusterError(
                    f"drivers {other.profile} and {driver.profile} are both {name} on {node}; name nodes of its own "
                    "for each (--driver PROFILE@NODE,...)"
                )


def check_component(spec: ClusterSpec, component: Component, behaviour: Behaviour) -> None:
    """Raise ``ClusterError`` for gates that a component would refuse, and for missing programs."""
    _check_gates(spec, component, behaviour)
    _check_programs(spec, component, behaviour)


def _check_gates(spec: ClusterSpec, component: Component, behaviour: Behaviour) -> None:
    if component in spec.real:
        behaviour.flags()
        return
    try:
        behaviour.feature_gates()
    except FeatureGateError as error:
        raise ClusterError(f"{component}: {error}") from None


def _check_programs(spec: ClusterSpec, component: Component, behaviour: Behaviour) -> None:
    if component not in spec.real:
        return
    from drakit_kind.kubernetes.assets import assets_of

    assets = assets_of(spec, behaviour.version)
    for program in PROGRAMS[component]:
        assets.path(program)


def _check_port(port: int) -> None:
    """Refuse a port in use; connections of an earlier run that are still closing do not matter."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise ClusterError(f"port {port} of 127.0.0.1: {error.strerror}; name another with --port") from None
