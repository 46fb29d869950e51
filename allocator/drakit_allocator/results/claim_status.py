"""Allocation results from a solution: devices, configuration, node selector, as ``status.allocation`` holds them.

Source: the end of ``Allocate`` and ``createNodeSelector`` of ``structured/internal/{stable,experimental}``.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.requests import ClaimRequests, Request
from drakit_allocator.results.placements import Placement
from drakit_api.typed_objects import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)


def allocation_result(
    claim: ClaimRequests, chosen: Sequence[Request], placements: Sequence[Placement], node: Node, features: Features
) -> AllocationResult:
    """Make the v1 AllocationResult of a claim. ``chosen`` has the (sub)request taken for each of its requests.

    Raises ``AllocationError`` for devices of a slice whose node selector has several terms.
    """
    devices: DeviceAllocationResult = {}
    if placements:
        devices["results"] = [_device_result(placement, features) for placement in placements]
    if configs := _configs(claim, chosen):
        devices["config"] = configs
    result: AllocationResult = {"devices": devices}
    selector = _node_selector(placements, node, features, claim)
    if selector is not None:
        result["nodeSelector"] = selector
    return result


def _device_result(placement: Placement, features: Features) -> DeviceRequestAllocationResult:
    request, device = placement.request, placement.device
    driver, pool, name = device.id
    result: DeviceRequestAllocationResult = {
        "request": request.result_name,
        "driver": driver,
        "pool": pool,
        "device": name,
    }
    if request.has_admin_access:
        result["adminAccess"] = True
    if request.spec.get("tolerations"):
        result["tolerations"] = request.spec["tolerations"]
    if features.device_binding_and_status:
        for field in ("bindingConditions", "bindingFailureConditions"):
            if device.content.spec.get(field):
                result[field] = device.content.spec[field]
    if placement.amounts is not None:
        result["shareID"] = str(uuid.uuid4())
        if placement.amounts:
            result["consumedCapacity"] = {name: str(amount) for name, amount in placement.amounts.items()}
    if device.slice.skip_node_operations and features.variant == "experimental":
        result["skipNodeOperations"] = list(device.slice.skip_node_operations)
    return result


def _configs(claim: ClaimRequests, chosen: Sequence[Request]) -> list[DeviceAllocationConfiguration]:
    """List the configuration of the classes, each class once, then the claim's own for the requests that were taken."""
    configs = _class_configs(chosen)
    for config in (claim.claim["spec"].get("devices") or {}).get("config") or ():
        names = config.get("requests") or []
        if not names or any(_is_named(request, names) for request in chosen):
            configs.append(_config("FromClaim", names, config))
    for config in configs:
        if all(_is_named(request, config["requests"]) for request in chosen):
            config["requests"] = []
    for config in configs:
        if not config["requests"]:
            del config["requests"]
    return configs


def _class_configs(chosen: Sequence[Request]) -> list[DeviceAllocationConfiguration]:
    configs: list[DeviceAllocationConfiguration] = []
    of_class: dict[str, list[DeviceAllocationConfiguration]] = {}
    for request in chosen:
        name = request.device_class["metadata"]["name"]
        if name in of_class:
            for config in of_class[name]:
                config["requests"].append(request.result_name)
            continue
        of_class[name] = [
            _config("FromClass", [request.result_name], config)
            for config in request.device_class["spec"].get("config") or ()
        ]
        configs += of_class[name]
    return configs


def _config(source: str, requests: list[str], config: Mapping[str, Any]) -> DeviceAllocationConfiguration:
    found: DeviceAllocationConfiguration = {"source": source, "requests": list(requests)}
    if "opaque" in config:
        found["opaque"] = config["opaque"]
    return found


def _is_named(request: Request, names: Sequence[str]) -> bool:
    """Tell whether a list of requests names this one, directly or, for a subrequest, by its parent."""
    return request.result_name in names or (request.parent is not None and request.parent in names)


def _node_selector(
    placements: Sequence[Placement], node: Node, features: Features, claim: ClaimRequests
) -> NodeSelector | None:
    """Return where the devices can be used: one node, those that satisfy all their selectors, or anywhere (None)."""
    found: dict[str, list[NodeSelectorRequirement]] = {"matchFields": [], "matchExpressions": []}
    for placement in placements:
        device = placement.device
        node_name, _, selector = device.node_selection()
        if node_name is not None and features.variant == "stable":
            return _only(node_name)
        if node_name is not None or (features.variant != "stable" and device.content.spec.get("bindsToNode")):
            return _only(node.name)
        terms = (selector or {}).get("nodeSelectorTerms") or ()
        if len(terms) > 1:
            why = f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
            raise AllocationError(f"create NodeSelector for claim {claim.claim['metadata'].get('name')}: {why}")
        for kind, requirements in found.items():
            for requirement in (terms[0].get(kind) or ()) if terms else ():
                if not any(_is_same(requirement, known) for known in requirements):
                    requirements.append(requirement)
    term: NodeSelectorTerm = {}
    if found["matchFields"]:
        term["matchFields"] = found["matchFields"]
    if found["matchExpressions"]:
        term["matchExpressions"] = found["matchExpressions"]
    return {"nodeSelectorTerms": [term]} if term else None


def _only(node_name: str) -> NodeSelector:
    field: NodeSelectorRequirement = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    same = one["key"] == other["key"] and one["operator"] == other["operator"]
    return same and set(one.get("values") or ()) == set(other.get("values") or ())
