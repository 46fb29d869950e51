"""Writes of the statuses of pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object
from tests.vectors.exchanges import Vector
from tests.vectors.record.apiserver.pods.forms import change, container, pod

_ENDED = {"terminated": {"exitCode": 0}}
_FAILED = {"terminated": {"exitCode": 1}}
_RUNNING: Object = {"running": {}}
_CLAIM = {"name": "gpu", "resourceClaimName": "p-gpu-x"}
_MAPPING = {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "r-0"}
_EXTENDED = {"resourceClaimName": "p-x", "requestMappings": [_MAPPING]}
_CLAIMED = {"resourceClaimName": "p-gpu-x", "containers": ["c"], "mapping": [{"name": "cpu", "quantity": "1"}]}
_SPEC = {
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}, {"name": "nic", "resourceClaimName": "n"}],
    "containers": [container(resources={"limits": {"example.com/gpu": "1"}})],
}
_KEPT = ("status.resourceClaimStatuses", "status.extendedResourceClaimStatus", "status.qosClass")
_LIST = "nodeAllocatableResourceClaimStatuses"
_SHOWN = f"status.{_LIST}"


def _state(state: Object, **fields: Any) -> Object:
    status = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0, **fields}
    return {"containerStatuses": [{**status, "state": state}]}


def _init_state(state: Object) -> Object:
    return {"initContainerStatuses": _state(state, name="i")["containerStatuses"]}


def _devices(*names: str, container: str = "c") -> Object:
    devices = [{"name": name, "resources": [{"resourceID": "a", "health": "Healthy"}]} for name in names]
    return _state(_RUNNING, name=container, allocatedResourcesStatus=devices)


def _extended(*mappings: Object, **fields: Any) -> Object:
    return {"extendedResourceClaimStatus": {**_EXTENDED, "requestMappings": list(mappings), **fields}}


def _condition(kind: str = "Ready", **fields: Any) -> Object:
    return {"type": kind, "status": "True", **fields}


# Name: what there is, what is written.
_WRITES: dict[str, tuple[Object, Object]] = {
    "nothing": ({}, {}),
    "a phase": ({}, {"phase": "Running"}),
    "another class": ({}, {"qosClass": "Guaranteed"}),
    "the same class": ({}, {"qosClass": "BestEffort"}),
    "a generated claim": ({}, {"resourceClaimStatuses": [_CLAIM]}),
    "a claim that was not needed": ({}, {"resourceClaimStatuses": [{"name": "gpu"}]}),
    "a claim of another name": ({}, {"resourceClaimStatuses": [{**_CLAIM, "name": "fpga"}]}),
    "a claim twice": ({}, {"resourceClaimStatuses": [_CLAIM, {**_CLAIM, "resourceClaimName": "other"}]}),
    "a claim of a wrong name": ({}, {"resourceClaimStatuses": [{**_CLAIM, "resourceClaimName": "A"}]}),
    "a claim kept": ({"resourceClaimStatuses": [_CLAIM]}, {"phase": "Running"}),
    "a claim forgotten": ({"resourceClaimStatuses": [_CLAIM]}, {"resourceClaimStatuses": []}),
    "an extended resource": ({}, {"extendedResourceClaimStatus": _EXTENDED}),
    "an extended resource kept": ({"extendedResourceClaimStatus": _EXTENDED}, {}),
    "an extended resource without mappings": ({}, _extended()),
    "an extended resource without claim": ({}, _extended(_MAPPING, resourceClaimName="")),
    "an extended resource with a wrong claim": ({}, _extended(_MAPPING, resourceClaimName="A")),
    "an extended resource of another container": ({}, _extended({**_MAPPING, "containerName": "d"})),
    "an extended resource that nobody asked for": ({}, _extended({**_MAPPING, "resourceName": "example.com/tpu"})),
    "an extended resource of a wrong request": ({}, _extended({**_MAPPING, "requestName": "A"})),
    "an extended resource twice": ({}, _extended(_MAPPING, _MAPPING)),
    "a nominated node": ({}, {"nominatedNodeName": "n"}),
    "a wrong nominated node": ({}, {"nominatedNodeName": "A"}),
    "an observed generation": ({}, {"observedGeneration": 1}),
    "an observed generation below nothing": ({}, {"observedGeneration": -1}),
    "an observed generation kept": ({"observedGeneration": 1}, {"phase": "Running"}),
    "an observed generation of a condition": ({}, {"conditions": [_condition(observedGeneration=-1)]}),
    "an observed generation of a condition kept": (
        {"conditions": [_condition(observedGeneration=1)]},
        {"conditions": [_condition(status="False"), _condition()]},
    ),
    "a condition of a wrong type": ({}, {"conditions": [_condition("a b")]}),
    "a condition of its own": ({}, {"conditions": [_condition("example.com/a")]}),
    "a container that ended": (_state(_RUNNING), _state(_ENDED)),
    "a container that runs again": (_state(_ENDED), _state(_RUNNING)),
    "addresses": ({}, {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}),
    "two addresses of one family": ({}, {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}),
    "an address beside a wrong one": ({}, {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "a"}]}),
    "a wrong address": ({}, {"podIP": "a"}),
    "addresses of the host": ({}, {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.1"}]}),
    "another address of the host": ({}, {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.2"}]}),
    "addresses of the host without the first": ({}, {"hostIPs": [{"ip": "10.0.0.2"}]}),
    "two addresses of the host of one family": (
        {},
        {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
    ),
    "an address of the host alone": ({}, {"hostIP": "10.0.0.1"}),
    "health of a claim": ({"resourceClaimStatuses": [_CLAIM]}, _devices("claim:gpu")),
    "health of an extended resource": ({}, _devices("example.com/gpu")),
    "health of another resource": ({}, _devices("example.com/tpu")),
    "health of another container": ({}, _devices("example.com/gpu", container="d")),
    "health of one resource twice": ({}, _devices("example.com/gpu", "example.com/gpu")),
    "users": ({}, _state(_RUNNING, user={"linux": {"uid": -1, "gid": 0}})),
}
_RESTARTS: dict[str, tuple[Object, Object, Object]] = {
    "never": ({"restartPolicy": "Never"}, _state(_ENDED), _state(_RUNNING)),
    "never, after a failure": ({"restartPolicy": "Never"}, _state(_FAILED), _state(_RUNNING)),
    "on failure": ({"restartPolicy": "OnFailure"}, _state(_ENDED), _state(_RUNNING)),
    "on failure, after one": ({"restartPolicy": "OnFailure"}, _state(_FAILED), _state(_RUNNING)),
    "never, though the container would": (
        {"restartPolicy": "Never", "containers": [container(restartPolicy="Always")]},
        _state(_ENDED),
        _state(_RUNNING),
    ),
    "never, though a rule says so": (
        {
            "restartPolicy": "Never",
            "containers": [
                container(
                    restartPolicy="Never",
                    restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}],
                )
            ],
        },
        _state(_FAILED),
        _state(_RUNNING),
    ),
    "of an init container": (
        {"restartPolicy": "Never", "initContainers": [container(name="i")]},
        _init_state(_ENDED),
        _init_state(_RUNNING),
    ),
    "of a sidecar": (
        {"restartPolicy": "Never", "initContainers": [container(name="i", restartPolicy="Always")]},
        _init_state(_ENDED),
        _init_state(_RUNNING),
    ),
}
# With DRANodeAllocatableResources.
_MAPPINGS: dict[str, tuple[Object, Object]] = {
    "kept": ({_LIST: [_CLAIMED]}, {"phase": "Running"}),
    "forgotten": ({_LIST: [_CLAIMED]}, {_LIST: []}),
    "of no claim": ({}, {_LIST: [{**_CLAIMED, "resourceClaimName": "other"}]}),
    "of a claim without name": ({}, {_LIST: [{**_CLAIMED, "resourceClaimName": ""}]}),
    "twice": ({}, {_LIST: [_CLAIMED, _CLAIMED]}),
    "of a gpu": ({}, {_LIST: [{**_CLAIMED, "mapping": [{"name": "gpu", "quantity": "1"}]}]}),
    "below nothing": ({}, {_LIST: [{**_CLAIMED, "mapping": [{"name": "cpu", "quantity": "-1"}]}]}),
    "of no quantity": ({}, {_LIST: [{**_CLAIMED, "mapping": [{"name": "cpu"}]}]}),
    "overhead": ({}, {_LIST: [{**_CLAIMED, "overhead": [{"name": "cpu", "perPod": "1"}]}]}),
    "overhead of nothing": ({}, {_LIST: [{**_CLAIMED, "overhead": [{"name": "cpu"}]}]}),
    "overhead below nothing": (
        {},
        {_LIST: [{**_CLAIMED, "overhead": [{"name": "gpu", "perPod": "-1", "perContainer": "-1"}]}]},
    ),
    "containers twice": ({}, {_LIST: [{**_CLAIMED, "containers": ["c", "c"]}]}),
}


def _write(name: str, spec: Object, old: Object, new: Object, *shows: str, server: str = "default") -> Vector:
    phase = {"phase": "Pending"}
    before, after = ({**pod(**spec), "status": {**phase, **status}} for status in (old, new))
    return change(name, before, after, *shows, server=server, op="status")


def made() -> Iterator[Vector]:
    """Writes of statuses."""
    for name, (old, new) in _WRITES.items():
        shows = (*_KEPT, "status.observedGeneration", "status.conditions")
        yield _write(f"status: {name}", _SPEC, old, new, *shows)
    for name, (spec, old, new) in _RESTARTS.items():
        yield _write(f"restart: {name}", spec, old, new)
    claimed = {"resourceClaimStatuses": [_CLAIM]}
    for name, (old, new) in _MAPPINGS.items():
        yield _write(f"mappings: {name}", _SPEC, claimed | old, claimed | new, _SHOWN, server="alpha")
    yield _write("mappings: without the gate", _SPEC, claimed, {_LIST: [_CLAIMED]}, _SHOWN)
    bound = {**_SPEC, "nodeName": "n"}
    yield _write("status: a nominated node of what is bound", bound, {}, {"nominatedNodeName": "m"})
