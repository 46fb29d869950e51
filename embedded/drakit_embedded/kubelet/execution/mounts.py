"""The mounts of one container: of its volumes, its devices, and what every container has."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from drakit_api.kubernetes_objects import Object
from drakit_embedded.kubelet.containers import Container, expand
from drakit_embedded.kubelet.execution.entries import Entry, Parts, Source
from drakit_embedded.kubelet.execution.host_files import HostFiles
from drakit_embedded.kubelet.execution.stored_files import Files, StoredFile, StoredFiles, in_one_step
from drakit_embedded.kubelet.execution.view import View
from drakit_embedded.kubelet.execution.volumes import KINDS, Volumes

# Where drivers find the directories of a node, and what they are below that of a simulated kubelet.
_OF_NODE = (("/var/lib/kubelet", "."), ("/var/run/cdi", "cdi"), ("/run/cdi", "cdi"))
_DEVICES = ("full", "null", "random", "tty", "urandom", "zero")
_CHARACTER_DEVICE = stat.S_IFCHR | 0o666
_HOSTS = """\
# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::\tip6-localnet
fe00::\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"""


@dataclass(frozen=True, slots=True)
class Node:
    """The node of a pod, as far as containers see it: the directory of its kubelet, and what volumes hold."""

    directory: Path
    volumes: Volumes

    def on_host(self, path: str) -> Path:
        """Find where a path of the node lies on this machine; most are the same."""
        clean = os.path.normpath(path)
        if Path(clean).is_relative_to(self.directory):
            return Path(clean)
        for place, below in _OF_NODE:
            if clean == place or clean.startswith(f"{place}/"):
                return self.directory / below / clean.removeprefix(place).lstrip("/")
        return Path(clean)


def view(pod: Object, spec: Object, container: Container, pod_ip: str, node: Node) -> View:
    """Build the file system of a container; devices win over volumes at the same place."""
    found: dict[Parts, Source] = {(): StoredFiles(_own_files(pod, container, pod_ip), container.started)}
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
    for mount in spec.get("volumeMounts") or ():
        below = _sub_path(mount, container.variables)
        source = _volume(pod, pod_ip, volumes.get(mount["name"], {}), container, node, is_whole=not below)
        found[_parts(mount["mountPath"])] = _Below(source, below) if below else source
    for device_mount in container.mounts:
        is_bound = device_mount.type in ("", "bind")
        source = HostFiles(node.on_host(device_mount.host_path)) if is_bound else StoredFiles({}, container.started)
        found[_parts(device_mount.container_path)] = source
    return View(found, spec.get("workingDir") or "/")


def _parts(path: str) -> Parts:
    return tuple(part for part in os.path.normpath(path).split("/") if part not in ("", "."))


def _volume(pod: Object, pod_ip: str, volume: Object, container: Container, node: Node, *, is_whole: bool) -> Source:
    """Find what a volume holds: of those that are neither in the API server nor the node's own, nothing."""
    if any(kind in volume for kind in KINDS):
        load = partial(_of_api, pod, pod_ip, volume, container, node.volumes, is_whole=is_whole)
        return StoredFiles(load, container.started)
    host = (volume.get("hostPath") or {}).get("path", "")
    if host and (place := node.on_host(host)).is_relative_to(node.directory):
        return HostFiles(place)
    return StoredFiles({}, container.started)


async def _of_api(
    pod: Object, pod_ip: str, volume: Object, container: Container, volumes: Volumes, *, is_whole: bool
) -> Files:
    files = await volumes.files(pod, pod_ip, volume)
    if not is_whole:
        return files
    return in_one_step(files, container.started, zlib.crc32(f"{pod['metadata']['uid']}/{volume['name']}".encode()))


def _sub_path(mount: Object, variables: Mapping[str, str]) -> Parts:
    return _parts(mount.get("subPath") or expand(mount.get("subPathExpr", ""), variables))


class _Below:
    """A part of a volume that is mounted on its own."""

    def __init__(self, source: Source, place: Parts) -> None:
        self._source, self._place = source, place

    def entry(self, parts: Parts) -> Entry:
        return self._source.entry((*self._place, *parts))

    def names(self, parts: Parts) -> Sequence[str]:
        return self._source.names((*self._place, *parts))

    def open(self, parts: Parts) -> BinaryIO:
        return self._source.open((*self._place, *parts))


def _own_files(pod: Object, container: Container, pod_ip: str) -> Files:
    """Build what every container has: its name, the names of hosts that it knows, and devices."""
    name = container.variables.get("HOSTNAME", pod["metadata"]["name"])
    hosts = f"{_HOSTS}{pod_ip}\t{name}\n" if pod_ip else _HOSTS
    devices = [*(f"dev/{name}" for name in _DEVICES), *("/".join(_parts(each.path)) for each in container.devices)]
    return {
        "etc/hostname": StoredFile(f"{name}\n".encode()),
        "etc/hosts": StoredFile(hosts.encode()),
        **dict.fromkeys(devices, StoredFile(mode=_CHARACTER_DEVICE)),
    }
