"""The configuration of one node's containerd 2.x, and of the pod network.

After containerd's docs/cri/config.md (version 3 of the file, which all of 2.x reads) and the bridge and host-local
plugins of CNI.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from drakit_kind.images import PAUSE_IMAGE
from drakit_kind.nodes.network import pod_addresses

_CNI_VERSION = "1.0.0"


@dataclass(frozen=True, kw_only=True)
class ContainerdSettings:
    """What differs between the containerds of one machine.

    ``directory`` has all that containerd keeps; ``plugins`` are directories of CNI plugins, ``networks`` is that of
    their configurations, ``cdi`` that of CDI specs; ``shim`` and ``runc`` are programs; ``snapshotter`` is what the
    function of this name returns.
    """

    directory: Path
    socket: Path
    cdi: Path
    plugins: tuple[Path, ...]
    networks: Path
    shim: Path
    runc: Path
    snapshotter: str


def snapshotter(kind: str) -> str:
    """Return the name of containerd's snapshotter for a file system of this ``kind``, e.g. ``overlay`` or ``ext4``.

    overlayfs cannot lie on overlayfs, which is what the files of most containers are; there, layers are copied.
    """
    return "native" if kind == "overlay" else "overlayfs"


def containerd_config(settings: ContainerdSettings) -> str:
    """Write the text of a node's containerd.toml."""
    runtime = "io.containerd.cri.v1.runtime"
    runc = "containerd.runtimes.runc"
    tables: dict[str, dict[str, Any]] = {
        "": {
            "version": 3,
            "root": settings.directory / "root",
            "state": settings.directory / "state",
            "temp": settings.directory / "tmp",
            "oom_score": 0,
            # These would make a socket below /var/run and a directory below /opt.
            "disabled_plugins": ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.opt"],
        },
        "grpc": {"address": settings.socket},
        # For a container to say that it runs, before a command is executed in it; by default 2 s, which a machine that
        # has much else to do exceeds.
        "timeouts": {"io.containerd.timeout.task.state": "30s"},
        _plugin(runtime): {
            "cdi_spec_dirs": [settings.cdi],
            "netns_mounts_under_state_dir": True,
            # Root without CAP_SYS_RESOURCE cannot lower OOM scores as far as the kubelet asks.
            "restrict_oom_score_adj": True,
            # A profile that it would load would stay in the kernel.
            "disable_apparmor": True,
        },
        _plugin(runtime, "cni"): {
            "bin_dirs": list(settings.plugins),
            "conf_dir": settings.networks,
        },
        _plugin(runtime, runc): {
            "runtime_type": "io.containerd.runc.v2",
            "runtime_path": settings.shim,
        },
        _plugin(runtime, f"{runc}.options"): {"BinaryName": settings.runc, "SystemdCgroup": False},
        _plugin("io.containerd.cri.v1.images"): {"snapshotter": settings.snapshotter},
        _plugin("io.containerd.cri.v1.images", "pinned_images"): {"sandbox": PAUSE_IMAGE},
        # `kubectl exec`, attach and port-forward come back through the kubelet.
        _plugin("io.containerd.grpc.v1.cri"): {"stream_server_address": "127.0.0.1", "stream_server_port": "0"},
    }
    return "\n".join(_table(name, values) for name, values in tables.items())


def _plugin(name: str, *below: str) -> str:
    return ".".join((f'plugins."{name}"', *below))


def _table(name: str, values: dict[str, Any]) -> str:
    heading = f"[{name}]\n" if name else ""
    return heading + "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in values.items())


def _toml(value: Any) -> str:
    """Strings of TOML are those of JSON, numbers, booleans and lists of strings too."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(str(value) if isinstance(value, Path) else value)


def network_config(bridge: str, subnet: IPv4Network, allocations: Path) -> str:
    """Write a CNI configuration list: all pods of a cluster in one network that ends at this machine.

    It has no gateway and no default route, so that connections to other networks fail at once.
    ``allocations`` is one directory for all nodes of the cluster, as they share the addresses.
    """
    first, last = pod_addresses(subnet)
    addresses = {"subnet": str(subnet), "rangeStart": str(first), "rangeEnd": str(last)}
    interface = {
        "type": "bridge",
        "bridge": bridge,
        "isGateway": False,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {"type": "host-local", "ranges": [[addresses]], "dataDir": str(allocations)},
    }
    return json.dumps({"cniVersion": _CNI_VERSION, "name": bridge, "plugins": [interface]}, indent=1)
