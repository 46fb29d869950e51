"""What stands in the ResourceSlicePatches of stories: of each rule what just keeps it, and what breaks it."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def of(devices: Any, name: str = "p") -> Object:
    """A patch of devices."""
    metadata, typed = {"name": name}, {"apiVersion": "resource.drakit.dev/v1alpha3", "kind": "ResourceSlicePatch"}
    return {**typed, "metadata": metadata, "spec": {"devices": devices}}


def selector(expression: Any) -> Object:
    """A selector in CEL."""
    return {"cel": {"expression": expression}}


def _filters(field: str, *values: Any) -> list[Object]:
    return [{"filter": {field: value}} for value in values]


def _values(*values: Any) -> list[Object]:
    return [{"attributes": {"gpu.example.com/a": value}} for value in values]


def _named(field: str, value: Any, *names: str) -> list[Object]:
    return [{field: {name: value}} for name in names]


def _capacities(*values: Any) -> list[Object]:
    return [{"capacity": {"gpu.example.com/memory": value}} for value in values]


def _policies(*policies: Any, value: Any = "10") -> list[Object]:
    return _capacities(*({"value": value, "requestPolicy": policy} for policy in policies))


def _ranges(*ranges: Any, default: Any = "2", value: Any = "10") -> list[Object]:
    return _policies(*({"default": default, "validRange": bounds} for bounds in ranges), value=value)


def _taints(**fields: Any) -> Object:
    return {"taints": [{"key": "k", "effect": "None", **fields}]}


_D63, _D64 = "a" * 30 + "." + "b" * 32, "a" * 31 + "." + "b" * 32
_D253, _D254 = ".".join(["a" * 62] * 4) + ".b", ".".join(["a" * 62] * 4) + ".bc"
_NAMES = (
    *("gpu.example.com/tier", "GPU.example.com/Tier_1", "a/_b", f"{_D63}/c", f"{_D64}/c"),
    *(f"a/{'i' * 32}", f"a/{'i' * 33}", "tier", "/tier", "a/", "a/1b", "a/b/c", "a..b/c", "-a/b", "a/b-c", "a b/c", ""),
)
_INTS = {f"a.b/i{index}": {"int": index} for index in range(33)}
_FIRST = [*_INTS.items()]
_DEFAULTED = {"default": "2", "validValues": ["1", "2"]}
_LIST = ["k" * 64]
# Cases by the field that they are about; each is what stands in spec.devices.
DEVICES: dict[str, list[Any]] = {
    "devices": [{}, None, [], "x", {"filter": None, "priority": None, "attributes": None, "taints": None}],
    "class": _filters("deviceClassName", "gpu", "gpu.example.com", _D253, _D254, "GPU", "", "a/b", "-a", 1),
    "driver": _filters("driver", "gpu.example.com", "GPU.Example.com", _D63, _D64, "", "a..b", "a/b", "a_b"),
    "pool": _filters("pool", "n1", "a.b/c.d/e", _D253, _D254, "", "a/", "/a", "a//b", "N1", "a_b"),
    "device": _filters("device", "gpu-0", "0", "a" * 63, "a" * 64, "a.b", "A", "a-", ""),
    "selectors": _filters(
        "selectors",
        *([], [selector("true")], [selector("true")] * 32, [selector("true")] * 33),
        *([{}], [{"cel": {}}], [{"cel": None}], [selector("")], [selector(1)], [selector("not CEL(")]),
        *([selector("1" * 10240)], [selector("1" * 10241)], [selector("é" * 5120)], [selector("é" * 5121)]),
    ),
    "priority": [{"priority": value} for value in (0, -(2**31), 2**31 - 1, 2**31, -(2**31) - 1, "1", 1.5, 1.0, True)],
    "attribute names": _named("attributes", {"int": 1}, *_NAMES),
    "capacity names": _named("capacity", {"value": 1}, *_NAMES),
    "capacity null": [*_capacities(None), *_policies(None, {**_DEFAULTED, "validRange": None})],
    "number of attributes": [
        *({"attributes": dict(_FIRST[:count])} for count in (0, 32, 33)),
        *(
            {"attributes": dict(_FIRST[:count]), "capacity": {f"a/c{index}": {"value": 1} for index in range(more)}}
            for count, more in ((31, 1), (31, 2), (1, 31), (1, 32))
        ),
        *({"capacity": {f"a/c{index}": {"value": index} for index in range(count)}} for count in (32, 33)),
    ],
    "kinds of values": _values(
        *({}, {"null": {}}, {"bool": False}, {"int": 0}, {"string": ""}, {"version": "1.0.0"}, {"null": None}, None),
        *({"int": 1, "bool": True}, {"null": {}, "string": "x"}, {"int": None}, {"int": 1, "bool": None}, {"x": 1}),
        *({"null": {"x": 1}}, {"null": "x"}, {"null": True}, {"bool": "true"}, {"string": 1}, 1, "x", []),
    ),
    "numbers": _values(*({"int": value} for value in (2**63 - 1, -(2**63), 2**63, 1.5, 2.0, "1"))),
    "texts": _values(*({"string": value} for value in ("a" * 64, "a" * 65, "é" * 32, "é" * 32 + "a", "é" * 65))),
    "versions": _values(
        *({"version": value} for value in ("0.0.0", "1.2.3-rc.1+build.5", "1.2.3-0a", "10.20.30", "1.2.3--")),
        *({"version": value} for value in ("", "1", "1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.2.3-01", "1.2.3-", "x")),
        *({"version": value} for value in (f"1.2.3-{'a' * 58}", f"1.2.3-{'a' * 59}", "9" * 40 + ".0.0", "1.2.3\n")),
    ),
    "lists": _values(
        *({name: []} for name in ("bools", "ints", "strings", "versions")),
        *({"bools": [True, False]}, {"ints": [1, 1]}, {"strings": ["a", ""]}, {"versions": ["1.0.0", "1.0.0"]}),
        *({"bools": [1]}, {"ints": ["1"]}, {"ints": [2**63]}, {"strings": [1]}, {"strings": [None]}),
        *({"versions": ["1.0"]}, {"strings": _LIST * 48}, {"strings": _LIST * 49}, {"strings": ["k" * 65]}),
        *({"int": 1, "ints": [1]}, {"int": 1, "ints": []}, {"strings": ["é" * 33]}, {"ints": "1"}, {"bools": {}}),
    ),
    "number of values": [
        {"attributes": {"a/x": {"ints": [1] * 24}, "a/y": {"strings": ["s"] * rest}, "a/z": {"bool": True}}}
        for rest in (23, 24)
    ],
    "quantities": _capacities(
        *({"value": value} for value in ("0", 0, "40Gi", "1.5", ".5", "5.", "+1", "-1", "1e3", "1E-3", "1E", "100m")),
        *({"value": value} for value in ("", "x", "1 Gi", "1gi", "1e", "--1", "1.2.3", "1Gi\n", " 1", "1" * 64)),
        *({"value": value} for value in ("1e0999", "1E-999", "1e1000", "1e-99999999999")),
        *({"value": value} for value in ("1" * 65, 1.5, -1, None, True, 2**63 - 1, 2**63)),
        *({"value": []}, {"value": {}}),
        *({}, None, "1", {"value": 1, "requestPolicy": {}}, {"value": 1, "requestPolicy": None}, {"value": 1, "x": 1}),
    ),
    "policies": _policies(
        *({"default": "1"}, {"default": "100"}, {"default": "x"}, {"validValues": []}, {"validValues": ["1"]}),
        *(_DEFAULTED, {**_DEFAULTED, "default": "3"}, {**_DEFAULTED, "default": "2000m"}, {**_DEFAULTED, "default": 2}),
        *({**_DEFAULTED, "validRange": {"min": "1"}}, {"default": "1", "validValues": [], "validRange": {"min": "1"}}),
        *({"validRange": {"min": "1"}}, {"default": "1", "validRange": {}}, {"default": "1", "validRange": None}),
    ),
    "valid values": _policies(
        *(
            {"default": values[0], "validValues": values}
            for values in (
                *(["1", "2", "10"], ["1", "2", "10.001"], ["2", "1"], ["1", "1"], ["1", "1000m"], ["100m", "0.2"]),
                *([*range(1, 11)], [*range(1, 12)], [0, "1"], ["x"], ["1", "x"], ["-1", "1"], [1, "2", 3]),
            )
        )
    ),
    "ranges": _ranges(
        *({"min": "1"}, {"min": 2}, {"min": "3"}, {"min": "-1"}, {"min": "11"}, {"max": "5"}, {"min": "x"}),
        *({"min": "1", "max": "2"}, {"min": "1", "max": "1"}, {"min": "1", "max": "10"}, {"min": "1", "max": "11"}),
        *({"min": "2", "max": "1"}, {"min": "1", "max": "x"}),
    ),
    "steps": [
        *_ranges(
            *({"min": "0", "step": "1"}, {"min": "1", "step": "1"}, {"min": "0", "step": "2"}, {"min": 1, "step": 2}),
            *(
                {"min": "1", "step": "0"},
                {"min": "1", "step": "-1"},
                {"min": "1", "step": "x"},
                {"min": "2", "step": "8"},
            ),
            *({"min": "2", "step": "9"}, {"min": "-1", "step": "1"}, {"min": "0", "max": "6", "step": "2"}),
            *({"min": "0", "max": "7", "step": "2"}, {"min": "500m", "step": "500m"}, {"min": "500m", "step": "700m"}),
            *({"min": "0.5", "step": "0.25", "max": "3.75"}, {"min": "0.5", "step": "0.25", "max": "3.8"}),
            *({"min": "1u", "step": "1"}, {"min": "1", "step": "100u"}),
        ),
        *_ranges({"min": "1Gi", "step": "1Gi"}, {"min": "1Gi", "step": "3Gi"}, default="3Gi", value="16Ei"),
        *_ranges({"min": "1Pi", "step": "1Pi"}, {"min": "1Pi", "step": "6Pi"}, default="16Pi", value="16Ei"),
        *_ranges({"min": "0.5Gi", "step": "512Mi"}, {"min": "1Gi", "step": "1Gi"}, default="1.5Gi", value="100Ti"),
        *_ranges({"min": "0.1", "step": "0.1"}, {"min": "0.1", "step": "0.4"}, default="0.7", value="1"),
        *_ranges({"min": "0", "step": "1m"}, default="8Ei", value="16Ei"),
    ],
    "taints": [
        *(
            {"taints": []},
            {"taints": [{}]},
            {"taints": [{"key": "k"}]},
            {"taints": [{"effect": "None"}]},
            {"taints": "x"},
        ),
        *({"taints": [{"key": f"k{index}", "effect": "None"} for index in range(count)]} for count in (16, 17)),
        *(_taints(effect=effect) for effect in ("NoSchedule", "NoExecute", "None", "", "PreferNoSchedule", None)),
        {"taints": [{"key": "k", "effect": "None"}, {"key": "k", "effect": "None", "value": "v"}]},
    ],
    "taint keys": [
        _taints(key=key)
        for key in (
            *("a", "A_b.c-d", "a.b/c", "k" * 63, "k" * 64, f"{_D253}/k", f"{_D254}/k", f"{_D253}/{'k' * 63}"),
            *(f"{_D253}/{'k' * 64}", "", "a/", "/a", "a/b/c", "-a", "a-", "A/b", "a b"),
        )
    ],
    "taint values": [_taints(value=value) for value in ("", "v", "A_b.c-d", "v" * 63, "v" * 64, "-v", "v-", "a/b", 1)],
    "taint times": [
        _taints(timeAdded=time)
        for time in ("2001-02-03T04:05:06Z", "2001-02-03T04:05:06.789+01:00", "2001-02-03", "soon", "", None, 1)
    ],
}
# Objects that are wrong as a whole.
ODD: list[Object] = [
    {**of({}), "spec": {}},
    {key: value for key, value in of({}).items() if key != "spec"},
    {**of({}), "spec": None},
    of({}, "Upper"),
    of({}, "a" * 254),
    {**of({}), "metadata": {"name": "p", "namespace": "default"}},
    {**of({}), "metadata": {"name": "p", "labels": {"-": "x"}}},
    {**of({}), "kind": "Other"},
    {**of({}), "apiVersion": "resource.drakit.dev/v1"},
]
