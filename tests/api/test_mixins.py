"""Mixins: applied in order, the last wins, own properties override; both spellings mean the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drakit_api.kubernetes_objects import Object
from drakit_api.layouts.mixins import flatten
from drakit_api.layouts.pools import Pool, PoolError


def _attributes(**values: int) -> Object:
    return {name: {"int": value} for name, value in values.items()}


def _counters(**values: int) -> Object:
    return {name: {"value": str(value)} for name, value in values.items()}


def _pool(**members: Any) -> Pool:
    return Pool(driver="d.example.com", name="p", all_nodes=True, **members)


def _errors(source: Pool | Object) -> tuple[str, ...]:
    with pytest.raises(PoolError) as caught:
        flatten(source)
    return caught.value.errors


def test_later_mixins_override_earlier_ones_and_the_device_overrides_all() -> None:
    flat = flatten(
        _pool(
            mixins={
                "device": [
                    {"name": "first", "attributes": _attributes(a=1, b=1, c=1), "capacity": _counters(m=1)},
                    {"name": "second", "attributes": _attributes(b=2, c=2), "capacity": _counters(m=2, n=2)},
                ]
            },
            devices=[{"name": "d", "includes": ["first", "second"], "attributes": _attributes(c=3)}],
        )
    )
    assert flat.devices == [{"name": "d", "attributes": _attributes(a=1, b=2, c=3), "capacity": _counters(m=2, n=2)}]
    assert flat.mixins is None


def test_counter_sets_and_consumptions_have_mixins_of_their_own_kind() -> None:
    flat = flatten(
        _pool(
            mixins={
                "counterSet": [{"name": "same", "counters": _counters(memory=40, engines=7)}],
                "deviceCounterConsumption": [{"name": "same", "counters": _counters(memory=10, engines=1)}],
                "device": [{"name": "same", "capacity": _counters(memory=10)}],
            },
            shared_counters=[{"name": "set", "includes": ["same"], "counters": _counters(engines=8)}],
            devices=[
                {
                    "name": "d",
                    "includes": ["same"],
                    "consumesCounters": [{"counterSet": "set", "includes": ["same"], "counters": _counters(memory=20)}],
                }
            ],
        )
    )
    assert flat.shared_counters == [{"name": "set", "counters": _counters(engines=8, memory=40)}]
    assert flat.devices[0]["consumesCounters"] == [{"counterSet": "set", "counters": _counters(engines=1, memory=20)}]
    assert flat.devices[0]["capacity"] == _counters(memory=10)


_SEED_004 = {
    "driver": "d.example.com",
    "pool": {"name": "p"},
    "allNodes": True,
    "sharedCounters": [{"name": "set", "includes": [{"name": "m"}]}],
    "mixins": {
        "counterSet": [{"name": "m", "counters": {"memory": {"value": "40Gi"}}}],
        "device": [
            {"name": "m", "basic": {"attributes": {"type": {"string": "gpu"}}}},
            {"name": "n", "composite": {"capacity": {"memory": {"value": "40Gi"}}}},
            {"name": "o", "capacity": {"engines": {"value": "7"}}},
        ],
        "deviceCounterConsumption": [{"name": "m", "counters": {"memory": {"value": "40Gi"}}}],
    },
    "devices": [
        {
            "name": "gpu-0",
            "basic": {
                "includes": [{"name": "m"}, {"name": "n"}, {"name": "o"}],
                "consumesCounter": [{"counterSet": "set", "includes": [{"name": "m"}]}],
            },
        }
    ],
}
_KEP_5234 = {
    "driver": "d.example.com",
    "pool": {"name": "p"},
    "allNodes": True,
    "sharedCounters": [{"name": "set", "includes": ["m"]}],
    "mixins": {
        "counterSet": [{"name": "m", "counters": {"memory": {"value": "40Gi"}}}],
        "device": [
            {"name": "m", "attributes": {"type": {"string": "gpu"}}},
            {"name": "n", "capacity": {"memory": {"value": "40Gi"}}},
            {"name": "o", "capacity": {"engines": {"value": "7"}}},
        ],
        "deviceCounterConsumption": [{"name": "m", "counters": {"memory": {"value": "40Gi"}}}],
    },
    "devices": [
        {
            "name": "gpu-0",
            "includes": ["m", "n", "o"],
            "consumesCounters": [{"counterSet": "set", "includes": ["m"]}],
        }
    ],
}


@pytest.mark.parametrize("spec", [_SEED_004, _KEP_5234], ids=["seed-004", "kep-5234"])
def test_both_spellings_flatten_to_the_same_v1_devices(spec: Object) -> None:
    flat = flatten(spec)
    assert flat.shared_counters == [{"name": "set", "counters": {"memory": {"value": "40Gi"}}}]
    assert flat.devices == [
        {
            "name": "gpu-0",
            "attributes": {"type": {"string": "gpu"}},
            "capacity": {"engines": {"value": "7"}, "memory": {"value": "40Gi"}},
            "consumesCounters": [{"counterSet": "set", "counters": {"memory": {"value": "40Gi"}}}],
        }
    ]


_names = st.sampled_from(["a", "b", "c", "d"])
_values = st.dictionaries(_names, st.integers(0, 9), max_size=4)


@pytest.mark.slow
@given(st.lists(_values, max_size=8), _values)
def test_includes_are_dict_updates_in_order(mixins: list[dict[str, int]], own: dict[str, int]) -> None:
    pool = _pool(
        mixins={"device": [{"name": f"m{i}", "attributes": _attributes(**each)} for i, each in enumerate(mixins)]},
        devices=[{"name": "d", "includes": [f"m{i}" for i in range(len(mixins))], "attributes": _attributes(**own)}],
    )
    expected: dict[str, int] = {}
    for each in [*mixins, own]:
        expected.update(each)
    flat = flatten(pool)
    assert flat.devices[0].get("attributes", {}) == _attributes(**expected)
    assert flatten(flat) == flat


def test_flattening_leaves_the_source_alone() -> None:
    mixin = {"name": "m", "attributes": _attributes(a=1)}
    device = {"name": "d", "includes": ["m"], "attributes": _attributes(b=2)}
    pool = _pool(mixins={"device": [mixin]}, devices=[device])
    flatten(pool)
    assert mixin == {"name": "m", "attributes": _attributes(a=1)}
    assert device == {"name": "d", "includes": ["m"], "attributes": _attributes(b=2)}


def test_a_flat_pool_is_returned_as_it_is() -> None:
    pool = _pool(devices=[{"name": "d", "attributes": _attributes(b=1, a=2)}])
    assert flatten(pool) is pool


def _mixin(kind: str, name: str, **members: Any) -> Object:
    return {kind: [{"name": name, **members}]}


@pytest.mark.parametrize(
    ("members", "error"),
    [
        pytest.param(
            {"mixins": _mixin("device", "gpu"), "devices": [{"name": "d", "includes": ["gpus"]}]},
            'device d: includes[0]: there is no device mixin "gpus"; did you mean "gpu"?',
            id="unknown",
        ),
        pytest.param(
            {
                "mixins": _mixin("counterSet", "gpu", counters=_counters(c=1)),
                "devices": [{"name": "d", "includes": ["gpu"]}],
            },
            'device d: includes[0]: there is no device mixin "gpu"; there is a counter set mixin of that name',
            id="of-another-kind",
        ),
        pytest.param(
            {"devices": [{"name": "d", "consumesCounters": [{"counterSet": "s", "includes": ["x"]}]}]},
            'device d: consumesCounters[0].includes[0]: there is no device counter consumption mixin "x"',
            id="consumption",
        ),
        pytest.param(
            {"shared_counters": [{"name": "s", "includes": ["x"]}]},
            'counter set s: includes[0]: there is no counter set mixin "x"',
            id="counter-set",
        ),
        pytest.param(
            {"mixins": _mixin("device", "m"), "devices": [{"name": "d", "includes": ["m"] * 9}]},
            "device d: includes: 9 entries; at most 8 are allowed",
            id="nine-includes",
        ),
        pytest.param(
            {"mixins": _mixin("device", "m", attributes=_attributes(**{f"a{i}": i for i in range(33)}))},
            "device mixin m: attributes and capacity together: 33 entries; at most 32 are allowed",
            id="33-properties",
        ),
        pytest.param(
            {"mixins": _mixin("counterSet", "m", counters=_counters(**{f"c{i}": i for i in range(33)}))},
            "counter set mixin m: counters: 33 entries; at most 32 are allowed",
            id="33-counters",
        ),
        pytest.param(
            {"mixins": _mixin("deviceCounterConsumption", "m", counters={})},
            "device counter consumption mixin m: counters: required; a mixin without counters adds nothing",
            id="nothing-consumed",
        ),
        pytest.param(
            {"mixins": {"device": [{"name": "m"}, {"name": "m"}]}},
            "device mixin m: defined 2 times; names must be unique",
            id="twice",
        ),
        pytest.param(
            {"mixins": {"device": [{"name": f"m{i}"} for i in range(129)]}},
            "mixins: 129 entries; at most 128 are allowed",
            id="129-mixins",
        ),
        pytest.param(
            {"mixins": _mixin("device", "m", attributes=_attributes(**{"d.example.com/a": 1}))},
            "device mixin m: attributes[d.example.com/a]: names in the driver's own domain are written bare; write a",
            id="own-domain-would-not-override",
        ),
    ],
)
def test_errors_name_the_object_the_field_and_the_mixin(members: Object, error: str) -> None:
    assert _errors(_pool(**members)) == (error,)


def test_limits_allow_exactly_the_limit() -> None:
    many = {f"a{i}": 1 for i in range(32)}
    pool = _pool(
        mixins={"device": [{"name": f"m{i}", "attributes": _attributes(**many)} for i in range(128)]},
        devices=[{"name": "d", "includes": [f"m{i}" for i in range(8)]}],
    )
    assert len(flatten(pool).devices[0]["attributes"]) == 32


def test_one_slice_holds_128_devices_and_mixins_but_a_pool_is_split() -> None:
    spec: Object = {
        "driver": "d.example.com",
        "pool": {"name": "p"},
        "allNodes": True,
        "mixins": {"device": [{"name": "m", "attributes": _attributes(a=1)}]},
        "devices": [{"name": f"d{i}", "includes": ["m"]} for i in range(128)],
    }
    assert _errors(spec) == ("devices and mixins together: 129 entries; at most 128 are allowed",)
    as_pool = _pool(mixins=spec["mixins"], devices=spec["devices"])
    assert len(flatten(as_pool).devices) == 128
    assert (
        flatten(replace(as_pool, devices=as_pool.devices[:127])).devices
        == flatten({**spec, "devices": spec["devices"][:127]}).devices
    )


def test_all_errors_are_reported_at_once() -> None:
    pool = _pool(devices=[{"name": "d", "includes": ["x"]}, {"name": "e", "includes": ["y"]}])
    assert len(_errors(pool)) == 2
