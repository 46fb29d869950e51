"""What `drakit cluster up` starts: what its options say, and of a cluster that is continued all that they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drakit_kind.cli.cluster.up_options import spec_of
from drakit_kind.cluster import ClusterError, ClusterSpec, DriverSpec
from drakit_kind.clusters.home import ClusterHome

NODES = ["node-1", "node-2"]
BEFORE = ClusterSpec(
    name="red",
    version="1.36.3",
    emulated_version="1.35",
    gates={"DRAPartitionableDevices": True},
    runtime_config={"resource.k8s.io/v1beta1": "true"},
    nodes=NODES,
    drivers=[DriverSpec(profile="a30", nodes=["node-2"])],
    real=frozenset({"scheduler"}),
    kubernetes_dir="/programs",
    scheduler=True,
    port=4321,
    token="t",
    tls=True,
)


@pytest.fixture
def home(tmp_path: Path) -> ClusterHome:
    made = ClusterHome(tmp_path / "red")
    made.write_spec(BEFORE)
    return made


def _continued(home: ClusterHome, **named: Any) -> ClusterSpec:
    return spec_of({"name": "default", "version": "1.37.1", "nodes": 5, **named}, named, home)


def _drivers(spec: ClusterSpec) -> list[tuple[str, list[str]]]:
    return [(driver.profile, list(driver.nodes)) for driver in spec.drivers]


def test_what_is_not_named_is_as_it_was(home: ClusterHome) -> None:
    assert _continued(home) == home.read_spec()


@pytest.mark.parametrize(
    ("option", "value", "field", "result"),
    [
        ("name", "blue", "name", "blue"),
        ("version", "1.37.1", "version", "1.37.1"),
        ("emulated_version", "1.36", "emulated_version", "1.36"),
        ("feature_gates", "DRADeviceTaints=false", "gates", {"DRADeviceTaints": False}),
        ("feature_gates", "", "gates", {}),
        ("runtime_config", "", "runtime_config", {}),
        ("nodes", 3, "nodes", ["node-1", "node-2", "node-3"]),
        ("real", "controllers", "real", {"controllers"}),
        ("backend", "embedded", "real", set()),
        ("kubernetes_dir", Path("/others"), "kubernetes_dir", "/others"),
        ("drivers", ["h100-80gb"], "drivers", [DriverSpec(profile="h100-80gb", nodes=NODES)]),
        ("no_driver", True, "drivers", []),
        ("scheduler", False, "scheduler", False),
        ("port", 1234, "port", 1234),
        ("token", "other", "token", "other"),
    ],
)
def test_what_is_named_changes(home: ClusterHome, option: str, value: object, field: str, result: object) -> None:
    if option == "scheduler":  # which would otherwise be Kubernetes' own
        home.write_spec(ClusterSpec(nodes=NODES))
    assert getattr(_continued(home, **{option: value}), field) == result


def test_the_directory_of_programs_goes_with_the_last_of_them(home: ClusterHome) -> None:
    assert _continued(home, backend="embedded").kubernetes_dir is None


def test_default_drivers_are_those_of_all_nodes_that_there_are_now(home: ClusterHome) -> None:
    home.write_spec(spec_of({"nodes": 2}, {}, ClusterHome(home.directory / "none")))
    assert _drivers(_continued(home)) == [("dgx-a100", NODES)]
    assert _drivers(_continued(home, nodes=1)) == [("dgx-a100", ["node-1"])]
    home.write_spec(spec_of({"nodes": 2, "no_driver": True}, {}, ClusterHome(home.directory / "none")))
    assert _drivers(_continued(home, nodes=1)) == []


def test_a_driver_that_was_on_each_node_is_on_each_node_that_there_is_now(home: ClusterHome) -> None:
    home.write_spec(spec_of({"nodes": 2, "drivers": ["a30"]}, {}, ClusterHome(home.directory / "none")))
    assert _drivers(_continued(home, nodes=3)) == [("a30", ["node-1", "node-2", "node-3"])]
    assert _drivers(_continued(home, nodes=1)) == [("a30", ["node-1"])]
    home.write_spec(BEFORE)
    assert _drivers(_continued(home, nodes=3)) == [("a30", ["node-2"])]


def test_a_driver_that_cannot_be_on_more_nodes_stays_on_those_it_had(home: ClusterHome) -> None:
    four = [f"node-{number}" for number in range(1, 5)]
    home.write_spec(spec_of({"nodes": 4, "drivers": ["tpu-v6e-4x4"]}, {}, ClusterHome(home.directory / "none")))
    assert _drivers(_continued(home, nodes=5)) == [("tpu-v6e-4x4", four)]


def test_what_was_never_ready_is_not_continued(home: ClusterHome) -> None:
    """Its options may be why it did not start, and there are no objects that an API server could lose."""
    home.write_spec(ClusterSpec(name="red", real=frozenset({"apiserver", "controllers"}), token="t"))
    home.never_ready.touch()
    options = {"name": "red", "nodes": 1, "backend": "embedded", "token": None}
    fresh = spec_of(options, {"backend": "embedded"}, home)
    assert fresh == spec_of(options, {}, ClusterHome(home.directory / "none"))


@pytest.mark.parametrize(
    ("before", "named", "whose"),
    [
        (frozenset(), {"backend": "binaries"}, "drakit's own"),
        (frozenset(), {"real": "apiserver,controllers"}, "drakit's own"),
        (frozenset({"apiserver", "controllers"}), {"backend": "embedded"}, "Kubernetes' own"),
        (frozenset({"apiserver", "controllers"}), {"real": "scheduler"}, "Kubernetes' own"),
    ],
)
def test_another_api_server_cannot_continue(
    home: ClusterHome, monkeypatch: pytest.MonkeyPatch, before: frozenset[Any], named: dict[str, Any], whose: str
) -> None:
    home.write_spec(ClusterSpec(name="red", real=before, nodes=NODES))
    says = f"objects of cluster red in {home.directory} are those of {whose} API server"
    with pytest.raises(ClusterError, match=rf"{says}.* or name another --data-dir$"):
        _continued(home, **named)
    monkeypatch.setenv("DRAKIT_HOME", str(home.directory.parent))
    with pytest.raises(ClusterError, match=rf"{says}.* `drakit cluster down --name red`, or give another --name$"):
        _continued(home, **named)


def test_a_driver_and_none_are_refused_together(tmp_path: Path) -> None:
    named = {"drivers": ["a30"], "no_driver": True}
    with pytest.raises(ClusterError, match="--no-driver: with --driver there is one; leave one of them out"):
        spec_of({"nodes": 1, **named}, named, ClusterHome(tmp_path))


def test_drivers_on_more_nodes_than_were_ever_tried_are_refused(tmp_path: Path) -> None:
    home = ClusterHome(tmp_path)
    assert spec_of({"nodes": 1000}, {}, home).driven_nodes == 1000
    assert spec_of({"nodes": 5000, "no_driver": True}, {}, home).driven_nodes == 0
    with pytest.raises(ClusterError, match=r"--nodes 1001: drivers would run on 1001, .* 1000 .* --no-driver"):
        spec_of({"nodes": 1001}, {}, home)
