"""Drivers as processes of their own, so that a test can kill one in the middle of a prepare."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from drakit_api.layouts.pools import Pool, PoolError
from drakit_client.processes.control import ControlError
from drakit_driver.plugin import health_control
from drakit_driver.plugin.sockets import PluginPaths
from drakit_kind import bounds
from drakit_kind.cluster import ClusterError, DeviceHealth, DriverSpec
from drakit_kind.clusters.flags import gates_text
from drakit_kind.processes import spawn

_STOP_SECONDS = 15.0


def pools_of(spec: DriverSpec) -> list[Pool]:
    """Return the pools that a driver of this spec publishes; raise ``ClusterError`` with all mistakes in the spec."""
    from drakit_driver.profiles.reading import catalog

    layout = Path(spec.layout) if spec.layout else None
    try:
        return catalog.build(spec.profile, nodes=spec.nodes, driver_name=spec.name, gpus=spec.gpus, layout=layout)
    except PoolError as error:
        raise ClusterError(str(error)) from None


def driver_name(spec: DriverSpec) -> str:
    """Return the DRA driver name that a spec results in."""
    return spec.name or pools_of(spec)[0].driver


def nodes_with(spec: DriverSpec, pool: str) -> list[str]:
    """Return the nodes that have a pool's devices. Raises ``ClusterError`` with the pools that there are."""
    nodes = {each.name: [each.node_name] if each.node_name else list(spec.nodes) for each in pools_of(spec)}
    if pool not in nodes:
        raise ClusterError(f"driver {driver_name(spec)}: no pool {pool}; there is {', '.join(nodes)}")
    return nodes[pool]


def prepare_calls(uid: str, log: str) -> list[str]:
    """List the versions of the plugin protocol with which a kubelet asked to prepare a claim, call by call."""
    return re.findall(rf"\({re.escape(uid)}\): asked to prepare, (\w+)\.DRAPlugin$", log, re.MULTILINE)


def says_ready(log: str) -> bool:
    """Whether a driver's log, in the form of ``drakit_client.processes.process_logging``, says that it is ready."""
    return re.search(r" driver: ready$", log, re.MULTILINE) is not None


class DriverProcess:
    """``drakit driver run`` on some nodes of a cluster whose kubelet directories are on this machine.

    ``nodes_directory`` has one kubelet directory for each node; ``log_directory`` takes the log.
    """

    def __init__(self, spec: DriverSpec, kubeconfig: Path, nodes_directory: Path, log_directory: Path) -> None:
        self._spec = spec
        self._kubeconfig = kubeconfig
        self._nodes_directory = nodes_directory
        self._log = log_directory / f"driver-{spec.name or spec.profile}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        """The DRA driver name."""
        return driver_name(self._spec)

    @property
    def pid(self) -> int:
        """The process ID of the running driver."""
        if self._process is None or self._process.poll() is not None:
            raise ClusterError(f"driver {self.name} is not running")
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it is registered and has published; ``ClusterError`` with the log's end otherwise."""
        timeout = bounds.driver_start(len(self._spec.nodes))
        try:
            self._process = spawn.spawn(self._command(), log=self._log, timeout=timeout, tied=True)
        except spawn.SpawnError as error:
            raise ClusterError(f"driver {self.name} did not start: {error}") from None

    def kill(self) -> None:
        """SIGKILL: sockets, checkpoint and slices stay as they are."""
        if self._process is not None:
            spawn.kill(self._process)

    def pause(self) -> None:
        """SIGSTOP: it accepts calls and answers none, as in the middle of one, until it is killed."""
        os.kill(self.pid, signal.SIGSTOP)

    def forget_registration(self) -> None:
        """Remove the registration sockets that a killed driver leaves, as a reboot of the node does."""
        for node in self._spec.nodes:
            (self._nodes_directory / node / "plugins_registry" / f"{self.name}-reg.sock").unlink(missing_ok=True)

    def prepare_calls(self, uid: str) -> list[str]:
        """See ``Driver.prepare_calls``; by its log."""
        return prepare_calls(uid, self.logs())

    def cdi_files(self, node: str) -> list[str]:
        """List the names of the driver's CDI spec files on a node, sorted."""
        directory = self._nodes_directory / node / "cdi"
        return sorted(path.name for path in directory.glob("*") if self.name in path.name)

    def set_health(self, pool: str, device: str, health: DeviceHealth, message: str = "") -> None:
        """See ``Driver.set_health``; also of a driver of this spec that the cluster itself runs."""
        change = health_control.Change(pool, device, health, message)
        for node in nodes_with(self._spec, pool):
            try:
                health_control.call(PluginPaths(self._nodes_directory / node, self.name).health_socket, change)
            except ControlError as error:
                raise ClusterError(f"driver {self.name} on {node}: {error}") from None

    def stop(self) -> None:
        """SIGTERM; slices and device classes are removed."""
        if self._process is not None:
            spawn.end(self._process, timeout=_STOP_SECONDS)

    def logs(self) -> str:
        """Return the text that it has printed so far."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def _command(self) -> list[str]:
        spec = self._spec
        command = [sys.executable, "-P", "-m", "drakit_kind", "driver", "run", spec.profile]
        command += [spec.layout] if spec.layout else []
        for node in spec.nodes:
            command += ["--node", node]
        command += ["--kubelet-dir", f"{self._nodes_directory}/{{node}}", "--kubeconfig", str(self._kubeconfig)]
        command += ["--driver-name", spec.name] if spec.name else []
        command += ["--gpus", str(spec.gpus)] if spec.gpus else []
        command += ["--plugin-versions", ",".join(spec.plugin_versions)] if spec.plugin_versions else []
        if spec.gates:
            command += ["--feature-gates", gates_text(spec.gates)]
        return [*command, "--cleanup"]
