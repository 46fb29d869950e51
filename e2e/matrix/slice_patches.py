"""DRAAdminControlledDeviceAttributes, the kit's own gate: devices as ResourceSlicePatches make them look.

The kind is a custom resource, which every API server keeps; drakit's own drops the fields of a gate that is off. The
gate of the scheduler decides whether patches take effect.
"""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import EVENTS, RESOURCE_SLICE_PATCHES
from drakit_kind.clusters.manifests import claim, request
from e2e.matrix.stage import Stage
from e2e.patches.patching import install

_DRIVER = "patched.example.com"
_DEVICES = f"""
driver: {_DRIVER}
devices:
- {{name: gpu-0, attributes: {{index: {{int: 0}}}}, capacity: {{memory: {{value: 40Gi}}}}}}
- {{name: gpu-1, attributes: {{index: {{int: 1}}}}, capacity: {{memory: {{value: 40Gi}}}}}}
- {{name: gpu-2, attributes: {{index: {{int: 2}}}}, capacity: {{memory: {{value: 40Gi}}}}}}
- {{name: gpu-3, attributes: {{index: {{int: 3}}}}, capacity: {{memory: {{value: 40Gi}}}}}}
"""
_NOTHING_FITS = "cannot allocate all claims"
_FULL = {"key": "example.com/full", "effect": "NoSchedule"}
_CLOSED = {"key": "example.com/closed", "effect": "NoExecute"}
_EMPTY = {f"{_DRIVER}/memory": {"value": "0"}}


def _tier(value: str) -> Object:
    return {f"{_DRIVER}/tier": {"string": value}}


def _patch(name: str, device: str, **says: object) -> Object:
    return {
        "apiVersion": RESOURCE_SLICE_PATCHES.api_version,
        "kind": RESOURCE_SLICE_PATCHES.kind,
        "metadata": {"name": name},
        "spec": {"devices": {"filter": {"driver": _DRIVER, "device": device}, **says}},
    }


def _one(name: str, *expressions: str) -> Object:
    """A claim for one device; ``attributes`` and ``capacity`` are the driver's."""
    text = " && ".join(expressions)
    for word in ("attributes", "capacity"):
        text = text.replace(f"{word}.", f"device.{word}['{_DRIVER}'].")
    return claim(name, request("device", _DRIVER, text))


_GOLD = "attributes.?tier.orValue('') == 'gold'"
_ROOMY = "capacity.memory.compareTo(quantity('1Gi')) > 0"


def _stored(stage: Stage, name: str) -> Object:
    """What a patch says besides its filter."""
    devices: Object = stage.api.get(RESOURCE_SLICE_PATCHES, name)["spec"]["devices"]
    return {field: value for field, value in devices.items() if field != "filter"}


def _change(stage: Stage, name: str, **says: object) -> None:
    stage.api.patch(RESOURCE_SLICE_PATCHES, name, {"spec": {"devices": says}})


def _names(stage: Stage) -> set[str]:
    return {patch["metadata"]["name"] for patch in stage.api.objects(RESOURCE_SLICE_PATCHES)}


def _faults(stage: Stage) -> list[Object]:
    return stage.api.objects(EVENTS, "default", field_selector=f"involvedObject.kind={RESOURCE_SLICE_PATCHES.kind}")


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler; off in the API server too, and the kubelet wipes the slices; on everywhere."""
    stage.layout(_DEVICES)
    stage.api.create(_patch("gold", "gpu-0", attributes=_tier("gold")), _patch("plain", "gpu-1", priority=1))
    stage.api.create(_patch("empty", "gpu-2", capacity=_EMPTY))
    assert stage.runs(_one("gold", _GOLD)) == ["gpu-0"]
    stage.waits(_one("roomy", _ROOMY, "attributes.index == 2"), _NOTHING_FITS)
    yield

    # Nobody knows of patches: devices are as their driver says.
    assert stage.started("roomy") == ["gpu-2"]
    stage.api.create(_patch("gold-too", "gpu-1", attributes=_tier("gold"), capacity=_EMPTY))
    assert _stored(stage, "gold-too") == {"attributes": _tier("gold"), "capacity": _EMPTY}
    stage.waits(_one("gold-too", _GOLD), _NOTHING_FITS)
    assert stage.runs(_one("roomy-too", _ROOMY, "attributes.index == 1")) == ["gpu-1"]
    stage.ends("roomy-too")
    yield

    _new_fields_are_dropped(stage)
    _fields_in_use_are_kept(stage)
    stage.api.delete(RESOURCE_SLICE_PATCHES, "empty")
    stage.api.wait_gone(RESOURCE_SLICE_PATCHES, ["empty"])
    assert _names(stage) == {"gold", "gold-too", "late", "plain"}
    assert stage.runs(_one("late", _ROOMY, "attributes.index == 3")) == ["gpu-3"]
    stage.ends("late")
    yield

    assert stage.started("gold-too") == ["gpu-1"]
    # What was stored without its fields stays without them.
    assert _stored(stage, "late") == {"priority": 2}
    stage.waits(_one("gold-late", _GOLD), _NOTHING_FITS)
    stage.ends("roomy")
    assert stage.runs(_one("roomy-again", _ROOMY)) == ["gpu-2"]
    _change(stage, "late", attributes=_tier("gold"))
    assert stage.started("gold-late") == ["gpu-3"]


def in_the_scheduler(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler alone, and the API server keeps what patches say; on again."""
    install(stage.cluster)
    stage.layout(_DEVICES)
    stage.api.create(_patch("gold", "gpu-0", attributes=_tier("gold")), _patch("empty", "gpu-1", capacity=_EMPTY))
    assert stage.runs(_one("gold", _GOLD)) == ["gpu-0"]
    stage.waits(_one("roomy", _ROOMY, "attributes.index == 1"), _NOTHING_FITS)
    stage.runs(_one("evicted", "attributes.index == 2"))
    stage.api.create(_patch("closed", "gpu-2", taints=[_CLOSED]))
    stage.evicted("evicted")
    yield

    assert stage.started("roomy") == ["gpu-1"]
    stage.runs(_one("closed", "attributes.index == 2"))
    stage.api.create(_patch("late", "gpu-3", attributes=_tier("gold"), capacity=_EMPTY))
    assert _stored(stage, "late") == {"attributes": _tier("gold"), "capacity": _EMPTY}
    stage.waits(_one("late", _GOLD), _NOTHING_FITS)
    assert _faults(stage) == []
    stage.check_survivors()
    stage.lets_go("closed")
    yield

    stage.evicted("closed")
    assert stage.started("late") == ["gpu-3"]
    stage.ends("roomy")
    stage.waits(_one("roomy-again", _ROOMY, "attributes.index == 1"), _NOTHING_FITS)


