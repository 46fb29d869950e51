"""``drakit cluster`` as a user types it: up, talk to it, look at it, down; mistakes cost one line each."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
import yaml

from drakit_client.resources import CONFIG_MAPS, NODES, RESOURCE_SLICES
from drakit_kind.cluster import ClusterSpec
from drakit_kind.clusters import short_paths
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.home import ClusterHome
from tests.kind.drakit_command import Drakit, command
from tests.kind.waits import appears, ended

pytestmark = pytest.mark.slow


def test_a_cluster_comes_up_is_looked_at_and_goes_away(drakit: Drakit, home: Path) -> None:
    up = drakit("cluster", "up", "--nodes", "2", "--driver", "a30@node-2").stdout
    assert re.search(r"cluster default is ready after \d+\.\d\d s: https://127\.0\.0\.1:\d+, 2 nodes", up)
    config = yaml.safe_load((home / "config").read_text())
    assert config["current-context"] == "drakit-default"
    with Api(home / "config") as api:
        assert [node["metadata"]["name"] for node in api.objects(NODES)] == ["node-1", "node-2"]
        assert {item["spec"]["nodeName"] for item in api.objects(RESOURCE_SLICES)} == {"node-2"}
    status = drakit("cluster", "status").stdout
    assert "nodes: 2 of 2 ready" in status
    assert "driver gpu.nvidia.com: 1 pool, 2 slices" in status
    drakit("cluster", "down")
    assert not (home / "config").exists()
    assert list((home / "state").iterdir()) == []


def test_a_cluster_in_a_long_directory_is_called_by_its_name_and_leaves_nothing_elsewhere(
    drakit: Drakit, home: Path
) -> None:
    place = home / ("x" * 100)
    options = ["--data-dir", str(place)]
    drakit("cluster", "up", "--nodes", "0", "--name", "red", *options)
    assert short_paths.of(place)
    assert drakit("cluster", "restart", "scheduler", *options).stdout == "scheduler of cluster red is restarted\n"
    assert drakit("cluster", "down", *options).stdout == f"cluster red is stopped; its data stays in {place}\n"
    assert short_paths.of(place) is None


def test_an_api_server_alone_has_no_nodes_and_no_scheduler(drakit: Drakit, home: Path) -> None:
    drakit("cluster", "up", "--nodes", "0", "--no-scheduler", "--port", "0", "--token", "secret", "--no-tls")
    assert yaml.safe_load((home / "config").read_text())["users"][0]["user"] == {"token": "secret"}
    with Api(home / "config") as api:
        assert api.objects(NODES) == []
    refused = drakit("cluster", "restart", "scheduler", code=1)
    assert refused.stderr == "Error: this cluster runs no scheduler; it runs apiserver, controllers\n"


def test_what_a_restart_would_not_change_is_refused(drakit: Drakit) -> None:
    drakit("cluster", "up", "--no-scheduler", "--nodes", "1", "--driver", "a30", "--emulated-version", "1.36")
    refused = drakit("cluster", "restart", "scheduler", code=1)
    assert refused.stderr == "Error: this cluster runs no scheduler; it runs apiserver, controllers, kubelet\n"
    refused = drakit("cluster", "restart", "apiserver", "--kubernetes-version", "1.37.1", code=1)
    assert refused.stderr == (
        "Error: apiserver: it is drakit's own and does as Kubernetes 1.36, which this cluster emulates "
        "(--emulated-version), whatever its version; name --emulated-version 1.37 to change that\n"
    )
    drakit("cluster", "restart", "apiserver", "--kubernetes-version", "1.36.3")
    drakit("cluster", "restart", "apiserver", "--kubernetes-version", "1.37.1", "--emulated-version", "1.37")
    assert ", Kubernetes 1.37\n" in drakit("cluster", "status").stdout


def test_data_in_a_directory_of_ones_own_outlives_the_cluster(drakit: Drakit, home: Path) -> None:
    options = ["--data-dir", str(home / "data")]
    drakit("cluster", "up", "--nodes", "1", "--no-driver", *options)
    with Api(home / "config") as api:
        kept = api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}, "data": {"a": "b"}})
    before = yaml.safe_load((home / "config").read_text())
    assert "its data stays in" in drakit("cluster", "down", *options).stdout
    drakit("cluster", "up", "--nodes", "1", "--no-driver", *options)
    after = yaml.safe_load((home / "config").read_text())
    assert [cluster["cluster"]["server"] for cluster in after["clusters"]] == [
        cluster["cluster"]["server"] for cluster in before["clusters"]
    ]
    with Api(home / "config") as api:
        assert api.get(CONFIG_MAPS, "kept") == kept
    drakit("cluster", "down", *options)


def test_nodes_that_the_next_run_does_not_have_are_gone(drakit: Drakit, home: Path) -> None:
    """Nobody would run the pods that a scheduler puts there; nodes of other origin are the user's business."""
    options = ["--no-driver", "--data-dir", str(home / "data")]
    drakit("cluster", "up", "--nodes", "3", *options)
    with Api(home / "config") as api:
        api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "by-hand"}})
    drakit("cluster", "down", *options[1:])
    drakit("cluster", "up", "--nodes", "1", *options)
    with Api(home / "config") as api:
        assert {node["metadata"]["name"] for node in api.objects(NODES)} == {"node-1", "by-hand"}
    drakit("cluster", "down", *options[1:])


