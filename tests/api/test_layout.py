"""Layouts are read strictly: what is wrong is refused with the right spelling, and never published with less."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from drakit_api.layouts import layout
from drakit_api.layouts.pools import Pool, PoolError

_BASE = """
driver: gpu.example.com
sharedCounters:
- name: gpu-0
  counters: {memory: {value: 40Gi}, memory-slice-0: {value: "1"}}
mixins:
  device:
  - {name: common, attributes: {type: {string: gpu}}}
  deviceCounterConsumption:
  - {name: half, counters: {memory: {value: 20Gi}}}
devices:
- name: half-0
  includes: [common]
  consumesCounters:
  - {counterSet: gpu-0, includes: [half]}
"""


def _read(*texts: str, **options: Any) -> list[Pool]:
    options = {"node_names": ["node-1"], **options}
    return layout.pools([each for text in texts for each in yaml.safe_load_all(text)], **options)


def _errors(*texts: str, **options: Any) -> list[str]:
    with pytest.raises(PoolError) as caught:
        _read(*texts, **options)
    return list(caught.value.errors)


def test_a_layout_becomes_the_pool_of_its_node() -> None:
    (pool,) = _read(_BASE)
    assert (pool.driver, pool.name, pool.node_name) == ("gpu.example.com", "node-1", "node-1")
    assert pool.mixins is not None
    assert pool.devices == [
        {
            "name": "half-0",
            "includes": ["common"],
            "consumesCounters": [{"counterSet": "gpu-0", "includes": ["half"]}],
        }
    ]


# Each slip of the alpha KEP's own examples that would change what is published: (before, after, the one error).
_SLIPS = [
    pytest.param(
        "consumesCounters:\n  - {counterSet: gpu-0,",
        "composite:\n    consumesCapacity:\n    - {capacityPool: gpu-0,",
        "device half-0: composite.consumesCapacity[0].capacityPool: not a field;"
        " write basic.consumesCounters[0].counterSet",
        id="B6-composite-consumes-capacity",
    ),
    pytest.param(
        "half, counters:",
        "half, counter:",
        "device counter consumption mixin half: counter: not a field; write counters",
        id="B7-counter-singular",
    ),
    pytest.param(
        "memory: {value: 20Gi}",
        "memory: {value: 41Gi}",
        'device half-0: consumesCounters[0].counters[memory]: takes 41Gi, but counter set "gpu-0" has 40Gi:'
        " the device could never be allocated",
        id="B1-more-than-the-set",
    ),
    pytest.param(
        "counterSet: gpu-0, includes",
        "counterSet: half, includes",
        'device half-0: consumesCounters[0].counterSet: there is no counter set "half" in the pool;'
        " sharedCounters defines the sets",
        id="C7-a-mixin-for-a-counter-set",
    ),
    pytest.param(
        "{counterSet: gpu-0, includes: [half]}",
        "{includes: [half]}",
        "device half-0: consumesCounters[0].counterSet: required",
        id="C7-includes-alone",
    ),
    pytest.param(
        "memory: {value: 20Gi}",
        "memory: {quantity: 20Gi}",
        "device counter consumption mixin half: counters[memory].quantity: not a field; write counters[memory].value",
        id="C3-quantity",
    ),
    pytest.param(
        "{counterSet: gpu-0,",
        "{sharedCounter: gpu-0,",
        "device half-0: consumesCounters[0].sharedCounter: not a field; write consumesCounters[0].counterSet",
        id="C5-shared-counter",
    ),
    pytest.param(
        "- name: half-0",
        "- name: gpu-0-mig-1g.5gb-0",
        'device gpu-0-mig-1g.5gb-0: name: "gpu-0-mig-1g.5gb-0" is not a DNS label (a-z, 0-9 and "-", at most 63'
        ' characters); write "gpu-0-mig-1g5gb-0"',
        id="C12-dots",
    ),
    pytest.param(
        "memory-slice-0",
        "memorySlice0",
        'counter set gpu-0: counters[memorySlice0]: "memorySlice0" is not a DNS label (a-z, 0-9 and "-", at most 63'
        ' characters); write "memory-slice-0"',
        id="C13-counter-in-camel-case",
    ),
    pytest.param(
        "attributes: {type: {string: gpu}}",
        "capacity: {copy-engines: {value: 7}}",
        'device mixin common: capacity[copy-engines]: "copy-engines" is not a C identifier (letters, digits and "_",'
        ' at most 32 characters); write "copyEngines"',
        id="C13-capacity-in-kebab-case",
    ),
    pytest.param(
        "type: {string: gpu}",
        'cudaDriverVersion: {version: "12.4"}',
        'device mixin common: attributes[cudaDriverVersion].version: "12.4" is not a version according to semver.org;'
        ' write "12.4.0"',
        id="C15-version",
    ),
    pytest.param(
        "attributes: {type: {string: gpu}}",
        'capacity: {tpus: "16"}',
        'device mixin common: capacity[tpus]: must be an object, not a bare quantity; write {value: "16"}',
        id="D6-bare-quantity",
    ),
    pytest.param(
        "  includes: [common]",
        "  includes: [{name: common, counterSet: gpu-0}]",
        "device half-0: includes[0].counterSet: not a field; the counter set is named in"
        " consumesCounters[].counterSet, beside the includes",
        id="C9-counter-set-of-an-include",
    ),
]


@pytest.mark.parametrize(("before", "after", "error"), _SLIPS)
def test_slips_are_refused_with_the_right_spelling(before: str, after: str, error: str) -> None:
    assert before in _BASE
    assert error in _errors(_BASE.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [each for each in _SLIPS if each.id not in {"C9-counter-set-of-an-include", "B1-more-than-the-set"}],
)
def test_a_slip_does_not_hide_behind_follow_up_errors(before: str, after: str, error: str) -> None:
    assert _errors(_BASE.replace(before, after)) == [error]


@pytest.mark.parametrize(
    ("after", "error"),
    [
        ("atributes: {}", "device d: atributes: not a field; write attributes"),
        ("nodename: n", "device d: nodename: not a field; write nodeName"),
        ("colour: red", "device d: colour: not a field; known are name, includes, attributes, capacity"),
        ("attributes: []", "device d: attributes: must be an object, not a list"),
        ("attributes: {a: {string: 8.0}}", "device d: attributes[a].string: must be a string, not a number; put it in"),
        ("attributes: {a: {version: 8}}", 'is not a version according to semver.org; write "8.0.0"'),
        ("attributes: {a: {int: '1'}}", "device d: attributes[a].int: must be an integer, not a string"),
        ("attributes: {a: {int: 9223372036854775808}}", "does not fit into 64 bits"),
        ("attributes: {a: {int: 1, bool: true}}", "must be set, not int, bool"),
        ("attributes: {a: {string: " + "x" * 65 + "}}", "may not be longer than 64 bytes"),
        ("capacity: {a: {value: 1 GiB}}", "device d: capacity[a].value: quantities must match"),
        ("capacity: {a: {value: true}}", "must be a quantity such as 40Gi, not a boolean"),
        ("nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: IN}]}]}", "write In"),
        ("nodeSelector: {nodeSelectorTerms: [{}, {}]}", "has 2 entries; at most 1 are allowed"),
        ("nodeName: n", "device d: nodeName: only allowed with perDeviceNodeSelection: true in the pool"),
        ("consumesCounters: [{counterSet: s, counters: {c: {value: 1}}}]", 'there is no counter set "s"'),
    ],
)
def test_errors_name_device_and_field(after: str, error: str) -> None:
    assert error in "\n".join(_errors(f"driver: d.example.com\ndevices:\n- name: d\n  {after}\n"))


@pytest.mark.parametrize(
    ("device", "error"),
    [
        (
            "taints: [{key: k, effect: Foo}]",
            'device half-0: taints[0].effect: Unsupported value: "Foo": supported values: "NoExecute", "NoSchedule",'
            ' "None"',
        ),
        (
            "capacity: {memory: {value: 4Gi, requestPolicy: {default: 1Gi, validRange: {min: 1Gi}}}}",
            "device half-0: capacity[memory].requestPolicy: Forbidden: allowMultipleAllocations must be true",
        ),
        ("bindingConditions: [a, b, c, d, e]", "device half-0: bindingConditions: Too many: 5"),
        ("attributes: {empty: {strings: []}}", "device half-0: attributes[empty]"),
    ],
    ids=["taint", "request policy", "binding conditions", "empty list"],
)
def test_what_an_api_server_would_refuse_is_said_of_the_device(device: str, error: str) -> None:
    errors = _errors(_BASE.replace("  includes: [common]", f"  {device}"))
    assert errors
    assert all(line.startswith("device half-0: ") for line in errors)
    assert error in "\n".join(errors)


def test_devices_of_many_nodes_are_judged_once() -> None:
    errors = _errors(
        _BASE.replace("  includes: [common]", "  taints: [{key: k, effect: Foo}]"), node_names=["a", "b", "c"]
    )
    assert len(errors) == 1


def test_the_same_slip_in_many_places_is_one_line() -> None:
    devices = "\n".join(f"- {{name: d{i}, capacity: {{m: {{quantity: 1}}}}}}" for i in range(20))
    assert _errors(f"driver: d.example.com\ndevices:\n{devices}\n") == [
        "device d0: capacity[m].quantity: not a field; write capacity[m].value (and in 19 more places)"
    ]


def test_a_slip_inside_of_another_slip_is_not_counted_away() -> None:
    text = _BASE.replace("half, counters: {memory: {value", "half, counter: {memory: {quantity").replace(
        "counters: {memory: {value", "counters: {memory: {quantity"
    )
    assert _errors(text) == [
        "counter set gpu-0: counters[memory].quantity: not a field; write counters[memory].value",
        "device counter consumption mixin half: counter[memory].quantity: not a field; write counters[memory].value",
    ]


def test_all_errors_of_all_documents_are_reported_at_once() -> None:
    errors = _errors(
        "driver: d.example.com\ndevices:\n- {name: A}\n- {name: b, colour: red}\n",
        "driver: d.example.com\ndevices:\n- {name: c, includes: [x]}\n",
    )
    assert [line.split(":")[0] for line in errors] == ["document 1", "document 1", "device c"]


def test_quantities_are_stored_as_the_api_server_prints_them() -> None:
    (pool,) = _read("driver: d.example.com\ndevices: [{name: d, capacity: {a: {value: 40960Mi}, b: {value: 4}}}]")
    assert pool.devices[0]["capacity"] == {"a": {"value": "40Gi"}, "b": {"value": "4"}}


def test_node_local_devices_make_a_pool_for_each_node() -> None:
    pools = _read("driver: d.example.com\ndevices: [{name: d}]", node_names=["n1", "n2"])
    assert [(pool.name, pool.node_name) for pool in pools] == [("n1", "n1"), ("n2", "n2")]
    pools = _read("driver: d.example.com\npool: {name: p}\ndevices: [{name: d}]", node_names=["n1", "n2"])
    assert [pool.name for pool in pools] == ["n1/p", "n2/p"]


def test_a_layout_that_selects_its_nodes_is_one_pool() -> None:
    (pool,) = _read("{driver: d.example.com, allNodes: true, devices: [{name: d}]}", node_names=["n1", "n2"])
    assert (pool.name, pool.node_name, pool.all_nodes) == ("d.example.com", None, True)


def test_two_selections_are_refused() -> None:
    errors = _errors("{driver: d.example.com, allNodes: true, nodeName: n, devices: [{name: d}]}")
    assert errors == [
        "exactly one of nodeName, nodeSelector, allNodes, perDeviceNodeSelection must be set, not nodeName and allNodes"
    ]


def _named(driver: str, pool: str) -> str:
    return f"{{driver: {driver}, pool: {{name: {pool}}}, nodeName: n, devices: [{{name: d}}]}}"


@pytest.mark.parametrize(
    ("driver", "pool"),
    [("GPU.example.com", "p"), ("d" * 63, "p" * 253)],
    ids=["capitals, of which the API only warns", "as long as can be"],
)
def test_names_that_the_api_takes(driver: str, pool: str) -> None:
    (read,) = _read(_named(driver, pool))
    assert (read.driver, read.name) == (driver, pool)


@pytest.mark.parametrize(
    ("driver", "pool", "error"),
    [
        ("d" * 64, "p", "driver: may not be longer than 63 bytes"),
        ("d.example.com", "ä" * 127, "pool.name: may not be longer than 253 bytes"),
        ("gpu_1.example.com", "p", 'driver: "gpu_1.example.com" is not a DNS subdomain'),
    ],
    ids=["too long", "too many bytes", "not for DNS"],
)
def test_names_that_the_api_refuses(driver: str, pool: str, error: str) -> None:
    assert any(error in line for line in _errors(_named(driver, pool)))


def test_the_driver_may_come_from_the_caller() -> None:
    assert _errors("devices: [{name: d}]") == ["driver: required; name it in the layout or with --driver-name"]
    assert _read("devices: [{name: d}]", driver="d.example.com")[0].driver == "d.example.com"
    assert _read("{driver: a.example.com, devices: [{name: d}]}", driver="b.example.com")[0].driver == "b.example.com"


def test_documents_of_one_pool_are_put_together() -> None:
    (pool,) = _read(
        "{driver: d.example.com, sharedCounters: [{name: s, counters: {c: {value: 1}}}]}",
        "{driver: d.example.com, devices: [{name: d, consumesCounters: [{counterSet: s, counters: {c: {value: 1}}}]}]}",
    )
    assert [each["name"] for each in pool.shared_counters] == ["s"]
    assert [each["name"] for each in pool.devices] == ["d"]


def test_a_device_may_exist_once_in_a_pool() -> None:
    one = "{driver: d.example.com, devices: [{name: d}]}"
    assert _errors(one, one) == ["device d: defined 2 times; names must be unique"]


def test_whole_objects_and_lists_are_layouts() -> None:
    spec = "{driver: d.example.com, pool: {name: p}, nodeName: n, devices: [{name: d}]}"
    obj = f"{{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {{name: x}}, spec: {spec}}}"
    listed = f"{{apiVersion: v1, kind: List, items: [{obj}]}}"
    assert _read(spec) == _read(obj) == _read(listed)
    assert _errors(obj.replace("ResourceSlice", "ResourceClaim")) == [
        "kind: a layout describes ResourceSlices of resource.k8s.io/*, not ResourceClaim of resource.k8s.io/v1"
    ]


@pytest.mark.parametrize("text", ["", "---\n", "- a\n", "plain text", "42", "{kind: List, items: 5}", "{kind: List}"])
def test_what_is_no_layout_is_refused(text: str) -> None:
    assert _errors(text)


_FIELDS = [
    *("driver", "pool", "name", "sharedCounters", "counters", "value", "mixins", "device", "devices", "includes"),
    *("counterSet", "deviceCounterConsumption", "consumesCounters", "consumesCapacity", "counter", "quantity"),
    *("basic", "composite", "attributes", "capacity", "string", "int", "nodeSelector", "nodeSelectorTerms", "taints"),
    *("apiVersion", "kind", "spec", "items", "allNodes", "x"),
]
_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from([*_FIELDS, "40Gi", "List", "1.2"])
_anything = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_FIELDS), inner, max_size=4),
    max_leaves=30,
)


@pytest.mark.slow
@given(st.lists(_anything, max_size=2))
def test_whatever_a_file_holds_is_read_or_refused(documents: list[Any]) -> None:
    with suppress(PoolError):
        assert layout.pools(documents, driver="d.example.com", node_names=["n"])
