"""Control groups of a cluster: which hierarchies a machine has, and that killing and removing is complete."""

from __future__ import annotations

import errno
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from drakit_kind.cluster import ClusterError
from drakit_kind.nodes import cgroups, leftovers
from drakit_kind.nodes.cgroups import ControlGroup, Hierarchy, hierarchies, missing
from drakit_kind.nodes.leftovers import Journal
from drakit_kind.nodes.mounts import mounts

V1 = """\
30 23 0:27 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
31 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:5 - cgroup cgroup rw,cpu,cpuacct
32 30 0:29 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
33 30 0:30 / /sys/fs/cgroup/with\\040space rw,relatime - cgroup cgroup rw,xattr,name=systemd
"""
V2 = "30 23 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
HYBRID = V1 + "34 30 0:31 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (V1, {"cpu,cpuacct": {"cpu", "cpuacct"}, "memory": {"memory"}, "with space": {"xattr", "systemd"}}),
        (
            HYBRID,
            {
                "cpu,cpuacct": {"cpu", "cpuacct"},
                "memory": {"memory"},
                "with space": {"xattr", "systemd"},
                "unified": None,
            },
        ),
        (V2, {"cgroup": None}),
    ],
    ids=["v1", "hybrid", "v2"],
)
def test_hierarchies_are_read_from_the_mounts(text: str, found: dict[str, set[str] | None]) -> None:
    seen = {each.mount.name: None if each.unified else set(each.controllers) for each in hierarchies(mounts(text))}
    assert seen == found


def test_a_machine_without_a_controller_is_told_which(tmp_path: Path) -> None:
    assert missing(hierarchies(mounts(HYBRID))) == ["cpuset", "pids", "devices", "freezer"]
    (tmp_path / "cgroup.controllers").write_text("cpu io memory\n")
    assert missing([Hierarchy(tmp_path, unified=True)]) == ["cpuset", "pids"]


@pytest.fixture
def machine(tmp_path: Path) -> list[Hierarchy]:
    """Directories in place of two v1 hierarchies."""
    found = []
    for name in ("memory", "freezer"):
        (tmp_path / name).mkdir()
        found.append(Hierarchy(tmp_path / name, unified=False, controllers=frozenset({name})))
    return found


def test_a_group_is_made_in_each_hierarchy_and_removed_with_all_below(machine: list[Hierarchy]) -> None:
    group = ControlGroup("drakit-1", machine)
    node = group.child("node-1")
    group.make()
    node.make()
    assert node.path == "/drakit-1/node-1"
    assert [entry.relative_to(machine[0].mount.parent) for entry in node.entries()] == [
        Path("memory/drakit-1/node-1/cgroup.procs"),
        Path("freezer/drakit-1/node-1/cgroup.procs"),
    ]
    (machine[0].mount / "drakit-1/node-1/kubepods/pod-1").mkdir(parents=True)  # the kubelet's own
    group.remove()
    group.remove()  # what is gone already is removed
    assert not any(directory.exists() for directory in group.directories)


