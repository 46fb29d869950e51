"""What a container gets for its devices: CDI specifications resolved into environment, devices and mounts.

Containerd does this in a real node (tags.cncf.io/container-device-interface). A specification is a JSON or YAML file
with a ``kind`` and named devices; of two files that define the same device the one in the later directory wins, and
two in the same directory make it unusable. A file that is refused (``cdi_specs``) defines nothing: the log says why,
and containers that were given its devices get the error of devices that do not exist.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from drakit_embedded.kubelet import cdi_specs
from drakit_embedded.kubelet.cdi_specs import CdiSpec, ContainerEdits, DeviceNode, Mount

log = logging.getLogger(__name__)

_SUFFIXES = (".json", ".yaml")


class CdiError(Exception):
    """Devices that no specification defines; the message is containerd's."""


@dataclass(slots=True)
class Edits:
    """What is added to a container. Later entries of ``environment`` replace earlier ones of the same name."""

    environment: dict[str, str] = field(default_factory=dict)
    device_nodes: list[DeviceNode] = field(default_factory=list)
    mounts: list[Mount] = field(default_factory=list)

    def add(self, edits: ContainerEdits) -> None:
        """Apply one ``containerEdits``."""
        for entry in edits.env or ():
            name, _, value = entry.partition("=")
            self.environment[name] = value
        self.device_nodes += edits.device_nodes or ()
        self.mounts += edits.mounts or ()


@dataclass(frozen=True, slots=True)
class _Spec:
    directory: int
    edits: ContainerEdits
    devices: dict[str, ContainerEdits]

    @classmethod
    def of(cls, directory: int, spec: CdiSpec) -> _Spec:
        """Index a specification's devices by the names that drivers give to the kubelet (``vendor.com/class=name``)."""
        devices = {f"{spec.kind}={device.name}": device.container_edits for device in spec.devices or ()}
        return cls(directory, spec.container_edits, devices)


class CdiDirectories:
    """The specifications below some directories; files are read again only when they change."""

    def __init__(self, directories: Sequence[Path]) -> None:
        self._directories = list(directories)
        self._parsed: dict[str, tuple[tuple[int, int, int], list[_Spec]]] = {}

    def inject(self, device_ids: Iterable[str]) -> Edits:
        """Merge the edits for devices like ``gpu.example.com/claim=x``; raises ``CdiError`` if any is not defined."""
        wanted = list(dict.fromkeys(device_ids))
        if not wanted:
            return Edits()
        devices = self._devices()
        unresolvable = [device_id for device_id in wanted if device_id not in devices]
        if unresolvable:
            raise CdiError(f"CDI device injection failed: unresolvable CDI devices {', '.join(unresolvable)}")
        edits = Edits()
        used: list[_Spec] = []
        for device_id in wanted:
            spec = devices[device_id]
            if not any(spec is other for other in used):
                used.append(spec)
                edits.add(spec.edits)
            edits.add(spec.devices[device_id])
        return edits

    def _devices(self) -> dict[str, _Spec]:
        found: dict[str, _Spec] = {}
        conflicts: dict[str, int] = {}
        for spec in self._specs():
            for device_id in spec.devices:
                other = found.get(device_id)
                if other is not None and other.directory == spec.directory:
                    conflicts[device_id] = spec.directory
                found[device_id] = spec
        return {key: spec for key, spec in found.items() if conflicts.get(key, -1) < spec.directory}

    def _specs(self) -> list[_Spec]:
        """Read all specifications, those of later directories later."""
        specs: list[_Spec] = []
        seen: set[str] = set()
        for index, directory in enumerate(self._directories):
            try:
                entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                if entry.name.endswith(_SUFFIXES):
                    seen.add(entry.path)
                    specs += self._read(index, entry)
        for path in self._parsed.keys() - seen:
            del self._parsed[path]
        return specs

    def _read(self, index: int, entry: os.DirEntry[str]) -> list[_Spec]:
        try:
            stat = entry.stat(follow_symlinks=False)
        except OSError:  # gone since
            return []
        version = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        cached = self._parsed.get(entry.path)
        if cached is None or cached[0] != version:
            cached = self._parsed[entry.path] = (version, _parsed(index, Path(entry.path)))
        return cached[1]


def _parsed(index: int, path: Path) -> list[_Spec]:
    try:
        return [_Spec.of(index, cdi_specs.read(path))]
    except FileNotFoundError:
        return []
    except (OSError, cdi_specs.SpecError) as error:
        log.warning("%s: not a usable CDI specification: %s", path, error)
        return []
