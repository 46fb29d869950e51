"""One real node: containerd and kubelet in a mount namespace and a control group of their own."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from drakit_kind import bounds
from drakit_kind.control_plane import probes
from drakit_kind.control_plane.programs import Binaries
from drakit_kind.nodes import enter, kubelet_config
from drakit_kind.nodes.cgroups import ControlGroup
from drakit_kind.nodes.containerd_config import ContainerdSettings, containerd_config
from drakit_kind.nodes.credentials import NodeCredentials
from drakit_kind.nodes.image_import import SOCKET, import_images, snapshotter_in
from drakit_kind.nodes.kubelet_config import HEALTH_PORT, KubeletSettings, health_address
from drakit_kind.nodes.namespaces import MountNamespace
from drakit_kind.nodes.tools import search_path, tool
from drakit_kind.processes.concurrency import in_thread
from drakit_kind.processes.process import Probe, ServerProcess


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a node is: its kubelet's root directory, its address and its control group.

    ``root`` has ``plugins_registry``, ``plugins`` and ``cdi``, as a simulated node's has; ``log`` gives the file of a
    program's output.
    """

    name: str
    root: Path
    address: str
    group: ControlGroup
    log: Callable[[str], Path]

    @property
    def directory(self) -> Path:
        """Everything of the node that is not the kubelet's."""
        return self.root / "host"

    @property
    def containerd_socket(self) -> Path:
        """Where the kubelet, ``ctr`` and ``crictl`` reach containerd."""
        return self.directory / SOCKET

    @property
    def cdi(self) -> Path:
        """Where drivers write what containers get."""
        return self.root / "cdi"

    @property
    def networks(self) -> Path:
        """The directory of the node's CNI configurations."""
        return self.directory / "networks"


class Node:
    """One node; ``ended`` is told when its kubelet ends by itself, and ``lost`` when its containerd does."""

    def __init__(
        self, place: Place, credentials: NodeCredentials, ended: Callable[[str], None], lost: Callable[[str], None]
    ) -> None:
        self._place = place
        self._credentials = credentials
        self._told = {"kubelet": ended, "containerd": lost}
        self._mounts = MountNamespace(place.root, place.directory)
        self._containerd: ServerProcess | None = None
        self._kubelet: ServerProcess | None = None

    @property
    def name(self) -> str:
        """The node's name in the API."""
        return self._place.name

    async def start_containerd(self, binaries: Binaries, network: str, images: Sequence[Path]) -> None:
        """Start containerd as after a reboot, with a CNI configuration (``network``) and images from archives."""
        place = self._place
        for group in (place.group, place.group.child("containerd"), place.group.child("kubelet")):
            group.make()
        place.networks.mkdir(parents=True, exist_ok=True, mode=0o700)
        (place.networks / "10-pods.conflist").write_text(network)
        config = place.directory / "containerd.toml"
        settings = self._containerd_settings(binaries)
        # A reboot would clear this directory, too.
        await in_thread(shutil.rmtree, settings.directory / "state", ignore_errors=True)
        config.write_text(containerd_config(settings))
        await in_thread(self._mounts.open)
        command = [str(binaries.path("containerd")), "--config", str(config)]
        self._containerd = self._process("containerd", command, self._containerd_answers)
        await self._containerd.start()
        for image in images:
            await import_images(binaries, place.directory, image, node=place.name)

    async def start_kubelet(self, binaries: Binaries, gates: Mapping[str, bool]) -> None:
        """Start the kubelet of these binaries; pods of an earlier one go on."""
        place = self._place
        serving = self._credentials.serving(place.name, place.address)
        settings = KubeletSettings(
            address=place.address,
            cgroup_root=place.group.path,
            containerd_socket=place.containerd_socket,
            directory=place.directory,
            client_ca=self._credentials.client_ca,
            certificate=serving.certificate,
            key=serving.key,
            gates=gates,
        )
        config = place.directory / "kubelet.yaml"
        config.write_text(yaml.safe_dump(kubelet_config.kubelet_config(settings), sort_keys=False))
        arguments = kubelet_config.kubelet_arguments(
            place.name,
            place.address,
            config=config,
            kubeconfig=self._credentials.kubeconfig(place.name, place.directory / "kubeconfig"),
            root=place.root,
            certificates=place.directory / "pki",
        )
        answers = probes.http(f"http://{health_address(place.address)}:{HEALTH_PORT}/healthz")
        self._kubelet = self._process("kubelet", [str(binaries.path("kubelet")), *arguments], answers)
        await self._kubelet.start()

    async def stop_kubelet(self) -> None:
        """End the kubelet alone; containers go on running."""
        if self._kubelet is not None:
            await self._kubelet.stop()
            self._kubelet = None

    async def stop(self) -> None:
        """End kubelet and containerd; containers end with the node's control group."""
        await self.stop_kubelet()
        if self._containerd is not None:
            await self._containerd.stop()
            self._containerd = None
        self._mounts.close()

    def _process(self, program: str, command: list[str], probe: Probe) -> ServerProcess:
        entries = map(str, self._place.group.child(program).entries())
        inside = self._mounts.command(command)
        return ServerProcess(
            f"{program} of {self.name}",
            [sys.executable, "-I", "-S", enter.__file__, *entries, "--", *inside],
            log=self._place.log(f"{program}-{self.name}"),
            probe=probe,
            environment={"PATH": search_path()},
            ended=self._told[program],
            start_seconds=bounds.NODE_PROGRAM_START,
            stop_seconds=bounds.NODE_PROGRAM_STOP,
        )

    def _containerd_settings(self, binaries: Binaries) -> ContainerdSettings:
        place = self._place
        plugins = dict.fromkeys(binaries.path(name).parent for name in ("bridge", "host-local", "loopback"))
        return ContainerdSettings(
            directory=place.directory / "containerd",
            socket=place.containerd_socket,
            cdi=place.cdi,
            plugins=tuple(plugins),
            networks=place.networks,
            shim=binaries.path("containerd-shim-runc-v2"),
            runc=Path(tool("runc")),
            snapshotter=snapshotter_in(place.directory),
        )

    async def _containerd_answers(self) -> None:
        _, writer = await asyncio.open_unix_connection(str(self._place.containerd_socket))
        writer.close()
        await writer.wait_closed()
