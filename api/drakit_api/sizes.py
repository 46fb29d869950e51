"""How many bytes a ResourceSlice takes in etcd.

A cluster of GPUs is mostly ResourceSlices, and mixins exist to make them smaller; whether they do is a matter of
figures. kube-apiserver stores ``resource.k8s.io/v1`` as protobuf, so the size is computed field by field from the
numbers in ``k8s.io/api`` v0.37.1 ``resource/v1/types.go`` and ``core/v1/types.go`` and ``apimachinery``
``meta/v1/types.go``: exact for what an object says. Kubernetes has no numbers for mixins; they are counted with free
ones of the same length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from drakit_api.features import MIXINS_GATE, FeatureGates
from drakit_api.mixins import flatten
from drakit_api.pools import Object, Pool
from drakit_api.slices import split

# Bytes of a field's content, without its tag.
Size = Callable[[Any], int]

_ENVELOPE = 4  # "k8s\0" in front of each stored object
_RANDOM_SUFFIX = "xxxxx"
_GENERATED_BASE = 58
_UID = "00000000-0000-0000-0000-000000000000"
_MANAGER = "drakit"


@dataclass(frozen=True, slots=True)
class PoolSizes:
    """Bytes of each slice of a pool, as written with mixins (None if there are none) and flattened."""

    with_mixins: list[int] | None
    flattened: list[int]


def pool_sizes(pool: Pool, gates: FeatureGates, *, combined: bool = False) -> PoolSizes:
    """Sizes of the slices of a pool when mixins are stored, and when they are applied first. Raises ``PoolError``."""
    flat = split(flatten(pool), generation=1, gates=gates, combined=combined)
    native = None
    if pool.mixins is not None:
        overrides = {**gates.overrides, MIXINS_GATE: True}
        native = split(pool, generation=1, gates=FeatureGates(gates.emulated_version, overrides))
    return PoolSizes(
        None if native is None else [stored(as_created(each)) for each in native],
        [stored(as_created(each)) for each in flat],
    )


def stored(resource_slice: Mapping[str, Any]) -> int:
    """Bytes of the value in etcd for a slice, for exactly the metadata that it carries."""
    raw = _SLICE(resource_slice)
    type_meta = _TYPE_META(resource_slice)
    # runtime.Unknown: typeMeta, raw, and two empty strings for encoding and type of the content.
    return _ENVELOPE + _field(type_meta) + _field(raw) + 2 * _field(0)


def as_created(resource_slice: Mapping[str, Any]) -> Object:
    """A slice with the metadata that the API server adds at creation."""
    metadata = {**resource_slice["metadata"]}
    base = metadata.get("generateName", "")[:_GENERATED_BASE]
    metadata.setdefault("name", base + _RANDOM_SUFFIX)
    now = "2026-01-01T00:00:00Z"
    managed = {
        "manager": _MANAGER,
        "operation": "Update",
        "apiVersion": resource_slice["apiVersion"],
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:generateName": {}}, "f:spec": _owned_fields(resource_slice["spec"])},
    }
    metadata |= {"uid": _UID, "generation": 1, "creationTimestamp": now, "managedFields": [managed]}
    return {**resource_slice, "metadata": metadata}


def _owned_fields(spec: Mapping[str, Any]) -> Object:
    """Lists and node selectors are atomic in the schema, the pool is not."""
    pool: Object = {f"f:{name}": {} for name in spec["pool"]}
    return {f"f:{name}": pool if name == "pool" else {} for name in sorted(spec)}


def _varint(value: int) -> int:
    return max(1, -(-(value % 2**64).bit_length() // 7))


def _field(content: int) -> int:
    """A length-delimited field with a number below 16."""
    return 1 + _varint(content) + content


def _string(value: str) -> int:
    return len(value.encode())


def _json(value: Any) -> int:
    """``FieldsV1``: a message with the JSON text in its first field."""
    return _field(len(msgspec.json.encode(value)))


def _time(value: Any) -> int:
    """``Time``: seconds since 1970, which take five bytes now, and nanoseconds, zero; unset, an empty message."""
    return 1 + 5 + 1 + 1 if value else 0


def _quantity(value: Any) -> int:
    return _field(_string(str(value)))


def _message(
    always: Mapping[str, Size] | None = None,
    given: Mapping[str, Size] | None = None,
    numbers: Iterable[str] = (),
    wide: Iterable[str] = (),
) -> Size:
    """A message.

    ``always``: fields that Go encodes even when they are empty; ``given``: only if present, lists one by one, maps as
    entries of key and value. ``numbers``: varints among the present ones, ``wide``: fields whose tag takes two bytes.
    """
    every, optional = dict(always or {}), dict(given or {})
    varints, two_bytes = frozenset(numbers), frozenset(wide)

    def size(value: Mapping[str, Any]) -> int:
        total = sum(_field(each(value[name]) if name in value else each(_EMPTY)) for name, each in every.items())
        for name, each in optional.items():
            content = value.get(name)
            if content is None:
                continue
            items = content if isinstance(content, list) else [content]
            total += sum(_field(each(item)) for item in items) + len(items) * (name in two_bytes)
        for name in varints:
            content = value.get(name)
            items = content if isinstance(content, list) else [] if content is None else [content]
            total += sum(1 + _varint(int(item)) for item in items)
        return total

    return size


class _Empty(dict[str, Any]):
    """Zero value of strings, messages and quantities at once."""

    def encode(self) -> bytes:
        return b""

    def __str__(self) -> str:
        return "0"


_EMPTY: Any = _Empty()


def _map(values: Size) -> Size:
    """One entry of a map; maps are given to ``_message`` as lists of pairs."""
    return lambda pair: _field(_string(pair[0])) + _field(values(pair[1]))


def _with_maps(size: Size, *maps: str) -> Size:
    """Turn the named maps of a value into lists of pairs first."""

    def read(value: Mapping[str, Any]) -> int:
        return size({**value, **{name: list(value[name].items()) for name in maps if name in value}})

    return read


_COUNTER = _message({"value": _quantity})
_REQUIREMENT = _message({"key": _string, "operator": _string}, {"values": _string})
_TERM = _message(given={"matchExpressions": _REQUIREMENT, "matchFields": _REQUIREMENT})
_SELECTOR = _message(given={"nodeSelectorTerms": _TERM})
_ATTRIBUTE = _message(
    given={"string": _string, "version": _string, "strings": _string, "versions": _string},
    numbers=("int", "bool", "ints", "bools"),
)
_RANGE = _message(given={"min": _quantity, "max": _quantity, "step": _quantity})
_POLICY = _message(given={"default": _quantity, "validValues": _quantity, "validRange": _RANGE})
_CAPACITY = _message({"value": _quantity}, {"requestPolicy": _POLICY})
_CONSUMPTION = _with_maps(
    _message(
        {"counterSet": _string},
        {"counters": _map(_COUNTER), "compatibilityGroups": _string, "includes": _string},
    ),
    "counters",
)
_TAINT = _message({"key": _string, "value": _string, "effect": _string}, {"timeAdded": _time})
_MAPPING = _message(given={"capacityKey": _string, "capacityMultiplier": _quantity, "deviceMultiplier": _quantity})
_OVERHEAD = _message(given={"perPod": _quantity, "perContainer": _quantity})
_PROPERTIES: dict[str, Size] = {"attributes": _map(_ATTRIBUTE), "capacity": _map(_CAPACITY)}
_DEVICE = _with_maps(
    _message(
        {"name": _string},
        {
            **_PROPERTIES,
            "consumesCounters": _CONSUMPTION,
            "nodeName": _string,
            "nodeSelector": _SELECTOR,
            "taints": _TAINT,
            "bindingConditions": _string,
            "bindingFailureConditions": _string,
            "nodeAllocatableResources": _map(_message(given={"mapping": _MAPPING, "overhead": _OVERHEAD})),
            "includes": _string,
        },
        numbers=("allNodes", "bindsToNode", "allowMultipleAllocations"),
    ),
    "attributes",
    "capacity",
    "nodeAllocatableResources",
)
_COUNTER_SET = _with_maps(_message({"name": _string}, {"counters": _map(_COUNTER), "includes": _string}), "counters")
_MIXINS = _message(
    given={
        "counterSet": _COUNTER_SET,
        "device": _with_maps(_message({"name": _string}, _PROPERTIES), "attributes", "capacity"),
        "deviceCounterConsumption": _COUNTER_SET,
    }
)
_SPEC = _message(
    {"driver": _string, "pool": _message({"name": _string}, numbers=("generation", "resourceSliceCount"))},
    {
        "nodeName": _string,
        "nodeSelector": _SELECTOR,
        "devices": _DEVICE,
        "sharedCounters": _COUNTER_SET,
        "partitionTypeAttribute": _string,
        "skipNodeOperations": _string,
        "mixins": _MIXINS,
    },
    numbers=("allNodes", "perDeviceNodeSelection"),
)
_OWNER = _message(
    {"kind": _string, "name": _string, "uid": _string, "apiVersion": _string},
    numbers=("controller", "blockOwnerDeletion"),
)
_MANAGED = _message(
    {"manager": _string, "operation": _string, "apiVersion": _string, "fieldsType": _string, "subresource": _string},
    {"time": _time, "fieldsV1": _json},
)
_METADATA = _with_maps(
    _message(
        {
            **dict.fromkeys(("name", "generateName", "namespace", "selfLink", "uid"), _string),
            "resourceVersion": lambda _: 0,  # always stored empty: it is etcd's own revision
            "creationTimestamp": _time,
        },
        {
            "labels": _map(_string),
            "annotations": _map(_string),
            "ownerReferences": _OWNER,
            "finalizers": _string,
            "managedFields": _MANAGED,
        },
        numbers=("generation",),
        wide=("managedFields",),
    ),
    "labels",
    "annotations",
)
_SLICE = _message({"metadata": lambda value: _METADATA({"generation": 0, **value}), "spec": _SPEC})
_TYPE_META = _message({"apiVersion": _string, "kind": _string})
