"""What containerd and the pod network are told: nothing outside of the node's directory."""

from __future__ import annotations

import json
import tomllib
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from drakit_kind.images import PAUSE_IMAGE
from drakit_kind.nodes.containerd_config import ContainerdSettings, containerd_config, network_config, snapshotter

NODE = Path('/h o"me/n/node-1')


SETTINGS = ContainerdSettings(
    directory=NODE / "host/containerd",
    socket=NODE / "host/containerd.sock",
    cdi=NODE / "cdi",
    plugins=(Path("/cni"), Path("/other")),
    networks=NODE / "host/networks",
    shim=Path("/bin/containerd-shim-runc-v2"),
    runc=Path("/usr/sbin/runc"),
    snapshotter="native",
)


def test_containerd_keeps_to_its_node() -> None:
    made = tomllib.loads(containerd_config(SETTINGS))
    assert made["version"] == 3
    places = [made["root"], made["state"], made["temp"], made["grpc"]["address"]]
    names = ("containerd/root", "containerd/state", "containerd/tmp", "containerd.sock")
    assert places == [str(NODE / "host" / name) for name in names]
    runtime, images = (made["plugins"][f"io.containerd.cri.v1.{name}"] for name in ("runtime", "images"))
    assert runtime["cdi_spec_dirs"] == [str(NODE / "cdi")]
    assert runtime["netns_mounts_under_state_dir"] is True
    assert runtime["cni"] == {"bin_dirs": ["/cni", "/other"], "conf_dir": str(NODE / "host/networks")}
    runc = runtime["containerd"]["runtimes"]["runc"]
    assert (runc["runtime_path"], runc["options"]["BinaryName"]) == ("/bin/containerd-shim-runc-v2", "/usr/sbin/runc")
    assert (images["snapshotter"], images["pinned_images"]) == ("native", {"sandbox": PAUSE_IMAGE})
    assert made["plugins"]["io.containerd.grpc.v1.cri"]["stream_server_address"] == "127.0.0.1"


def test_a_container_on_a_busy_machine_has_time_to_say_that_it_runs() -> None:
    """By itself containerd gives it two seconds, and then nothing can be executed in it."""
    assert tomllib.loads(containerd_config(SETTINGS))["timeouts"] == {"io.containerd.timeout.task.state": "30s"}


@pytest.mark.parametrize(("kind", "chosen"), [("ext4", "overlayfs"), ("tmpfs", "overlayfs"), ("overlay", "native")])
def test_layers_are_copied_where_they_cannot_be_stacked(kind: str, chosen: str) -> None:
    assert snapshotter(kind) == chosen


def test_pods_are_connected_to_a_network_that_ends_at_this_machine() -> None:
    made = json.loads(network_config("drakit-1", IPv4Network("10.213.16.0/20"), Path("/h/nodes/addresses")))
    (bridge,) = made["plugins"]
    assert (bridge["type"], bridge["bridge"]) == ("bridge", "drakit-1")
    assert not bridge["isGateway"]
    assert not bridge["ipMasq"]
    ((addresses,),) = bridge["ipam"]["ranges"]
    assert addresses == {"subnet": "10.213.16.0/20", "rangeStart": "10.213.17.0", "rangeEnd": "10.213.31.254"}
    assert bridge["ipam"]["dataDir"] == "/h/nodes/addresses"
    assert "routes" not in bridge["ipam"]
