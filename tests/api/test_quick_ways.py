"""Slices are decoded, encoded and validated by shortcuts, which must say what the rules say, also of odd slices."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.partitions import recorded_slice
from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.objects import decoding, encoding, schema, structs
from drakit_api.validation.slices.devices import declared_device, device
from drakit_api.validation.slices.ordinary import is_ordinary

LONG = "x" * 65
NAMES = st.sampled_from(["a", "gpu-0", "memory", "dra.example.com/model", "A", "", "a.b", LONG, "a/b/c", "ü"])
QUANTITIES = st.sampled_from(["1", "40Gi", "1024Mi", " 2 ", "2000m", "much", "", 3, 2.5, True])
VALUES = st.sampled_from(["text", "", LONG, "ü" * 40, "1.2.3", "1.2"])
ODD = st.sampled_from([None, [], {}, "", 0, 1.0, -1, 2**31, 2**63, True, [None], {"a": None}, {"unknown": 1}])
ATTRIBUTES = st.one_of(
    st.fixed_dictionaries({"string": VALUES}),
    st.fixed_dictionaries({"version": VALUES}),
    st.fixed_dictionaries({"int": st.integers()}),
    st.fixed_dictionaries({"bool": st.booleans()}, optional={"strings": st.lists(VALUES, max_size=2)}),
)
CAPACITIES = st.fixed_dictionaries(
    {"value": QUANTITIES}, optional={"requestPolicy": st.fixed_dictionaries({"default": QUANTITIES})}
)
COUNTERS = st.dictionaries(NAMES, st.fixed_dictionaries({"value": QUANTITIES}), max_size=3)
CONSUMPTIONS = st.fixed_dictionaries(
    {"counterSet": NAMES, "counters": COUNTERS}, optional={"compatibilityGroups": st.lists(NAMES, max_size=3)}
)
TAINTS = st.fixed_dictionaries(
    {"key": NAMES, "effect": st.sampled_from(["NoSchedule", "Never"])},
    optional={"timeAdded": st.sampled_from(["2026-01-01T01:00:00+01:00", "yesterday", ""])},
)
DEVICES = st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "attributes": st.dictionaries(NAMES, ATTRIBUTES, max_size=3),
        "capacity": st.dictionaries(NAMES, CAPACITIES, max_size=3),
        "consumesCounters": st.lists(CONSUMPTIONS, max_size=3),
        "taints": st.lists(TAINTS, max_size=2),
        "nodeName": NAMES,
        "bindingConditions": st.lists(NAMES, max_size=2),
    },
)
SPECS = st.fixed_dictionaries(
    {"driver": NAMES, "pool": st.fixed_dictionaries({"name": NAMES, "generation": st.integers(-1, 2)})},
    optional={
        "devices": st.lists(DEVICES, max_size=3),
        "sharedCounters": st.lists(st.fixed_dictionaries({"name": NAMES, "counters": COUNTERS}), max_size=2),
        "allNodes": st.booleans(),
        "nodeSelector": st.fixed_dictionaries({"nodeSelectorTerms": st.lists(st.just({"matchFields": []}))}),
    },
)


@st.composite
def slices(draw: st.DrawFn) -> Object:
    """A slice that a driver might send; some have something odd in one place."""
    spec = copy.deepcopy(draw(SPECS))  # some of its parts belong to the strategies
    if draw(st.booleans()):
        owner = draw(st.sampled_from(list(_owners(spec))))
        key = draw(st.sampled_from([*(owner if isinstance(owner, dict) else range(len(owner))), "unknown"]))
        if isinstance(owner, dict):
            owner[key] = draw(ODD)
        else:
            owner.append(draw(ODD))
    return {"metadata": {"name": "s"}, "spec": spec}


def _owners(value: Any) -> list[Any]:
    """All maps and lists within a value."""
    if not isinstance(value, dict | list):
        return []
    inner = value.values() if isinstance(value, dict) else value
    return [value, *(owner for item in inner for owner in _owners(item))]


def _outcome(does: Callable[[], object]) -> bytes:
    """What comes out, with the order of fields, or the complaint."""
    try:
        return msgspec.json.encode(does())
    except decoding.DecodeError as error:
        return str(error).encode()


@pytest.mark.slow
@settings(deadline=None)
@given(slices(), st.sampled_from(["v1", "v1beta1", "v1beta2"]), st.booleans())
def test_what_is_taken_as_it_is_is_what_the_rules_read(obj: Object, version: str, strict: bool) -> None:
    sent = copy.deepcopy(obj)

    def decode() -> object:
        # The order of fields and keys means nothing yet.
        return msgspec.to_builtins(decoding.decode("ResourceSlice", obj, version, strict=strict), order="sorted")

    quick = _outcome(decode)
    with patch.object(structs, "checker", return_value=lambda _: False):
        assert quick == _outcome(decode)
    assert obj == sent


@pytest.mark.slow
@settings(deadline=None)
@given(slices())
def test_what_is_written_as_a_whole_is_what_the_rules_write(obj: Object) -> None:
    try:
        decoded = decoding.decode("ResourceSlice", obj, strict=False)
    except decoding.DecodeError:
        return
    quick = msgspec.json.encode(encoding.encode("ResourceSlice", decoded))
    assert quick == msgspec.json.encode(encoding.encode_once("ResourceSlice", decoded))
    with patch.object(structs, "writer", return_value=lambda _: None):
        assert quick == msgspec.json.encode(encoding.encode("ResourceSlice", decoded))


@pytest.mark.slow
@settings(deadline=None)
@given(DEVICES)
def test_no_rule_objects_to_an_ordinary_device(value: Object) -> None:
    try:
        decoded = decoding.decode("ResourceSlice", {"spec": {"devices": [value]}})["spec"]["devices"][0]
    except decoding.DecodeError:
        return
    if is_ordinary(decoded):
        assert list(device(decoded, None, "d", per_device_nodes=False, gates=FeatureGates())) == []
        assert list(declared_device(decoded, "d")) == []


@pytest.mark.parametrize("count", [32, 33])
def test_an_ordinary_device_has_no_more_than_the_limit_of_attributes(count: int) -> None:
    assert is_ordinary({"name": "d", "attributes": {f"a{n}": {"int": n} for n in range(count)}}) is (count == 32)


@pytest.mark.parametrize("count", [32, 33])
def test_an_ordinary_device_has_no_more_than_the_limit_of_counters(count: int) -> None:
    counters = {f"c{n}": {"value": "1"} for n in range(count)}
    assert is_ordinary({"name": "d", "consumesCounters": [{"counterSet": "s", "counters": counters}]}) is (count == 32)


def test_slices_of_real_drivers_take_the_quick_ways() -> None:
    """Otherwise everything above would hold of shortcuts that nobody takes."""
    types, struct = schema.load(), "resource/v1.ResourceSliceSpec"
    spec = recorded_slice("node-1")["spec"]
    assert structs.checker(types, struct)(spec)
    assert structs.writer(types, struct)(spec) is not None
    assert all(map(is_ordinary, spec["devices"]))
