"""``drakit allocate -f``: files from anywhere in, devices or reasons out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from drakit_allocator.cli.allocate_command import allocate
from drakit_allocator.inputs.placement import Placed, Placement, Workload
from drakit_api.kubernetes_objects import Object

_NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1", "labels": {"zone": "a"}}}
_CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]},
}


def _slice(node: str = "node-1", devices: int = 2, **spec: Any) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"slice-{node}"},
        "spec": {
            "driver": "gpu.example.com",
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "nodeName": node,
            "devices": [{"name": f"d{number}"} for number in range(devices)],
            **spec,
        },
    }


def _claim(name: str, count: int = 1, device_class: str = "gpu") -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {
            "devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": device_class, "count": count}}]}
        },
    }


def _pod(name: str, *claims: Object, **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "uid": f"uid-of-{name}"},
        "spec": {"containers": [], "resourceClaims": list(claims), **spec},
    }


class _Files:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0

    def write(self, *objects: Object) -> str:
        self._number += 1
        path = self._folder / f"file-{self._number}.yaml"
        path.write_text(yaml.safe_dump_all(json.loads(json.dumps(objects))))
        return str(path)

    def allocate(self, *objects: Object, options: tuple[str, ...] = ()) -> Result:
        return CliRunner().invoke(allocate, ["-f", self.write(*objects), *options])


@pytest.fixture
def files(tmp_path: Path) -> _Files:
    return _Files(tmp_path)


def _items(result: Result) -> dict[str, Object]:
    return {item["metadata"]["name"]: item for item in json.loads(result.stdout)["items"]}


def _devices(claim: Object) -> list[str]:
    return [result["device"] for result in claim["status"]["allocation"]["devices"]["results"]]


@pytest.mark.slow
def test_claims_get_devices_one_after_the_other(files: _Files) -> None:
    result = files.allocate(_NODE, _slice(), _CLASS, _claim("one"), _claim("two"))
    assert result.exit_code == 0
    assert result.stdout == (
        "CLAIM        NODE    REQUEST  DEVICE\n"
        "default/one  node-1  r        gpu.example.com/node-1/d0\n"
        "default/two  node-1  r        gpu.example.com/node-1/d1\n"
    )


def test_what_does_not_fit_is_an_exit_status_and_a_reason(files: _Files) -> None:
    result = files.allocate(_NODE, _slice(), _CLASS, _claim("all", 2), _claim("one-more"))
    assert result.exit_code == 1
    assert result.stdout.endswith(
        "\nclaim default/one-more does not fit on node-1\n"
        "  node-1: request r: 2 devices: 2 are in use (d0 by default/all)\n"
    )


def test_with_explain_it_says_what_would_help(files: _Files) -> None:
    objects = (_NODE, _slice(), _CLASS, _claim("all", 2), _claim("one-more"))
    result = files.allocate(*objects, options=("--explain",))
    assert result.exit_code == 1
    assert result.stdout.partition("\n\n")[2] == (
        "default/one-more: does not fit on node-1\n\n"
        "node-1: does not fit\n"
        "  request r: 1 wanted, 0 of 2 devices can be used: not enough\n"
        "    2 are in use\n"
        "        d0, d1 by default/all\n"
        "  would help: release default/all\n"
    )
    said = json.loads(files.allocate(*objects, options=("--explain", "-o", "json")).stdout)
    assert [one["best"] for one in said["explanations"]] == [[{"kind": "release", "claims": ["default/all"]}]]


def test_the_output_is_input_again(files: _Files, tmp_path: Path) -> None:
    first = files.allocate(_NODE, _slice(), _CLASS, _claim("one"), options=("-o", "yaml"))
    allocated = tmp_path / "allocated.yaml"
    allocated.write_text(first.stdout)
    again = files.write(_NODE, _slice(), _CLASS, _claim("one"), _claim("two"))
    result = CliRunner().invoke(allocate, ["-f", again, "-f", str(allocated), "-o", "json"])
    assert {name: _devices(claim) for name, claim in _items(result).items()} == {"one": ["d0"], "two": ["d1"]}
    assert "ResourceClaim default/one of" in result.stderr


def test_older_versions_lists_and_standard_input() -> None:
    old_claim = {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceClaim",
        "metadata": {"name": "old"},
        "spec": {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu"}]}},
    }
    old_slice = _slice()
    old_slice["apiVersion"] = "resource.k8s.io/v1beta1"
    old_slice["spec"]["devices"] = [{"name": "d", "basic": {}}]
    untyped = {key: value for key, value in _CLASS.items() if key not in ("kind", "apiVersion")}
    typed = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClassList", "items": [untyped]}
    listed = {"apiVersion": "v1", "kind": "List", "items": [old_claim, old_slice, _NODE]}
    text = yaml.safe_dump_all(json.loads(json.dumps([listed, typed])))
    result = CliRunner().invoke(allocate, ["-f", "-", "-o", "json"], input=text)
    assert result.exit_code == 0
    assert _devices(_items(result)["old"]) == ["d"]


def test_all_claims_of_a_pod_are_on_one_node(files: _Files) -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "template"},
        "spec": {"spec": _claim("x")["spec"]},
    }
    references = [{"name": "a", "resourceClaimName": "own"}, {"name": "b", "resourceClaimTemplateName": "template"}]
    nodes = [{**_NODE, "metadata": {"name": f"node-{number}"}} for number in (1, 2)]
    slices = [_slice("node-1", 1), _slice("node-2", 2)]
    result = files.allocate(
        *nodes, *slices, _CLASS, template, _claim("own"), _pod("pod", *references), options=("-o", "json")
    )
    assert result.exit_code == 0
    claims = _items(result)
    assert {name: _devices(claim) for name, claim in claims.items()} == {"own": ["d0"], "pod-b": ["d1"]}
    assert claims["own"]["status"]["reservedFor"] == [{"resource": "pods", "name": "pod", "uid": "uid-of-pod"}]
    pools = {one["pool"] for claim in claims.values() for one in claim["status"]["allocation"]["devices"]["results"]}
    assert pools == {"node-2"}


def test_a_pod_goes_only_where_it_may(files: _Files) -> None:
    pod = _pod("pod", {"name": "a", "resourceClaimName": "one"}, nodeSelector={"zone": "b"})
    result = files.allocate(_NODE, _slice(), _CLASS, _claim("one"), pod, options=("--explain",))
    assert result.exit_code == 1
    assert result.stdout == (
        "default/one: does not fit\n"
        "  no node may be used, whatever its devices\n\n"
        "node-1: not tried: node(s) didn't match Pod's node affinity/selector\n"
    )


def test_nodes_are_assumed_from_slices(files: _Files) -> None:
    result = files.allocate(_slice("node-7"), _CLASS, _claim("one"))
    assert result.exit_code == 0
    assert result.stderr == "there is no Node in the files; assumed from ResourceSlices: node-7\n"


def _where(**place: Any) -> Object:
    """A slice whose only device says for itself where it is."""
    found = _slice("pool", perDeviceNodeSelection=True)
    del found["spec"]["nodeName"]
    found["spec"]["devices"] = [{"name": "d0", **place}]
    return found


def _selector(*requirements: Object, member: str = "matchExpressions") -> Object:
    return {"nodeSelector": {"nodeSelectorTerms": [{member: list(requirements)}]}}


_HOSTS = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-3", "node-4"]}


@pytest.mark.parametrize(
    ("place", "assumed"),
    [
        pytest.param({"nodeName": "node-3"}, "node-3", id="by name"),
        pytest.param(_selector(_HOSTS), "node-3, node-4", id="by host names"),
        pytest.param(
            _selector({"key": "metadata.name", "operator": "In", "values": ["node-5"]}, member="matchFields"),
            "node-5",
            id="by a field",
        ),
        pytest.param(
            _selector({"key": "example.com/rack", "operator": "In", "values": ["r1", "r2"]}),
            "node-for-1 (example.com/rack=r1)",
            id="by a label",
        ),
        pytest.param(
            _selector(
                _HOSTS, {"key": "ready", "operator": "Exists"}, {"key": "cores", "operator": "Gt", "values": ["7"]}
            ),
            "node-3 (ready, cores=8), node-4 (ready, cores=8)",
            id="by host names and labels",
        ),
        pytest.param(
            _selector(
                {"key": "rack", "operator": "In", "values": ["r1", "r2"]},
                {"key": "rack", "operator": "NotIn", "values": ["r1"]},
                {"key": "rack", "operator": "Exists"},
                {"key": "cores", "operator": "Gt", "values": ["7"]},
                {"key": "cores", "operator": "Lt", "values": ["9"]},
            ),
            "node-for-1 (rack=r2, cores=8)",
            id="by labels of which several things are required",
        ),
        pytest.param({"allNodes": True}, "any-node", id="everywhere"),
    ],
)
def test_nodes_are_assumed_from_devices_that_say_where_they_are(files: _Files, place: Object, assumed: str) -> None:
    result = files.allocate(_where(**place), _CLASS, _claim("one"))
    assert result.stderr == f"there is no Node in the files; assumed from ResourceSlices: {assumed}\n"
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("bound", ["many", "1.5", ""])
def test_a_node_whose_label_would_have_to_exceed_what_is_no_number_has_no_devices(files: _Files, bound: str) -> None:
    """An API server stores such a selector, and it matches no node."""
    place = _selector({"key": "cores", "operator": "Gt", "values": [bound]})
    result = files.allocate(_where(**place), _CLASS, _claim("one"))
    assert result.exit_code == 1, result.output
    assert "default/one does not fit on node-for-1\n" in result.stdout
    assert "Gt and Lt need one integer" in result.stdout


def test_a_slice_that_selects_nodes_is_enough_as_well(files: _Files) -> None:
    network = _slice("pool", **_selector({"key": "zone", "operator": "In", "values": ["a"]}))
    del network["spec"]["nodeName"]
    result = files.allocate(network, _slice("node-1"), _CLASS, _claim("three", 3))
    assert "assumed from ResourceSlices: node-for-1 (zone=a), node-1\n" in result.stderr
    assert result.exit_code == 1  # The node with label and the one with a name may be two.


def test_gates_that_are_off_are_named_without_explain_as_well(files: _Files) -> None:
    draws = {"counterSet": "gpu", "counters": {"memory": {"value": "1"}}, "compatibilityGroups": ["mig"]}
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 2}
    counters = [{"name": "gpu", "counters": {"memory": {"value": "1"}}}]
    slices = [_slice(pool=pool, sharedCounters=counters), _slice(pool=pool)]
    slices[0]["metadata"]["name"] = "counters"
    del slices[0]["spec"]["devices"]
    slices[1]["spec"]["devices"] = [{"name": "d0", "consumesCounters": [draws]}]
    result = files.allocate(_NODE, *slices, _CLASS, _claim("one"))
    assert "1 of 2 slices of generation 1, 1 ignored: feature gate DRADeviceCompatibilityGroups is off" in result.stdout
    assert (
        files.allocate(
            _NODE, *slices, _CLASS, _claim("one"), options=("--feature-gates", "DRADeviceCompatibilityGroups=true")
        ).exit_code
        == 0
    )
    off = "DRAPartitionableDevices=false"
    result = files.allocate(_NODE, *slices, _CLASS, _claim("one"), options=("--feature-gates", off))
    gates = "DRAPartitionableDevices and DRADeviceCompatibilityGroups"
    assert f"pool gpu.example.com/node-1 is not seen: needs the feature gates {gates}, which are off" in result.stdout


def test_other_kinds_are_ignored_and_told(files: _Files) -> None:
    other = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}}
    result = files.allocate(_NODE, _slice(), _CLASS, _claim("one"), other)
    assert (result.exit_code, result.stderr) == (0, "ignored: 1 Deployment\n")


@pytest.mark.parametrize(
    ("options", "allocated"),
    [
        pytest.param(("--claim", "two"), {"two"}, id="claim"),
        pytest.param(("--claim", "default/one", "--pod", "pod"), {"one", "three"}, id="claim and pod"),
        pytest.param((), {"one", "two", "three"}, id="all"),
    ],
)
def test_only_what_was_asked_for_is_allocated(files: _Files, options: tuple[str, ...], allocated: set[str]) -> None:
    pod = _pod("pod", {"name": "a", "resourceClaimName": "three"})
    claims = [_claim(name) for name in ("one", "two", "three")]
    result = files.allocate(_NODE, _slice(devices=3), _CLASS, *claims, pod, options=(*options, "-o", "json"))
    assert {name for name, claim in _items(result).items() if "status" in claim} == allocated


def test_gates_are_those_of_the_options(files: _Files) -> None:
    tainted = _slice(devices=0)
    tainted["spec"]["devices"] = [{"name": "d", "taints": [{"key": "k", "effect": "NoSchedule"}]}]
    objects = (_NODE, tainted, _CLASS, _claim("one"))
    assert files.allocate(*objects).exit_code == 1
    assert files.allocate(*objects, options=("--emulated-version", "1.34")).exit_code == 0
    assert files.allocate(*objects, options=("--feature-gates", "Nonsense=true")).exit_code == 2


def test_mixins_are_applied_with_their_gate(files: _Files) -> None:
    mixed = _slice(devices=0)
    mixed["spec"]["mixins"] = {"device": [{"name": "common", "attributes": {"model": {"string": "x"}}}]}
    mixed["spec"]["devices"] = [{"name": "d", "includes": ["common"]}]
    claim = _claim("one")
    selector = {"cel": {"expression": 'device.attributes["gpu.example.com"].model == "x"'}}
    claim["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [selector]
    objects = (_NODE, mixed, _CLASS, claim)
    assert files.allocate(*objects, options=("--feature-gates", "DRAResourceSliceMixins=true")).exit_code == 0
    refused = files.allocate(*objects)
    assert refused.exit_code == 2
    assert "mixins need --feature-gates DRAResourceSliceMixins=true" in refused.stderr


@pytest.mark.parametrize(
    ("objects", "options", "message"),
    [
        pytest.param([], (), "there is no ResourceClaim in the files, and no Pod that uses one", id="nothing"),
        pytest.param([_claim("one")], (), "add Nodes (kubectl get nodes -o yaml), or name nodes", id="no nodes"),
        pytest.param(
            [_NODE, _claim("one")], ("--node", "n"), "--node n: no such Node in the files; there are node-1", id="node"
        ),
        pytest.param(
            [_NODE, _claim("one")], ("--claim", "x"), "--claim x: no such ResourceClaim in the files", id="claim"
        ),
        pytest.param([_NODE, _claim("one")], ("--pod", "x"), "--pod x: no such Pod with claims", id="pod"),
        pytest.param([{"kind": "Node"}], (), "file-1.yaml: apiVersion and kind: required", id="no version"),
        pytest.param(
            [{**_CLASS, "apiVersion": "resource.k8s.io/v7"}],
            (),
            "DeviceClass in resource.k8s.io/v7: versions of it are v1, v1beta2, v1beta1",
            id="unknown version",
        ),
        pytest.param(
            [{**_CLASS, "spec": {"selector": []}}],
            (),
            'strict decoding error: unknown field "spec.selector"',
            id="typo",
        ),
        pytest.param(
            [_slice(pool={"name": "p", "generation": 1})],
            (),
            "ResourceSlice slice-node-1: spec.pool.resourceSliceCount: ",
            id="what a server would refuse",
        ),
        pytest.param(
            [_NODE, _pod("p", {"name": "a", "resourceClaimName": "x"})],
            (),
            "Pod default/p, spec.resourceClaims a: there is no ResourceClaim default/x in the files",
            id="a claim that is missing",
        ),
        pytest.param(
            [_NODE, _pod("p", {"name": "a", "resourceClaimTemplateName": "x"})],
            (),
            "Pod default/p, spec.resourceClaims a: there is no ResourceClaimTemplate default/x in the files",
            id="a template that is missing",
        ),
        pytest.param(
            [{**_claim("one"), "status": {"allocation": {"devices": {"results": [{"request": "r"}]}}}}],
            (),
            "status.allocation.devices.results[0].driver: required",
            id="an allocation of nothing",
        ),
        pytest.param([{**_NODE, "spec": {"taints": [1]}}], (), "Node node-1: spec.taints[0]: an object is", id="taint"),
        pytest.param([_pod("p", 5)], (), "Pod p: spec.resourceClaims[0]: an object is expected", id="pod claim"),  # type: ignore[arg-type]
        pytest.param([_pod("p", {})], (), "Pod p: spec.resourceClaims[0].name: required", id="pod claim without name"),
        pytest.param(
            [_pod("p", tolerations={}, nodeSelector=[])],
            (),
            "Pod p: spec.tolerations: a list is expected, not object",
            id="tolerations",
        ),
    ],
)
def test_files_that_cannot_be_used(
    files: _Files, objects: list[Object], options: tuple[str, ...], message: str
) -> None:
    result = files.allocate(*objects, options=options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not result.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [1", "bad.yaml: not YAML: line 2, column 1: ", id="YAML"),
        pytest.param("- 1", "bad.yaml: an object with apiVersion and kind is expected, not list", id="a list"),
        pytest.param(
            "kind: List\nitems: [1]", "bad.yaml, item 0: an object is expected, not int", id="an item that is none"
        ),
    ],
)
def test_files_that_hold_no_objects(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    result = CliRunner().invoke(allocate, ["-f", str(tmp_path)])
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "name files with -f", id="nothing"),
        pytest.param(["-f", "x", "--problems", "-"], "-f and --problems exclude each other", id="both"),
        pytest.param(["--problems", "-", "--node", "x"], "--node: only with -f", id="an option of the other"),
    ],
)
def test_files_and_problems_exclude_each_other(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(allocate, arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_ctrl_c_is_no_answer(files: _Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("drakit_allocator.inputs.placement.Placement.place", interrupt)
    result = files.allocate(_NODE, _CLASS, _slice(), _claim("one"))
    assert result.exit_code == 130
    assert result.stderr.endswith("interrupted\n")


def test_ctrl_c_loses_nothing_that_was_allocated(files: _Files, monkeypatch: pytest.MonkeyPatch) -> None:
    place, asked = Placement.place, []

    def interrupted_at_the_second(placement: Placement, workload: Workload) -> Placed:
        asked.append(workload)
        if len(asked) > 1:
            raise KeyboardInterrupt
        return place(placement, workload)

    monkeypatch.setattr(Placement, "place", interrupted_at_the_second)
    result = files.allocate(_NODE, _CLASS, _slice(), _claim("one"), _claim("two"))
    assert result.exit_code == 130
    assert "default/one" in result.stdout
    assert "1 of 2 were not asked for" in result.stderr
