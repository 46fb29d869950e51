"""What stands in a node besides Debian: kind's own files, the container runtime, and the few things we do differently.

Differently, because kind's network, storage and DNS are images that only a registry has, and because the machine may
be one with cgroup v1, or one whose root lacks CAP_SYS_RESOURCE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from drakit_images.kind_module import KindModule
from drakit_kind.cluster import ClusterError
from drakit_kind.images import Entry
from drakit_kind.kubernetes.assets import Assets
from drakit_kind.nodes.namespaces import SETTINGS
from drakit_kind.processes.command_output import output

_RUNTIME = ("containerd", "containerd-shim-runc-v2", "ctr")
_CNI_PLUGINS = ("bridge", "host-local", "loopback", "portmap", "ptp")
_UNITS = ("containerd", "kubelet", "undo-mount-hacks", "drakit-network")
_SPEC_SECONDS = 30.0
_SETTINGS_SCRIPT = f"""\
#!/bin/bash
# Kernel settings that kubelets change are the machine's, not the node's: this kubelet changes copies of them.
set -euo pipefail
for setting in {" ".join(SETTINGS)}; do
    copy=/run/drakit/$setting
    [[ -e $copy ]] && continue
    mkdir -p "${{copy%/*}}"
    cat "/proc/sys/$setting" >"$copy"
    mount --bind "$copy" "/proc/sys/$setting"
done
""".encode()
_SETTINGS_UNIT = b"[Service]\nExecStartPre=/usr/local/bin/drakit-settings\n"
# `kind export logs` lists a node's images with crictl, which is no part of what drakit builds.
_CRICTL = b"""\
#!/bin/sh
[ "$*" = images ] && exec ctr --namespace k8s.io images list
echo "there is no crictl in this node; use ctr --namespace k8s.io" >&2
exit 1
"""

# Nothing else would tell a node which addresses its pods get, and where those of other nodes are. Its kubelet's
# identity may read its own node; the right to see the others is among MANIFESTS.
_NETWORK_SCRIPT = b"""\
#!/bin/bash
# The pod network of this node: a range of its own, as kube-controller-manager gives it out, and a route to the range of
# each other node. What pods send leaves the node with its address.
set -euo pipefail
kubeconfig=/etc/kubernetes/kubelet.conf
config=/etc/cni/net.d/10-drakit.conflist
as_kubelet() { kubectl --kubeconfig "$kubeconfig" "$@" 2>/dev/null; }
until [[ -f $kubeconfig ]] &&
    user=$(as_kubelet auth whoami --output 'jsonpath={.status.userInfo.username}') &&
    range=$(as_kubelet get node "${user#system:node:}" --output 'jsonpath={.spec.podCIDR}') &&
    [[ -n $range ]]; do
    sleep 0.3
