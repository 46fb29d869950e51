"""``drakit get devices``: what people and scripts see of the devices of files or of a cluster."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from drakit_allocator.cli.get_command import get
from drakit_allocator.installation import until_served
from drakit_api.features import PATCHES_GATE, FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.slice_patches import definition
from drakit_client.connection import Connection
from drakit_client.resources import (
    DEVICE_TAINT_RULES,
    NODES,
    RESOURCE_SLICE_PATCHES,
    RESOURCE_SLICES,
)
from drakit_embedded.apiserver import Server, ServerConfig
from tests.allocator import kubeconfigs

_GPU, _NIC = "gpu.example.com", "nic.example.com"
_FAN = {"key": "example.com/fan", "value": "broken", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}


def _slice(name: str, driver: str, pool: str, devices: list[Object], generation: int = 1, **place: Any) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": driver,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": 1},
            **(place or {"nodeName": pool}),
            "devices": devices,
        },
    }


def _gpu(number: int, tier: str) -> Object:
    return {
        "name": f"gpu-{number}",
        "attributes": {"tier": {"string": tier}, "model": {"string": "A 100"}, "uuid": {"string": f"GPU-{number:016}"}},
        "capacity": {"memory": {"value": "40Gi"}, "engines": {"value": "7"}},
    }


def _patch(name: str, wanted: Object, priority: int = 0, **says: Any) -> Object:
    return {
        "apiVersion": "resource.drakit.dev/v1alpha3",
        "kind": "ResourceSlicePatch",
        "metadata": {"name": name},
        "spec": {"devices": {"filter": wanted, "priority": priority, **says}},
    }


def _claim(name: str, *results: Object) -> Object:
    asks = {"deviceClassName": "any"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": asks}]}},
        "status": {"allocation": {"devices": {"results": list(results)}}},
    }


def _held(device: str, driver: str = _GPU, pool: str = "n1", **more: Any) -> Object:
    return {"request": "r", "driver": driver, "pool": pool, "device": device, **more}


_HOSTS = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1", "n2"]}
_NETWORK: Object = {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [_HOSTS]}]}}
_SLICES = [
    _slice("gpus-1", _GPU, "n1", [_gpu(0, "silver"), _gpu(1, "bronze")]),
    _slice("gpus-2", _GPU, "n2", [{**_gpu(2, "silver"), "taints": [_FAN]}]),
    _slice("nics", _NIC, "rack", [{"name": "nic-0"}], **_NETWORK),
    _slice("old", _NIC, "rack", [{"name": "gone"}], generation=0, **_NETWORK),
    _slice("everywhere", _NIC, "all", [{"name": "nic-1"}], allNodes=True),
]
_CLAIMS = [
    _claim("train", _held("gpu-0"), _held("nic-0", _NIC, "rack")),
    _claim("monitor", _held("gpu-0", adminAccess=True)),
]
_GILDED = _patch("gilded", {"pool": "n1"}, attributes={f"{_GPU}/tier": {"string": "gold"}})
_RETIRED = _patch(
    "retired",
    {"driver": _GPU, "device": "gpu-1"},
    priority=1,
    attributes={f"{_GPU}/tier": {"null": {}}},
    capacity={f"{_GPU}/memory": {"value": "0"}},
    taints=[{"key": "example.com/retired", "effect": "NoExecute"}],
)
_PATCHES = [_GILDED, _RETIRED]


class _Files:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "objects.yaml"

    def get(self, *options: str, objects: list[Object] | None = None) -> Result:
        every = [*_SLICES, *_CLAIMS, *_PATCHES] if objects is None else objects
        self._path.write_text(yaml.safe_dump_all(json.loads(json.dumps(every))))
        return CliRunner().invoke(get, ["devices", "-f", str(self._path), *options])

    def names(self, *options: str) -> list[str]:
        return self.get("-o", "name", *options).stdout.split()

    def documents(self, *options: str, form: str = "json") -> dict[str, Object]:
        text = self.get("-o", form, *options).stdout
        loaded = json.loads(text) if form == "json" else yaml.safe_load(text)
        return {one["device"]: one for one in loaded["devices"]}


@pytest.fixture
def files(tmp_path: Path) -> _Files:
    return _Files(tmp_path)


def _table(text: str) -> list[list[str]]:
    return [re.split(r" {2,}", line) for line in text.splitlines()]


def test_devices_are_listed_as_published_with_their_claims(files: _Files) -> None:
    result = files.get()
    assert result.exit_code == 0
    taint = "example.com/fan=broken:NoSchedule"
    assert _table(result.stdout) == [
        ["DRIVER", "POOL", "DEVICE", "NODE", "ATTRIBUTES", "CAPACITY", "TAINTS", "CLAIMS"],
        [_GPU, "n1", "gpu-0", "n1", 'tier=silver,model="A 100",+1', "memory=40Gi,+1", "-", "team/train,+1"],
        [_GPU, "n1", "gpu-1", "n1", 'tier=bronze,model="A 100",+1', "memory=40Gi,+1", "-", "-"],
        [
            _GPU,
            "n2",
            "gpu-2",
            "n2",
            'tier=silver,model="A 100",+1',
            "memory=40Gi,+1",
            taint,
            "-",
        ],
        [_NIC, "all", "nic-1", "<all>", "-", "-", "-", "-"],
        [_NIC, "rack", "nic-0", "n1,n2", "-", "-", "-", "team/train"],
    ]
    assert result.stderr == "2 of 5 devices have patches that apply; --patched shows what they change\n"


def test_patched_shows_what_each_patch_changes_the_strongest_first(files: _Files) -> None:
    result = files.get("--patched", "--pool", "n1")
    header, first, second = _table(result.stdout)
    assert header[-1] == "PATCHES"
    assert first[4:] == [
        'tier=gold,model="A 100",+1',
        "memory=40Gi,+1",
        "-",
        "team/train,+1",
        "gilded(tier=gold)",
    ]
    assert second[4:6] == ['model="A 100",+1', "memory=0,engines=7"]
    assert second[-1] == "retired(-tier,memory=0,1 more) gilded(tier:overridden)"
    assert result.stderr == ""


def test_wide_leaves_less_out(files: _Files) -> None:
    header, first, _ = files.get("--patched", "--pool", "n1", "-o", "wide").stdout.splitlines()
    assert 'tier=gold,model="A 100",uuid=GPU-0000000000000000  memory=40Gi,engines=7' in first
    assert "team/train,team/monitor(admin)" in first
    assert header.split()[-1] == "PATCHES"


@pytest.mark.parametrize(
    ("options", "names"),
    [
        pytest.param((), ["gpu-0", "gpu-1", "gpu-2", "nic-1", "nic-0"], id="all"),
        pytest.param(("--driver", _NIC), ["nic-1", "nic-0"], id="a driver"),
        pytest.param(("--driver", _NIC, "--driver", _GPU, "--pool", "n2"), ["gpu-2"], id="two drivers and a pool"),
        pytest.param(("--node", "n2"), ["gpu-2", "nic-1", "nic-0"], id="a node"),
        pytest.param(("--node", "n3"), ["nic-1"], id="a node without devices of its own"),
        pytest.param(("--patch", "retired"), ["gpu-1"], id="a patch"),
        pytest.param(("--patched", "--patch", "gilded", "--pool", "n1"), ["gpu-0", "gpu-1"], id="a patch, merged"),
        pytest.param(("--patch", "gilded", "--node", "n2"), [], id="a patch that does not apply there"),
    ],
)
def test_options_choose_devices(files: _Files, options: tuple[str, ...], names: list[str]) -> None:
    assert [name.rpartition("/")[2] for name in files.names(*options)] == names


def test_a_node_that_is_there_is_known_by_its_labels(files: _Files) -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    device = {"name": "d", "nodeSelector": {"nodeSelectorTerms": [term]}}
    one = _slice("zonal", _NIC, "zonal", [device, {"name": "e", "nodeName": "n2"}], perDeviceNodeSelection=True)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "a"}}}
    result = files.get("--node", "n1", objects=[one, node])
    assert [row[2:4] for row in _table(result.stdout)[1:]] == [["d", "<selector>"]]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_scripts_get_everything(files: _Files, form: str) -> None:
    found = files.documents("--patched", form=form)
    assert found["gpu-1"] == {
        "driver": _GPU,
        "pool": "n1",
        "device": "gpu-1",
        "slice": "gpus-1",
        "nodeName": "n1",
        "attributes": {"model": {"string": "A 100"}, "uuid": {"string": "GPU-0000000000000001"}},
        "capacity": {"memory": {"value": "0"}, "engines": {"value": "7"}},
        "taints": [{"key": "example.com/retired", "effect": "NoExecute", "source": "patch", "name": "retired"}],
        "patches": [
            {
                "name": "retired",
                "attributes": {f"{_GPU}/tier": {"null": {}}},
                "capacity": {f"{_GPU}/memory": {"value": "0"}},
                "taints": [{"key": "example.com/retired", "effect": "NoExecute"}],
            },
            {"name": "gilded", "overridden": [f"{_GPU}/tier"]},
        ],
    }
    assert found["gpu-2"]["taints"] == [{**_FAN, "source": "slice"}]
    assert found["nic-0"]["nodeSelector"] == _NETWORK["nodeSelector"]
    assert found["nic-1"]["allNodes"] is True


def test_scripts_get_devices_as_published_without_the_option(files: _Files) -> None:
    found = files.documents()
    assert found["gpu-1"]["attributes"]["tier"] == {"string": "bronze"}
    assert {"taints", "patches"}.isdisjoint(found["gpu-1"])
    assert found["gpu-0"]["claims"] == [
        {"claim": "team/train", "request": "r"},
        {"claim": "team/monitor", "request": "r", "adminAccess": True},
    ]
    assert found["gpu-2"]["taints"] == [_FAN]


def test_taints_of_rules_are_part_of_what_a_scheduler_sees(files: _Files) -> None:
    spec = {"deviceSelector": {"device": "gpu-0"}, "taint": _FAN}
    rule = {"apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceTaintRule", "metadata": {"name": "ours"}}
    objects = [*_SLICES, {**rule, "spec": spec}]
    patched = json.loads(files.get("--patched", "-o", "json", objects=objects).stdout)["devices"][0]
    assert patched["taints"] == [{**_FAN, "source": "rule", "name": "ours"}]
    published = json.loads(files.get("-o", "json", objects=objects).stdout)["devices"][0]
    assert "taints" not in published


def test_patches_that_do_not_work_are_told(files: _Files) -> None:
    lost = _patch("lost", {"deviceClassName": "nowhere"}, attributes={f"{_GPU}/tier": {"string": "x"}})
    told = "patch lost applies to no device: there is no DeviceClass nowhere\n"
    assert files.get("--patched", objects=[*_SLICES, lost]).stderr == told
    only = files.get("--patch", "lost", objects=[*_SLICES, lost])
    assert (only.exit_code, only.stdout) == (0, "")
    assert only.stderr == f"no devices found; 5 are there without these options\n{told}"


_TIER = {f"{_GPU}/tier": {"string": "x"}}


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        pytest.param(
            {"driver": "gpu.exmaple.com"},
            f": no slice is of driver gpu.exmaple.com; there are {_GPU}, {_NIC}",
            id="a driver that nobody is",
        ),
        pytest.param({"pool": "n7"}, ": there is no pool n7; there are all, n1, n2, rack", id="a pool"),
        pytest.param(
            {"driver": _NIC, "pool": "n1"}, f": driver {_NIC} has no pool n1; there are all, rack", id="one of others"
        ),
        pytest.param(
            {"device": "gpu-9"}, ": no device there is called gpu-9; similar: gpu-0, gpu-1 and gpu-2", id="a device"
        ),
        pytest.param({"driver": _NIC, "device": "gpu-1"}, ": no device there is called gpu-1", id="of another driver"),
        pytest.param({"device": "gone"}, "", id="one of an older generation"),
    ],
)
def test_a_chosen_patch_that_applies_to_nothing_says_which_name_is_nobodys(
    files: _Files, wanted: Object, why: str
) -> None:
    lost = _patch("lost", {"deviceClassName": "nowhere"}, attributes=_TIER)
    result = files.get(
        "--patched", "--patch", "typo", objects=[*_SLICES, lost, _patch("typo", wanted, attributes=_TIER)]
    )
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == (
        f"no devices found; 5 are there without these options\npatch typo applies to no device{why}\n"
    )


def test_misspelt_names_are_told_whatever_patches_are_asked_for(files: _Files) -> None:
    typos = [_patch(f"typo-{number}", {"driver": "nobody"}, attributes=_TIER) for number in range(10)]
    idle = _patch("waiting", {"device": "gpu-9"}, attributes=_TIER)
    lines = files.get("--patched", objects=[*_SLICES, idle, *typos]).stderr.splitlines()
    assert lines[0] == f"patch typo-0 applies to no device: no slice is of driver nobody; there are {_GPU}, {_NIC}"
    assert (len(lines), lines[-1]) == (9, "... and 2 more notes on patches")


@pytest.mark.parametrize("options", [(), ("--patch", "list")])
def test_what_a_patch_says_in_vain_names_the_gate(files: _Files, options: tuple[str, ...]) -> None:
    listing = _patch("list", {"driver": _GPU}, attributes={f"{_GPU}/tiers": {"strings": ["x"]}})
    gate = "DRAListTypeAttributes"
    result = files.get("--patched", *options, "--feature-gates", f"{gate}=false", objects=[*_SLICES, listing])
    assert result.stderr == f"patch list says lists in vain: they need the feature gate {gate}, which is off\n"


def test_a_class_without_spec_is_one_without_selectors(files: _Files) -> None:
    every = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "every"}}
    patch = _patch("p", {"deviceClassName": "every"}, attributes=_TIER)
    result = files.get("--patched", "--patch", "p", "-o", "name", objects=[*_SLICES, every, patch])
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 5)


def test_a_patch_that_applies_elsewhere_is_not_said_to_do_nothing(files: _Files) -> None:
    result = files.get("--patch", "gilded", "--driver", _NIC)
    assert result.stderr == "no devices found; 5 are there without these options\n"


def test_a_patch_that_changes_nothing_still_has_devices(files: _Files) -> None:
    idle = _patch("idle", {"selectors": [{"cel": {"expression": f'device.attributes["{_GPU}"].tier == "silver"'}}]})
    wanted = {**idle["spec"]["devices"]["filter"], "driver": _GPU}
    idle["spec"]["devices"]["filter"] = wanted
    result = files.get("--patch", "idle", "-o", "name", objects=[*_SLICES, idle])
    assert result.stdout.split() == [f"{_GPU}/n1/gpu-0", f"{_GPU}/n2/gpu-2"]
    assert result.stderr == "patch idle says nothing of the devices to which it applies\n"


def test_that_there_are_no_devices_is_told(files: _Files) -> None:
    only = files.get("--driver", "x", objects=_SLICES[1:2])
    assert only.stderr == "no devices found; 1 is there without these options\n"
    result = files.get(objects=[_claim("train")])
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "no devices found\n")
    assert json.loads(files.get("-o", "json", objects=[_claim("train")]).stdout) == {"devices": []}


@pytest.mark.parametrize(
    ("options", "code", "error"),
    [
        pytest.param(("--patch", "x"), 1, "there is no ResourceSlicePatch x; there are gilded, retired", id="a patch"),
        pytest.param(("--kubeconfig", "x"), 2, "-f and --kubeconfig exclude each other", id="files and a cluster"),
        pytest.param(("-f", "no-such-file"), 2, "no-such-file: No such file", id="a file"),
        pytest.param(("--feature-gates", "X=true"), 2, "unrecognized feature gate: X", id="a gate"),
    ],
)
def test_what_cannot_be_done_is_said(files: _Files, options: tuple[str, ...], code: int, error: str) -> None:
    result = files.get(*options)
    assert result.exit_code == code
    assert error in result.stderr
    assert result.stdout == ""


def test_names_in_both_forms_and_large_lists(files: _Files) -> None:
    """A device that publishes a name with and without the domain, and lists."""
    both = {"memory": {"value": "1Gi"}, f"{_GPU}/memory": {"value": "1Gi"}}
    attributes = {"tags": {"strings": ["a b", "c"]}, "on": {"bool": True}, "version": {"version": "1.2.3"}}
    one = _slice("s", _GPU, "n1", [{"name": "d", "attributes": attributes, "capacity": both}])
    line = files.get("-o", "wide", objects=[one]).stdout.splitlines()[1]
    assert 'on=true,version=1.2.3,tags=["a b" c]  memory=1Gi,memory=1Gi' in line


class _Cluster:
    def __init__(self, server: Server, api: Connection, kubeconfig: Path) -> None:
        self.api = api
        self._kubeconfig = kubeconfig
        kubeconfigs.write(kubeconfig, server.url, server.token)

    async def get(self, *options: str) -> Result:
        command = ["devices", "--kubeconfig", str(self._kubeconfig), *options]
        return await asyncio.to_thread(CliRunner().invoke, get, command)


@asynccontextmanager
async def _running(folder: Path, gates: FeatureGates) -> AsyncIterator[_Cluster]:
    async with Server(ServerConfig(gates=gates)) as server, Connection(server.url, token=server.token) as api:
        for name in ("n1", "n2"):
            await api.create(NODES, {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
        for one in _SLICES:
            await api.create(RESOURCE_SLICES, one)
        yield _Cluster(server, api, folder / "kubeconfig")


_NOT_INSTALLED = "the kind ResourceSlicePatch is not installed: drakit install patches installs it\n"


async def test_devices_of_a_cluster_that_has_no_patches(tmp_path: Path) -> None:
    async with _running(tmp_path, FeatureGates()) as cluster:
        result = await cluster.get("--node", "n2")
        assert [row[2] for row in _table(result.stdout)[1:]] == ["gpu-2", "nic-1", "nic-0"]
        assert (result.exit_code, result.stderr) == (0, "")
        patched = await cluster.get("--patched")
        assert (patched.exit_code, patched.stderr) == (0, _NOT_INSTALLED)
        unknown = await cluster.get("--node", "n9")
        assert (unknown.exit_code, unknown.stderr) == (1, "Error: there is no Node n9; there are n1, n2\n")
        unknown = await cluster.get("--patch", "x")
        assert unknown.stderr == (
            f"{_NOT_INSTALLED}Error: there is no ResourceSlicePatch x; there is no ResourceSlicePatch at all\n"
        )


async def test_devices_of_a_cluster_with_patches(tmp_path: Path) -> None:
    async with _running(tmp_path, FeatureGates(overrides={PATCHES_GATE: True})) as cluster:
        await until_served(cluster.api, definition.definition(), 10)
        await cluster.api.create(RESOURCE_SLICE_PATCHES, _RETIRED)
        rule = {"metadata": {"name": "ours"}, "spec": {"deviceSelector": {"device": "gpu-1"}, "taint": _FAN}}
        await cluster.api.create(DEVICE_TAINT_RULES, rule)
        assert (await cluster.get()).stderr == "1 device has patches that apply; --patched shows what they change\n"
        (patched,) = json.loads((await cluster.get("--patch", "retired", "--patched", "-o", "json")).stdout)["devices"]
        assert "tier" not in patched["attributes"]
        assert [(one["source"], one["name"]) for one in patched["taints"]] == [("rule", "ours"), ("patch", "retired")]