def test_two_clusters_run_side_by_side(drakit: Drakit, home: Path) -> None:
    for name in ("red", "blue"):
        drakit("cluster", "up", "--name", name, "--nodes", "1", "--no-driver", "--kubeconfig", str(home / name))
    with Api(home / "red") as red, Api(home / "blue") as blue:
        red.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "only-red"}})
        assert blue.find(CONFIG_MAPS, "only-red") is None
        drakit("cluster", "down", "--name", "red")
        assert len(blue.objects(NODES)) == 1
    assert not (home / "red").exists()
    assert (home / "blue").exists()


def test_without_the_second_cluster_kubectl_uses_the_first_one_again(drakit: Drakit, home: Path) -> None:
    for name in ("red", "blue"):
        drakit("cluster", "up", "--name", name, "--nodes", "0", "--no-scheduler")
    down = drakit("cluster", "down", "--name", "blue").stdout
    assert f"kubectl uses context drakit-red again, in {home / 'config'}" in down
    with Api(home / "config") as api:
        assert api.version() == "1.37"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["cluster", "status"], "cluster default does not run; start one with `drakit cluster up`"),
        (["cluster", "down", "--name", "other"], "there is no cluster other; start one with `drakit cluster up`"),
        (["cluster", "logs", "--name", "../evil"], "cluster name '../evil': use at most 40 lower case letters"),
        (["cluster", "up", "--name", "../evil"], "cluster name '../evil': use at most 40 lower case letters"),
        (["cluster", "up", "--driver", "b200"], 'there is no profile "b200"; known are a100-40gb'),
        (
            ["cluster", "up", "--driver", "layout@node-1,node-2"],
            "--driver layout@node-1,node-2: takes no file; start the cluster with --no-driver and then `drakit driver "
            "run layout FILE --node node-1 --node node-2 --kubelet-dir /",
        ),
        (
            ["cluster", "up", "--driver", "a30@node-9"],
            "driver a30: no node node-9; this cluster has node-1 ... node-5",
        ),
        (
            ["cluster", "up", "--feature-gates", "DRAPrioritizedList=false"],
            "cannot set feature gate DRAPrioritizedList to false, feature is locked to true",
        ),
        (
            ["cluster", "up", "--driver", "a30", "--driver", "h100-80gb@node-1,node-5"],
            "drivers a30 and h100-80gb are both gpu.nvidia.com on node-1; name nodes of its own for each "
            "(--driver PROFILE@NODE,...)",
        ),
        (
            ["cluster", "up", "--nodes", "0", "--driver", "a30"],
            "driver a30: it needs a node to run on; this cluster has none",
        ),
        (["cluster", "up", "--driver", "a30", "--no-driver"], "--no-driver: with --driver there is one"),
        (["cluster", "up", "--emulated-version", "1.20"], "1.20"),
        (["cluster", "up", "--token", "two words"], "--token: use visible ASCII characters without spaces"),
        (["cluster", "up", "--token", "line\nbreak"], "--token: use visible ASCII characters without spaces"),
        (["cluster", "up", "--data-dir", "/tmp"], "/tmp: others than its owner may look into it"),
        (["cluster", "up", "--feature-gates", "DRA"], "DRA"),
        (
            ["cluster", "up", "--real", "scheduler", "--no-scheduler"],
            "--real scheduler: with --no-scheduler there is no scheduler; leave one of them out",
        ),
        (
            ["cluster", "up", "--real", "kubelet,scheduler", "--nodes", "0"],
            "--real kubelet,scheduler: with --nodes 0 there is no kubelet; leave one of them out",
        ),
        (
            ["cluster", "up", "--kubernetes-dir", "/opt/kubernetes"],
            "--kubernetes-dir: all components are drakit's own; say with --cluster binaries or --real which are not",
        ),
        (["cluster", "up", "--runtime-config", "v1beta1"], "--runtime-config invalid key v1beta1: write GROUP/VERSION"),
        (["cluster", "up", "--runtime-config", "dra.k8s.io/v1=true"], "unknown api groups dra.k8s.io/v1"),
        (
            ["cluster", "up", "--runtime-config", "resource.k8s.io/v1alpha2=true"],
            "group version resource.k8s.io/v1alpha2 that has not been registered",
        ),
        (["cluster", "up", "--runtime-config", "api/beta=maybe"], "api/beta=maybe: the value must be true or false"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(
    drakit: Drakit, home: Path, arguments: list[str], says: str
) -> None:
    refused = drakit(*arguments, code=1)
    assert refused.stdout == ""
    assert refused.stderr.startswith("Error: ")
    assert says in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert not (home / "config").exists()


def test_of_a_cluster_that_ended_it_is_said_how_to_see_why_and_to_continue_it(drakit: Drakit, home: Path) -> None:
    blue = ClusterHome(home / "state" / "blue")
    blue.make()
    blue.write_spec(ClusterSpec())
    drakit("cluster", "up", "--nodes", "0", "--no-scheduler", "--name", "red")
    dead = ClusterHome(home / "state" / "red")
    pid = dead.running_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert ended(pid, seconds=20)
    assert drakit("cluster", "status", "--name", "red", code=1).stderr == (
        "Error: cluster red does not run; it ended: `drakit cluster logs` says why, and `drakit cluster up`, each with "
        f"the same --name or --data-dir, continues it ({dead.directory})\n"
    )
    assert drakit("cluster", "status", "--name", "green", code=1).stderr == (
        f"Error: cluster green does not run; there are: blue, red ({home / 'state' / 'green'} was looked at)\n"
    )
    assert "apiserver started" in drakit("cluster", "logs", "--name", "red").stdout
    shutil.rmtree(blue.directory)


def test_a_cluster_that_was_killed_is_continued_as_it_was(drakit: Drakit, home: Path) -> None:
    drakit("cluster", "up", "--nodes", "2", "--driver", "a30@node-2", "--no-scheduler", "--emulated-version", "1.36")
    cluster = ClusterHome(home / "state" / "default")
    before, pid = cluster.read_spec(), cluster.running_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert ended(pid, seconds=20)
    shown = drakit("cluster", "up").stdout
    assert re.match(r"cluster default is ready after .*, 2 nodes\n", shown)
    assert f"it continues what was in {cluster.directory}; options that were not named are those of before" in shown
    assert "  a30 on node-2\n" in shown
    assert cluster.read_spec() == before
    refused = drakit("cluster", "up", "--cluster", "binaries", code=1)
    assert "no other one can continue with them" in refused.stderr


def test_a_cluster_that_never_started_is_not_continued(drakit: Drakit, home: Path) -> None:
    """The options that made it fail are gone; it can be looked at and removed meanwhile."""
    programs = home / "programs" / "1.37.1"
    programs.mkdir(parents=True)
    for name in ("etcd", "kube-apiserver", "kube-controller-manager"):
        (programs / name).write_text("#!/bin/sh\nexit 1\n")
        (programs / name).chmod(0o755)
    broken = ["--cluster", "binaries", "--nodes", "0", "--no-scheduler", "--kubernetes-dir", str(programs.parent)]
    cluster = ClusterHome(home / "state" / "default")
    assert "cluster default did not start" in drakit("cluster", "up", *broken, code=1).stderr
    assert drakit("cluster", "status", code=1).stderr == (
        "Error: cluster default does not run; it was never ready: `drakit cluster logs` says why, and `drakit cluster "
        f"up`, each with the same --name or --data-dir, starts it anew ({cluster.directory})\n"
    )
    shown = drakit("cluster", "up", "--cluster", "embedded", "--nodes", "1", "--no-driver").stdout
    assert re.match(r"cluster default is ready after .*, 1 node\n", shown)
    assert "it continues" not in shown
    assert not cluster.never_ready.exists()
    drakit("cluster", "down")
    drakit("cluster", "up", *broken, code=1)
    drakit("cluster", "down")
    assert not cluster.directory.exists()


@pytest.mark.parametrize(
    "damaged",
    ["n/node-1/plugins/gpu.nvidia.com/checkpoint.json", "n/node-1/dra_manager_state", "store.sqlite"],
)
def test_a_damaged_file_is_one_line(drakit: Drakit, home: Path, damaged: str) -> None:
    options = ["--data-dir", str(home / "data")]
    drakit("cluster", "up", "--nodes", "1", "--driver", "a30", *options)
    drakit("cluster", "down", *options)
    file = home / "data" / damaged
    file.write_text("{")
    refused = drakit("cluster", "up", *options, code=1)
    assert refused.stderr.startswith("Error: cluster default did not start: ")
    assert str(file) in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_temporary_clusters_are_nobodys_to_take(drakit: Drakit, home: Path) -> None:
    temporary = ClusterHome(home / "state" / ".drakit-0")
    temporary.make()
    temporary.write_spec(ClusterSpec())
    assert "start one with `drakit cluster up`" in drakit("cluster", "status", code=1).stderr
    shutil.rmtree(temporary.directory)


def test_of_two_clusters_of_one_name_the_one_that_runs_keeps_its_context(drakit: Drakit, home: Path) -> None:
    for data in ("a", "b"):
        drakit("cluster", "up", "--nodes", "0", "--no-scheduler", "--data-dir", str(home / data))
    drakit("cluster", "down", "--data-dir", str(home / "a"))
    with Api(home / "config") as api:
        assert api.objects(NODES) == []
    drakit("cluster", "down", "--data-dir", str(home / "b"))
    assert not (home / "config").exists()


def test_the_status_says_which_version_runs_now(drakit: Drakit) -> None:
    drakit("cluster", "up", "--nodes", "0", "--no-scheduler")
    assert ", Kubernetes 1.37\n" in drakit("cluster", "status").stdout
    drakit("cluster", "restart", "apiserver", "--emulated-version", "1.36")
    assert ", Kubernetes 1.36 (started as 1.37.1)\n" in drakit("cluster", "status").stdout


def test_the_status_says_with_which_gates_each_component_runs_now(drakit: Drakit) -> None:
    drakit("cluster", "up", "--nodes", "0", "--feature-gates", "DRADeviceTaints=true")
    assert "\nfeature gates: DRADeviceTaints=true\nnodes:" in drakit("cluster", "status").stdout
    drakit("cluster", "restart", "scheduler", "--feature-gates", "DRAPartitionableDevices=false")
    assert (
        "\nfeature gates: DRADeviceTaints=true\n"
        "  scheduler was restarted as 1.37.1: DRAPartitionableDevices=false\n"
        "nodes:"
    ) in drakit("cluster", "status").stdout
    seen = json.loads(drakit("cluster", "status", "-o", "json").stdout)
    assert seen["state"] == "running"
    assert {name: each["featureGates"] for name, each in seen["components"].items()} == {
        "apiserver": {"DRADeviceTaints": True},
        "controllers": {"DRADeviceTaints": True},
        "scheduler": {"DRAPartitionableDevices": False},
    }
    drakit("cluster", "restart", "scheduler")
    assert "restarted" not in drakit("cluster", "status").stdout


def test_all_clusters_are_listed_also_those_that_ended(drakit: Drakit, home: Path) -> None:
    assert drakit("cluster", "list").stdout == ""
    for name in ("red", "blue"):
        drakit("cluster", "up", "--name", name, "--nodes", "0", "--no-scheduler", "--emulated-version", "1.36")
    killed = ClusterHome(home / "state" / "blue").running_pid()
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    assert ended(killed, seconds=10)
    (home / "state" / "damaged").mkdir()
    (home / "state" / "damaged" / "cluster.json").write_text("{")
    listed = json.loads(drakit("cluster", "list", "-o", "json").stdout)
    assert [(each["name"], each["state"], each["nodes"]) for each in listed] == [
        ("blue", "ended", 0),
        ("damaged", "damaged", None),
        ("red", "running", 0),
    ]
    assert listed[2]["url"].startswith("https://127.0.0.1:")
    assert all(0 <= each["age"] < 60 for each in listed)
    head, *rows = drakit("cluster", "list").stdout.splitlines()
    assert head.split() == ["NAME", "STATE", "VERSION", "NODES", "URL", "AGE"]
    assert [row.split()[0] for row in rows] == ["blue", "damaged", "red"]
    assert "1.37.1, emulating 1.36" in rows[2]
    shutil.rmtree(home / "state" / "damaged")


def test_a_followed_log_goes_on_until_the_cluster_ends(drakit: Drakit) -> None:
    drakit("cluster", "up", "--nodes", "0")
    with subprocess.Popen(command("cluster", "logs", "-f", "scheduler"), stdout=subprocess.PIPE, text=True) as follows:
        assert follows.stdout is not None
        assert any("scheduler started" in line for line in follows.stdout)
        drakit("cluster", "restart", "scheduler")
        assert any("scheduler restarted" in line for line in follows.stdout)
        drakit("cluster", "down")
        assert follows.wait(30) == 0


@pytest.mark.usefixtures("signals_heard")
def test_ctrl_c_ends_a_followed_log_in_silence(drakit: Drakit) -> None:
    drakit("cluster", "up", "--nodes", "0")
    follow = command("cluster", "logs", "-f", "apiserver")
    with subprocess.Popen(follow, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as follows:
        assert follows.stdout is not None
        assert "apiserver started" in follows.stdout.readline()
        follows.send_signal(signal.SIGINT)
        _, errors = follows.communicate(timeout=30)
    assert (follows.returncode, errors) == (130, "")


def test_a_kubeconfig_that_cannot_be_added_to_is_found_before_anything_starts(drakit: Drakit, home: Path) -> None:
    (home / "config").write_text("- not a kubeconfig\n")
    assert "is not a kubeconfig, so nothing was added to it" in drakit("cluster", "up", code=1).stderr
    assert not (home / "state").exists()
    (home / "config").unlink()


def test_a_port_in_use_is_one_line_and_leaves_nothing_behind(drakit: Drakit, home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = drakit("cluster", "up", "--nodes", "0", "--no-scheduler", "--port", port, code=1)
    assert refused.stderr == f"Error: port {port} of 127.0.0.1: Address already in use; name another with --port\n"
    assert not (home / "state").exists()
    # It is free now.
    drakit("cluster", "up", "--nodes", "0", "--no-scheduler", "--port", port)


@pytest.mark.parametrize("directory", ["file/data", "file/data/deeper"])
def test_a_data_dir_that_cannot_be_made_is_one_line(drakit: Drakit, home: Path, directory: str) -> None:
    (home / "file").write_text("not a directory")
    refused = drakit("cluster", "up", "--nodes", "0", "--data-dir", str(home / directory), code=1)
    assert refused.stderr == f"Error: {home / directory}: Not a directory\n"


def test_a_cluster_that_cannot_be_told_to_kubectl_does_not_stay(drakit: Drakit, home: Path) -> None:
    """The check before the start cannot know everything: here the name of the kubeconfig is too long."""
    name = home / ("x" * 250)
    refused = drakit("cluster", "up", "--nodes", "0", "--no-scheduler", "--kubeconfig", str(name), code=1)
    assert "File name too long" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert "does not run" in drakit("cluster", "status", code=1).stderr


def test_a_long_directory_for_temporary_files_is_no_obstacle(drakit: Drakit, home: Path) -> None:
    directory = home / ("t" * 100)
    directory.mkdir()
    drakit("cluster", "up", "--nodes", "1", "--no-driver", environment={"TMPDIR": str(directory)})


def test_down_ends_a_cluster_whose_kubeconfig_was_damaged_meanwhile(drakit: Drakit, home: Path) -> None:
    drakit("cluster", "up", "--nodes", "0", "--no-scheduler")
    (home / "config").write_text("- not a kubeconfig\n")
    ended = drakit("cluster", "down", code=1)
    assert "cluster default is stopped" in ended.stdout
    assert ended.stderr.startswith(f"Error: its entries stay in a kubeconfig: {home / 'config'}")
    assert list((home / "state").iterdir()) == []
    assert (home / "config").read_text() == "- not a kubeconfig\n"


def test_a_second_up_of_the_same_name_changes_nothing(drakit: Drakit, home: Path) -> None:
    drakit("cluster", "up", "--nodes", "1", "--no-driver")
    before = (home / "config").read_bytes()
    refused = drakit("cluster", "up", code=1)
    assert refused.stderr == "Error: cluster default is running already; see `drakit cluster status`\n"
    drakit("cluster", "up", "--nodes", "0", "--no-scheduler", "--name", "red", "--kubeconfig", str(home / "red"))
    assert "see `drakit cluster status --name red`\n" in drakit("cluster", "up", "--name", "red", code=1).stderr
    assert (home / "config").read_bytes() == before
    assert "1 of 1 ready" in drakit("cluster", "status").stdout


@pytest.mark.parametrize("arguments", [[], ["cluster"], ["cluster", "up"], ["driver"], ["driver", "run"], ["demo"]])
def test_help_teaches_with_an_example(drakit: Drakit, arguments: list[str]) -> None:
    shown = drakit(*arguments, "--help").stdout
    assert "drakit " in shown.partition("\n\n")[2]


def test_down_leaves_alone_what_somebody_is_just_starting(drakit: Drakit, home: Path) -> None:
    drakit("cluster", "up", "--nodes", "0", "--no-scheduler")
    cluster = ClusterHome(home / "state" / "default")
    with cluster.starting():
        refused = drakit("cluster", "down", code=1)
    assert refused.stderr == (
        f"Error: {cluster.directory}: another process is just starting this cluster, or removing it; try again when it "
        "is done\n"
    )
    assert "Kubernetes 1.37" in drakit("cluster", "status").stdout


def test_an_up_that_is_told_to_end_leaves_no_cluster_behind(drakit: Drakit, home: Path) -> None:
    """Its cluster takes long to start: an etcd that never answers."""
    programs = home / "programs" / "1.37.1"
    programs.mkdir(parents=True)
    for name in ("etcd", "kube-apiserver", "kube-controller-manager"):
        (programs / name).write_text(f"#!/bin/sh\necho $$ >{home}/etcd.pid\nexec sleep 1000\n")
        (programs / name).chmod(0o755)
    options = ["--cluster", "binaries", "--no-scheduler", "--nodes", "0", "--kubernetes-dir", str(programs.parent)]
    with subprocess.Popen(command("cluster", "up", *options), stderr=subprocess.PIPE, text=True) as up:
        assert appears(home / "etcd.pid", seconds=60)
        cluster = ClusterHome(home / "state" / "default").running_pid()
        assert cluster is not None
        up.terminate()
        assert up.wait(60) == 130
    assert ended(cluster, seconds=0)
    assert ended(int((home / "etcd.pid").read_text()), seconds=0)
    assert not (home / "config").exists()
    assert ClusterHome(home / "state" / "default").never_ready.exists()
