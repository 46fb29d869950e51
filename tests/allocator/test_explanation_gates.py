"""What is ignored because a feature gate is off names that gate, and how to switch it on."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_allocator.explanation import Inventory, explain, explanation_json, explanation_text
from drakit_allocator.features import Features
from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object

_DRIVER = "gpu.example.com"
_NODE = {"metadata": {"name": "node-1", "labels": {}}}
_GPU = {"metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{_DRIVER}"'}}]}}
_COUNTERS = {"sharedCounters": [{"name": "gpu-0", "counters": {"memory": {"value": "4"}}}]}


def _slice(name: str, count: int = 1, **spec: Any) -> Object:
    where = {} if "perDeviceNodeSelection" in spec else {"nodeName": "node-1"}
    pool = {"name": "pool", "generation": 1, "resourceSliceCount": count}
    return {"metadata": {"name": name}, "spec": {"driver": _DRIVER, "pool": pool, **where, **spec}}


def _draws(**more: Any) -> Object:
    return {"consumesCounters": [{"counterSet": "gpu-0", "counters": {"memory": {"value": "1"}}, **more}]}


def _request(**more: Any) -> Object:
    return {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, **more}}


def _models(*models: str) -> Object:
    return {"attributes": {"models": {"strings": list(models)}}}


_GROUPED = [
    _slice("a", 2, **_COUNTERS),
    _slice("b", 2, devices=[{"name": "d", **_draws(compatibilityGroups=["mig"])}]),
]
_LISTS = [_slice("a", devices=[{"name": "d", **_models("a", "b")}, {"name": "e", **_models("b")}])]
_SAME_MODEL = [{"matchAttribute": f"{_DRIVER}/models"}]
_BINDING = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")


def _explained(
    slices: list[Object], request: Object, constraints: list[Object], features: Features
) -> tuple[Object, str]:
    devices = {"requests": [request], "constraints": constraints}
    claim = {"metadata": {"name": "new", "namespace": "default"}, "spec": {"devices": devices}}
    explanation = explain([claim], [_NODE], Inventory.of(features, slices=slices, classes=[_GPU]))
    return explanation_json(explanation), explanation_text(explanation)


@pytest.mark.parametrize(
    ("slices", "request_", "constraints", "gates", "line"),
    [
        pytest.param(
            _GROUPED,
            _request(),
            [],
            ("DRADeviceCompatibilityGroups",),
            f"pool {_DRIVER}/pool is incomplete: 1 of 2 slices of generation 1 (a); "
            "ignored while the feature gate DRADeviceCompatibilityGroups is off: b",
            id="a slice with compatibility groups, of which a pool lacks one then",
        ),
        pytest.param(
            [_slice("a", devices=[{"name": "d", "nodeName": "node-1"}], perDeviceNodeSelection=True)],
            _request(),
            [],
            ("DRAPartitionableDevices",),
            f"pool {_DRIVER}/pool is not seen: needs the feature gate DRAPartitionableDevices, which is off",
            id="devices that name their nodes",
        ),
        pytest.param(
            [_slice("a", 2, **_COUNTERS), _slice("b", 2, devices=[{"name": "d", **_draws()}])],
            _request(),
            [],
            ("DRAPartitionableDevices",),
            "      d: consumesCounters needs the feature gate DRAPartitionableDevices, which is off",
            id="partitions",
        ),
        pytest.param(
            [_slice("a", devices=[{"name": "d", "bindingConditions": ["ready"], "bindingFailureConditions": ["no"]}])],
            _request(),
            [],
            _BINDING,
            "      d: bindingConditions needs the feature gates "
            "DRADeviceBindingConditions and DRAResourceClaimDeviceStatus, which are off",
            id="binding conditions",
        ),
        pytest.param(
            _LISTS,
            _request(count=2),
            _SAME_MODEL,
            ("DRAListTypeAttributes",),
            "there are 2 with (a list: needs the feature gate DRAListTypeAttributes, which is off)",
            id="lists that a constraint compares",
        ),
    ],
)
def test_what_is_ignored_names_the_gate_that_would_help(
    slices: list[Object], request_: Object, constraints: list[Object], gates: tuple[str, ...], line: str
) -> None:
    every = Features.all() if "DRAListTypeAttributes" in gates else Features.from_gates(FeatureGates())
    on, _ = _explained(slices, request_, constraints, every.with_gates(gates))
    assert on["fits"]
    said, text = _explained(slices, request_, constraints, every.without_gates(gates))
    assert said["nodes"][0]["remedies"] == [{"kind": "enableGates", "gates": list(gates)}]
    assert line in text
    assert f"would help: switch on the feature gate{'s' if len(gates) > 1 else ''} {' and '.join(gates)}" in text
    assert f"--feature-gates {','.join(f'{gate}=true' for gate in gates)} " in text


@pytest.mark.parametrize(
    ("request_", "constraints", "gate"),
    [
        pytest.param(
            {"name": "r", "firstAvailable": [{"name": "one", **_request()["exactly"]}]},
            [],
            "DRAPrioritizedList",
            id="a prioritized list",
        ),
        pytest.param(_request(adminAccess=True), [], "DRAAdminAccess", id="admin access"),
        pytest.param(
            _request(derivedAttributes=[{"name": "d.example.com/x", "expression": "1"}]),
            [],
            "DRADerivedAttributes",
            id="derived attributes",
        ),
        pytest.param(
            _request(capacity={"requests": {"memory": "1"}}), [], "DRAConsumableCapacity", id="requests of capacity"
        ),
    ],
)
def test_a_claim_that_needs_a_gate_names_it(request_: Object, constraints: list[Object], gate: str) -> None:
    features = Features.all().without_gates((gate,))
    said, text = _explained([_slice("a", devices=[{"name": "d"}])], request_, constraints, features)
    assert said["errors"][0]["gates"] == [gate]
    assert f"; switch on the feature gate {gate} (--feature-gates {gate}=true of " in text
