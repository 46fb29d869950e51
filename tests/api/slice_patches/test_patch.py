"""A patch as it is read: which of two wins, what its filter means, and the forms in which values come."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.slice_patches.merging import merged, patched
from drakit_api.slice_patches.patch import DeviceFilter, FilterFault, PatchFault, SlicePatch, in_order

Object = dict[str, Any]


def _patch(name: str = "a", *, created: str | None = None, **devices: Any) -> SlicePatch:
    metadata = {"name": name, **({} if created is None else {"creationTimestamp": created})}
    return SlicePatch.of({"metadata": metadata, "spec": {"devices": devices}})


_EARLY, _LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(_patch("b", priority=1, created=_LATE), _patch("a", created=_EARLY), id="higher priority"),
        pytest.param(_patch("b"), _patch("a", priority=-1), id="no priority is 0"),
        pytest.param(_patch("b", created=_EARLY), _patch("a", created=_LATE), id="older"),
        pytest.param(_patch("b", created="2026-01-01T00:00:00+01:00"), _patch("a", created=_EARLY), id="time zone"),
        pytest.param(_patch("a", created=_EARLY), _patch("b", created=_EARLY), id="name"),
        pytest.param(_patch("b", created=_LATE), _patch("a"), id="one in a file is not created yet"),
    ],
)
def test_which_of_two_patches_wins(first: SlicePatch, second: SlicePatch) -> None:
    assert in_order([first, second]) == in_order([second, first]) == [first, second]


def _class(*expressions: str | None) -> Object:
    selectors = [{} if one is None else {"cel": {"expression": one}} for one in expressions]
    return {"metadata": {"name": "gpu"}, "spec": {"selectors": selectors}}


def test_the_selectors_of_a_class_are_asked_before_those_of_the_patch() -> None:
    wanted = DeviceFilter.of({"deviceClassName": "gpu", "selectors": [{"cel": {"expression": "b"}}]})
    assert wanted.criteria({"gpu": _class("a")}) == ("a", "b")


@pytest.mark.parametrize(
    ("wanted", "classes", "why"),
    [
        ({"deviceClassName": "gpu"}, {}, "there is no DeviceClass gpu"),
        ({"deviceClassName": "gpu"}, {"gpu": _class(None)}, "a selector is of no known type: cel is not set"),
        ({"selectors": [{}]}, {}, "a selector is of no known type: cel is not set"),
    ],
)
def test_a_filter_that_nobody_understands_selects_nothing(wanted: Object, classes: Object, why: str) -> None:
    with pytest.raises(FilterFault, match=why):
        DeviceFilter.of(wanted).criteria(classes)


def test_values_of_gates_that_are_off_do_not_count() -> None:
    obj = {
        "metadata": {"name": "a"},
        "spec": {
            "devices": {
                "attributes": {"x/list": {"ints": [1]}, "x/one": {"int": 1}},
                "taints": [{"key": "k", "effect": "NoSchedule"}],
            }
        },
    }
    everything, less = SlicePatch.of(obj), SlicePatch.of(obj, lists=False, taints=False)
    assert everything.attributes.keys() == {"x/list", "x/one"}
    assert len(everything.taints) == 1
    assert less.attributes.keys() == {"x/one"}
    assert less.taints == ()


def test_quantities_that_are_numbers_are_read_as_text() -> None:
    policy = {"default": 1, "validValues": [1, "2"], "validRange": {"min": 1, "step": 2}}
    patch = _patch(capacity={"x/memory": {"value": 0, "requestPolicy": policy}})
    assert patch.capacity["x/memory"] == {
        "value": "0",
        "requestPolicy": {"default": "1", "validValues": ["1", "2"], "validRange": {"min": "1", "step": "2"}},
    }


_GOLD, _SILVER = {"string": "gold"}, {"string": "silver"}


@pytest.mark.parametrize(
    ("published", "value", "result"),
    [
        pytest.param({}, _GOLD, {"d/tier": _GOLD}, id="added with its full name"),
        pytest.param({"tier": _SILVER}, _GOLD, {"tier": _GOLD}, id="replaced under the name that the driver gave it"),
        pytest.param({"d/tier": _SILVER}, _GOLD, {"d/tier": _GOLD}, id="replaced"),
        pytest.param({"tier": _SILVER, "d/tier": _SILVER}, _GOLD, {"tier": _GOLD, "d/tier": _GOLD}, id="both"),
        pytest.param({"tier": _SILVER, "d/tier": _SILVER, "x": _GOLD}, {"null": {}}, {"x": _GOLD}, id="removed"),
        pytest.param({"e/tier": _SILVER}, {"null": {}}, {"e/tier": _SILVER}, id="of another domain"),
    ],
)
def test_under_which_name_a_value_is_found(published: Object, value: Object, result: Object) -> None:
    device = {"name": "gpu-0", "attributes": published}
    assert merged(device, "d", [_patch(attributes={"d/tier": value})])["attributes"] == result


def test_a_merged_device_may_have_more_attributes_than_a_slice_can() -> None:
    device = {"name": "gpu-0", "attributes": {f"a{number}": {"int": number} for number in range(32)}}
    patch = _patch(attributes={f"x/b{number}": {"int": number} for number in range(32)})
    assert len(merged(device, "d", [patch])["attributes"]) == 64


def test_filters_see_what_drivers_publish() -> None:
    """Neither patch sees what the other one says."""
    spec = {"driver": "d", "pool": {"name": "p"}, "devices": [{"name": "gpu-0", "attributes": {"index": {"int": 0}}}]}
    by_index = {"selectors": [{"cel": {"expression": "device.attributes['d'].index == 0"}}]}
    by_tier = {"selectors": [{"cel": {"expression": "device.attributes['d'].?tier.orValue('') == 'gold'"}}]}
    patches = [
        _patch("a", filter=by_index, attributes={"d/tier": _GOLD, "d/index": {"int": 7}}),
        _patch("b", filter=by_tier, attributes={"d/never": _GOLD}),
        _patch("c", filter=by_index, attributes={"d/always": _GOLD}),
    ]
    found = patched([{"metadata": {}, "spec": spec}], patches)
    (device,) = found.slices[0]["spec"]["devices"]
    assert device["attributes"] == {"index": {"int": 7}, "d/tier": _GOLD, "d/always": _GOLD}
    assert [patch.name for patch in found.applied["d/p/gpu-0"]] == ["a", "c"]


def test_a_fault_names_device_expression_and_error() -> None:
    spec = {"driver": "d", "pool": {"name": "p"}, "devices": [{"name": "gpu-0"}]}
    patch = _patch(filter={"selectors": [{"cel": {"expression": "device.attributes['d'].tier"}}]})
    found = patched([{"metadata": {}, "spec": spec}], [patch])
    assert found.faults == [PatchFault(patch, "d/p/gpu-0", "device.attributes['d'].tier", "no such key: tier")]
    assert found.faults[0].text == (
        "does not apply to device d/p/gpu-0: selector device.attributes['d'].tier: no such key: tier"
    )