def test_a_v1_group_may_use_the_processors_of_its_parent(tmp_path: Path) -> None:
    """Without them it takes no process: cgroup-v1/cpusets.rst."""
    for directory, text in ((tmp_path, "0-1"), (tmp_path / "drakit-1", "")):
        directory.mkdir(exist_ok=True)
        (directory / "cpuset.cpus").write_text(text)
        (directory / "cpuset.mems").write_text(text and "0")
    ControlGroup("drakit-1", [Hierarchy(tmp_path, unified=False, controllers=frozenset({"cpuset"}))]).make()
    assert [(tmp_path / "drakit-1" / name).read_text() for name in ("cpuset.cpus", "cpuset.mems")] == ["0-1", "0"]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A v2 hierarchy, whose kernel gives on all controllers but ``io``."""
    monkeypatch.setattr(cgroups, "_control", _control)
    (tmp_path / "cgroup").mkdir()
    (tmp_path / "cgroup" / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (tmp_path / "cgroup" / "cgroup.subtree_control").write_text("memory\n")
    return tmp_path / "cgroup"


def _control(directory: Path, word: str) -> None:
    if word == "+io" or (directory / "busy").exists():
        raise OSError(errno.EBUSY, "Device or resource busy")
    had = set(cgroups.enabled(directory))
    has = had | {word[1:]} if word[0] == "+" else had - {word[1:]}
    (directory / "cgroup.subtree_control").write_text(" ".join(sorted(has)))


def test_a_v2_group_gets_the_controllers_of_its_parent(root: Path) -> None:
    group = ControlGroup("drakit-1", [Hierarchy(root, unified=True)])
    (root / "cgroup.subtree_control").write_text("cpu cpuset memory pids")
    group.make()
    (root / "drakit-1" / "cgroup.controllers").write_text("cpu cpuset memory pids\n")
    (root / "drakit-1" / "cgroup.subtree_control").write_text("\n")
    group.child("node-1").make()
    assert cgroups.enabled(root / "drakit-1") == ["cpu", "cpuset", "memory", "pids"]
    assert (root / "drakit-1" / "node-1").is_dir()


def test_controllers_of_the_machine_are_enabled_until_the_last_cluster_is_gone(root: Path, tmp_path: Path) -> None:
    found = [Hierarchy(root, unified=True)]
    clusters = [Journal.create(tmp_path / name, tmp_path / "records") for name in ("one", "two")]
    for cluster in clusters:
        leftovers.enable_controllers(cluster, found)
        assert cgroups.enabled(root) == ["cpu", "cpuset", "memory", "pids"]
    clusters[0].undo()
    assert cgroups.enabled(root) == ["cpu", "cpuset", "memory", "pids"]
    clusters[1].undo()
    assert cgroups.enabled(root) == ["memory"], "as it was before"


def test_a_container_whose_processes_are_in_the_root_is_told_the_way_out(root: Path, tmp_path: Path) -> None:
    (root / "busy").touch()
    found = [Hierarchy(root, unified=True)]
    cluster = Journal.create(tmp_path / "one", tmp_path / "records")
    leftovers.enable_controllers(cluster, found)
    with pytest.raises(ClusterError, match=r"cannot have the controllers cpu, cpuset, pids.*--cgroupns=host"):
        ControlGroup("drakit-1", found).make()
    assert not (root / "drakit-1").exists()
    cluster.undo()


def test_cgroup_v1_has_nothing_to_enable(machine: list[Hierarchy], tmp_path: Path) -> None:
    cluster = Journal.create(tmp_path / "one", tmp_path / "records")
    leftovers.enable_controllers(cluster, [*machine, Hierarchy(tmp_path, unified=True)])
    assert [effect["effect"] for effect in cluster.effects()] == ["cluster"]
    cluster.undo()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


@pytest.mark.slow
def test_killing_waits_until_all_processes_are_gone(machine: list[Hierarchy], sleeper: subprocess.Popen[bytes]) -> None:
    """Also those that only one hierarchy knows, in a group far below that a container runtime has frozen."""
    group = ControlGroup("drakit-1", machine)
    group.make()
    below = machine[0].mount / "drakit-1/node-1/kubepods/pod-1"
    below.mkdir(parents=True)
    (below / "cgroup.procs").write_text(f"{sleeper.pid}\n")
    frozen = machine[1].mount / "drakit-1/pod-1"
    frozen.mkdir()
    (frozen / "freezer.state").write_text("FROZEN")

    def kernel() -> None:
        sleeper.wait()
        (below / "cgroup.procs").write_text("")

    watching = threading.Thread(target=kernel)
    watching.start()
    group.kill(seconds=20)
    watching.join()
    assert sleeper.returncode == -9
    assert (frozen / "freezer.state").read_text() == "THAWED"


def test_a_process_that_does_not_end_is_named(machine: list[Hierarchy]) -> None:
    group = ControlGroup("drakit-1", machine)
    group.make()
    (machine[0].mount / "drakit-1/cgroup.procs").write_text("999999999\n")
    with pytest.raises(ClusterError, match=r"processes \[999999999\] of control group /drakit-1 do not end"):
        group.kill(seconds=0.1)
    with pytest.raises(ClusterError, match=r"memory/drakit-1 cannot be removed"):
        group.remove(seconds=0.1)
