"""Drivers as processes of their own, so that a test can kill one in the middle of a prepare."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from drakit_kind import spawn
from drakit_kind.cluster import ClusterError, DriverSpec

_START_SECONDS = 30.0
_STOP_SECONDS = 15.0


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
        from drakit_driver import profiles

        return self._spec.name or profiles.driver_name(self._spec.profile)

    @property
    def pid(self) -> int:
        """The running process."""
        if self._process is None or self._process.poll() is not None:
            raise ClusterError(f"driver {self.name} is not running")
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it is registered and has published."""
        try:
            self._process = spawn.spawn(self._command(), log=self._log, timeout=_START_SECONDS)
        except spawn.SpawnError as error:
            raise ClusterError(f"driver {self.name} did not start: {error}") from None

    def kill(self) -> None:
        """SIGKILL: sockets, checkpoint and slices stay as they are."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """SIGTERM; slices and device classes are removed."""
        if self._process is not None:
            spawn.end(self._process, timeout=_STOP_SECONDS)

    def logs(self) -> str:
        """What it has printed so far."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def _command(self) -> list[str]:
        spec = self._spec
        command = [sys.executable, "-m", "drakit_kind", "driver", "run", spec.profile]
        command += [spec.layout] if spec.layout else []
        for node in spec.nodes:
            command += ["--node", node]
        command += ["--kubelet-dir", f"{self._nodes_directory}/{{node}}", "--kubeconfig", str(self._kubeconfig)]
        command += ["--driver-name", spec.name] if spec.name else []
        command += ["--gpus", str(spec.gpus)] if spec.gpus else []
        command += ["--plugin-versions", ",".join(spec.plugin_versions)] if spec.plugin_versions else []
        if spec.gates:
            command += ["--feature-gates", ",".join(f"{gate}={str(on).lower()}" for gate, on in spec.gates.items())]
        return [*command, "--cleanup"]