def unknown_to_the_scheduler(stage: Stage) -> Iterator[None]:
    """A scheduler that does not know the kind, where it is installed; one that does; the first one again.

    The API server does not know the gate either and drops what is of it, unless it is Kubernetes' own: so this is about
    taints, which have a gate of their own.
    """
    install(stage.cluster)
    stage.layout(_DEVICES)
    stage.api.create(_patch("closed", "gpu-0", taints=[_FULL]))
    assert stage.runs(_one("first", "attributes.index == 0")) == ["gpu-0"]
    stage.api.create(_patch("closed-too", "gpu-1", taints=[_FULL]))
    yield

    # A device that is in use stays so.
    stage.waits(_one("second", "attributes.index == 1"), _NOTHING_FITS)
    stage.api.delete(RESOURCE_SLICE_PATCHES, "closed-too")
    assert stage.started("second") == ["gpu-1"]
    stage.ends("first")
    stage.waits(_one("third", "attributes.index == 0"), _NOTHING_FITS)
    yield

    assert stage.started("third") == ["gpu-0"]


def not_installed(stage: Stage) -> Iterator[None]:
    """A scheduler without the gate; with it, where the kind is installed only later, removed and installed again."""
    stage.layout(_DEVICES)
    stage.runs(_one("first", "attributes.index == 0"))
    yield

    assert stage.runs(_one("second", "attributes.index == 1")) == ["gpu-1"]
    _is_followed_once_installed(stage, "third")
    # However often the scheduler looks whether there is such a kind, it says only once that there is none.
    assert _told_as_lacking(stage) == 1
    install(stage.cluster, "--remove", "--yes")
    assert stage.started("third") == ["gpu-2"]
    stage.ends("third")
    _is_followed_once_installed(stage, "fourth")
    assert _told_as_lacking(stage) == 2
    stage.api.delete(RESOURCE_SLICE_PATCHES, "closed")
    assert stage.started("fourth") == ["gpu-2"]


def _is_followed_once_installed(stage: Stage, name: str) -> None:
    """A patch that comes with its kind evicts a pod, and the next one waits."""
    stage.runs(_one(f"before-{name}", "attributes.index == 2"))
    install(stage.cluster)
    stage.api.create(_patch("closed", "gpu-2", taints=[_CLOSED]))
    stage.evicted(f"before-{name}")
    stage.waits(_one(name, "attributes.index == 2"), _NOTHING_FITS)


def _told_as_lacking(stage: Stage) -> int:
    return stage.cluster.logs("scheduler").count("the kind is not installed")


def _new_fields_are_dropped(stage: Stage) -> None:
    stage.api.create(_patch("late", "gpu-3", priority=2, attributes=_tier("gold"), capacity=_EMPTY))
    assert _stored(stage, "late") == {"priority": 2}
    _change(stage, "plain", priority=3, attributes=_tier("gold"), capacity=_EMPTY)
    assert _stored(stage, "plain") == {"priority": 3}


def _fields_in_use_are_kept(stage: Stage) -> None:
    stored = stage.api.get(RESOURCE_SLICE_PATCHES, "gold")
    stored["metadata"]["labels"] = {"changed": "yes"}
    assert stage.api.replace(stored)["spec"] == stored["spec"]
    # Whoever uses the feature may go on, with other values, too.
    _change(stage, "gold", priority=5, attributes=_tier("golden"))
    assert _stored(stage, "gold") == {"priority": 5, "attributes": _tier("golden")}
    assert _stored(stage, "gold-too") == {"attributes": _tier("gold"), "capacity": _EMPTY}