done
mkdir -p "${config%/*}"
cat >"$config.part" <<END
{
  "cniVersion": "1.0.0",
  "name": "drakit",
  "plugins": [
    {
      "type": "ptp",
      "ipMasq": true,
      "ipam": {
        "type": "host-local",
        "dataDir": "/run/cni-ipam-state",
        "ranges": [[{"subnet": "$range"}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
END
mv "$config.part" "$config"
ranges='jsonpath={.spec.podCIDR} {.status.addresses[?(@.type=="InternalIP")].address}{"\\n"}'
follow_nodes() {
    as_kubelet get nodes --watch --output "$ranges" | while read -r other address _; do
        [[ -z $address || $other == "$range" ]] || ip route replace "$other" via "$address"
    done
}
while :; do
    follow_nodes || true
    sleep 2
done
"""
_NETWORK_UNIT = b"""\
[Unit]
Description=Pod network of this node
After=containerd.service

[Service]
ExecStart=/usr/local/bin/drakit-network
Restart=always

[Install]
WantedBy=multi-user.target
"""

# kind creates these objects in each new cluster, from files in the node.
MANIFESTS = {
    "kind/manifests/default-cni.yaml": b"""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: drakit-network
  namespace: kube-system
data:
  about: each node of this image sets up its own pod network (drakit-network.service)
---
# Where the pods of other nodes are.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: drakit-network
rules:
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: drakit-network
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: drakit-network
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: Group
  name: system:nodes
""",
    "kind/manifests/default-storage.yaml": b"""\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: standard
  annotations:
    storageclass.kubernetes.io/is-default-class: "true"
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
""",
}

# Units that make no sense in a container, or start what only machines need; kind removes them too.
_WITHOUT_UNITS = {f"usr/lib/systemd/system/{name}.target.wants" for name in ("multi-user", "local-fs", "basic")}


def entries(module: KindModule, assets: Assets) -> Iterator[Entry]:
    """Yield the files of the layer above the Debian root; raise ``ClusterError`` if a binary is missing."""
    for entry in module.entries():
        yield _changed(entry)
    for name in _RUNTIME:
        yield Entry(path=f"usr/local/bin/{name}", contents=assets.path(name))
    for name in _CNI_PLUGINS:
        yield Entry(path=f"opt/cni/bin/{name}", contents=assets.path(name))
    yield Entry(path="etc/containerd/cri-base.json", contents=_base_spec(assets.path("ctr")), mode=0o644)
    yield Entry(path="usr/local/bin/drakit-network", contents=_NETWORK_SCRIPT)
    yield Entry(path="etc/systemd/system/drakit-network.service", contents=_NETWORK_UNIT, mode=0o644)
    yield Entry(path="usr/local/bin/drakit-settings", contents=_SETTINGS_SCRIPT)
    yield Entry(path="etc/systemd/system/kubelet.service.d/12-drakit.conf", contents=_SETTINGS_UNIT, mode=0o644)
    yield Entry(path="usr/local/bin/crictl", contents=_CRICTL)
    for unit in _UNITS:
        yield Entry(path=f"etc/systemd/system/multi-user.target.wants/{unit}.service", link=f"../{unit}.service")
    # This unit would register handlers in the kernel, for the whole machine.
    yield Entry(path="etc/systemd/system/systemd-binfmt.service", link="/dev/null")
    yield Entry(path="etc/systemd/journald.conf.d/kind.conf", contents=b"[Journal]\nReadKMsg=no\n", mode=0o644)
    yield Entry(path="etc/kubernetes/manifests")


def belongs_in_node(path: str) -> bool:
    """Whether a path of the Debian root is wanted in a node."""
    directory, _, name = path.rpartition("/")
    if directory == "usr/lib/systemd/system/sysinit.target.wants":
        return name != "systemd-tmpfiles-setup.service"
    if directory == "usr/lib/systemd/system/sockets.target.wants":
        return not any(word in name for word in ("udev", "initctl"))
    if directory.startswith("etc/systemd/system/") and directory.endswith(".wants"):
        return False
    return directory not in _WITHOUT_UNITS


def _changed(entry: Entry) -> Entry:
    if entry.path == "etc/default/kubelet":
        return _rewritten(entry, b"KUBELET_EXTRA_ARGS=", b"KUBELET_EXTRA_ARGS=--fail-cgroupv1=false ")
    if entry.path == "etc/containerd/config.toml":
        return _rewritten(entry, b"restrict_oom_score_adj = false", b"restrict_oom_score_adj = true")
    return entry


def _rewritten(entry: Entry, old: bytes, new: bytes) -> Entry:
    assert isinstance(entry.contents, Path)
    text = entry.contents.read_bytes()
    if text.count(old) != 1:
        raise ClusterError(f"{entry.contents} is not as drakit knows it: it was to hold {old.decode()!r} once")
    return replace(entry, contents=text.replace(old, new))


def _base_spec(ctr: Path) -> bytes:
    """Return the OCI spec that a node's containers start from: containerd's, changed as kind does (hook, no limits)."""
    spec: dict[str, Any] = msgspec.json.decode(output([str(ctr), "oci", "spec"], timeout=_SPEC_SECONDS))
    spec["process"].pop("rlimits", None)
    hooks = spec.setdefault("hooks", {}).setdefault("createContainer", [])
    hooks.append({"path": "/kind/bin/mount-product-files.sh"})
    return msgspec.json.format(msgspec.json.encode(spec))
