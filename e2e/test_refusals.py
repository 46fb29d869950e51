"""What is wrong is said in Kubernetes' own words where its user looks: in the answer, or in the pod's events."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from drakit_client.errors import ApiError
from drakit_client.resources import NODES, PODS, RESOURCE_CLAIMS, RESOURCE_QUOTAS, RESOURCE_SLICES
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.manifests import claim, claim_template, pod, request
from e2e.hardware import StartGpus, TakeNodes

pytestmark = pytest.mark.capability(
    "errors where their user looks",
    source="KEP-4381, KEP-4815",
)

_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_FIRST = "spec.devices.requests[0]"

# name: (claim, HTTP code, the whole message after the object's name)
BAD_CLAIMS = {
    "no device class": (
        {"requests": [{"name": "gpu", "exactly": {}}]},
        422,
        f"{_FIRST}.exactly.deviceClassName: Required value",
    ),
    "neither exactly nor firstAvailable": (
        {"requests": [{"name": "gpu"}]},
        422,
        f"{_FIRST}: Required value: exactly one of `exactly` or `firstAvailable` is required",
    ),
    "a class name that cannot exist": (
        {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "GPU_A100"}}]},
        422,
        f'{_FIRST}.exactly.deviceClassName: Invalid value: "GPU_A100": {_SUBDOMAIN}',
    ),
    "an unknown allocation mode": (
        {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "allocationMode": "Any"}}]},
        422,
        f'{_FIRST}.exactly.allocationMode: Unsupported value: "Any": supported values: "All", "ExactCount"',
    ),
    "a selector that is no boolean": (
        {
            "requests": [
                {
                    "name": "gpu",
                    "exactly": {"deviceClassName": "a.b", "selectors": [{"cel": {"expression": "device.driver"}}]},
                }
            ]
        },
        422,
        f'{_FIRST}.exactly.selectors[0].cel.expression: Invalid value: "device.driver": must evaluate to bool or the '
        "unknown type, not string",
    ),
    "a constraint on a request that is not there": (
        {
            "requests": [{"name": "gpu", "exactly": {"deviceClassName": "a.b"}}],
            "constraints": [{"requests": ["cpu"], "matchAttribute": "a.b/c"}],
        },
        422,
        'spec.devices.constraints[0].requests[0]: Invalid value: "cpu": must be the name of a request in the claim or '
        "the name of a request and a subrequest separated by '/'",
    ),
}


@pytest.mark.parametrize("case", BAD_CLAIMS)
def test_a_bad_claim_is_refused_at_the_request(api: Api, case: str) -> None:
    devices, code, message = BAD_CLAIMS[case]
    bad = claim("bad")
    bad["spec"]["devices"] = devices
    with pytest.raises(ApiError) as refusal:
        api.create(bad)
    assert (refusal.value.code, refusal.value.message) == (
        code,
        f'ResourceClaim.resource.k8s.io "bad" is invalid: {message}',
    )
    assert api.find(RESOURCE_CLAIMS, "bad") is None


def test_an_unknown_class_is_named_in_the_pods_event(api: Api, gpus: StartGpus, node: str) -> None:
    gpus(nodes=[node])
    api.create(claim("lost", request("gpu", "no-such-class.example.com")), pod("waiting", "lost"))
    why = "request gpu: device class no-such-class.example.com does not exist"
    assert why in api.wait_event("waiting", "FailedScheduling", containing=why)


def test_a_selector_that_fails_on_a_device_is_an_error_of_that_node(api: Api, gpus: StartGpus, node: str) -> None:
    gpu = gpus(nodes=[node])
    selector = f"device.attributes['{gpu.name}'].nosuchattribute == 'x'"
    api.create(claim("typo", request("gpu", gpu.gpu_class, selector)), pod("waiting", "typo"))
    why = "no such key: nosuchattribute"
    assert why in api.wait_event("waiting", "FailedScheduling", containing=why)


def test_a_selector_that_fails_on_one_node_keeps_the_pod_from_the_others(
    api: Api, gpus: StartGpus, nodes: TakeNodes
) -> None:
    gpu = gpus(nodes=nodes(2))
    first = min(item["spec"]["nodeName"] for item in api.objects(RESOURCE_SLICES) if item["spec"]["driver"] == gpu.name)
    uuids = [
        device["attributes"]["uuid"]["string"]
        for item in api.objects(RESOURCE_SLICES)
        if (item["spec"]["driver"], item["spec"].get("nodeName")) == (gpu.name, first)
        for device in item["spec"].get("devices") or []
        if device["attributes"].get("type") == {"string": "gpu"}
    ]
    attributes = f"device.attributes['{gpu.name}']"
    selector = f"{attributes}.uuid in {uuids} || {attributes}.nosuchattribute == 'x'"
    api.create(claim("typo", request("gpu", gpu.gpu_class, selector)), pod("waiting", "typo"))
    message = api.wait_event("waiting", "FailedScheduling", containing="CEL runtime error: no such key")
    assert message.startswith('running "DynamicResources" filter plugin: claim ')
    assert "nodeName" not in api.get(PODS, "waiting")["spec"]


def test_a_claim_that_nothing_satisfies_says_so_for_the_node(api: Api, gpus: StartGpus, node: str) -> None:
    gpu = gpus(nodes=[node])
    api.create(gpu.partitions("too-much", *["3g.20gb"] * 3), pod("waiting", "too-much"))
    message = api.wait_event("waiting", "FailedScheduling", containing="cannot allocate all claims")
    assert message.startswith(f"0/{len(api.objects(NODES))} nodes are available: ")


def test_a_template_that_cannot_become_a_claim_is_told_at_the_pod(api: Api) -> None:
    api.create(pod("waiting", template="no-such-template"))
    message = api.wait_event("waiting", "FailedResourceClaimCreation")
    assert 'resource claim template "no-such-template": ' in message
    assert 'resourceclaimtemplate.resource.k8s.io "no-such-template" not found' in message


def test_a_claim_that_a_quota_forbids_is_told_at_the_pod(api: Api) -> None:
    hard = {"count/resourceclaims.resource.k8s.io": "0"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": hard}}
    api.create(quota)
    api.wait(
        RESOURCE_QUOTAS,
        "none",
        lambda seen: seen.get("status", {}).get("hard") == hard,
        what="taken in by its controller",
    )
    gpu = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
    api.create(claim_template("one", gpu), pod("waiting", template="one"))
    message = api.wait_event("waiting", "FailedResourceClaimCreation", containing="exceeded quota")
    assert "create ResourceClaim : resourceclaims.resource.k8s.io " in message
    assert "is forbidden: exceeded quota: none, requested: count/resourceclaims.resource.k8s.io=1, " in message
    api.delete(RESOURCE_QUOTAS, "none")
    made = api.wait(
        PODS, "waiting", lambda seen: bool(seen["status"].get("resourceClaimStatuses")), what="given a claim"
    )
    assert made["status"]["resourceClaimStatuses"][0]["resourceClaimName"].startswith("waiting-")


def test_a_pod_without_its_driver_on_the_node_says_which(api: Api, gpus: StartGpus, node: str) -> None:
    gpu = gpus(nodes=[node])
    # Its kubelet has the pod before the driver goes: half a minute later it removes the slices, and nothing fits.
    gpu.driver.pause()
    api.create(gpu.partitions("part", "1g.5gb"), pod("waiting", "part"))
    api.wait(PODS, "waiting", lambda seen: bool(seen["status"].get("startTime")), what="taken by its kubelet")
    gpu.driver.kill()
    gpu.driver.forget_registration()
    why = f"DRA driver {gpu.name} is not registered"
    assert why in api.wait_event("waiting", "FailedPrepareDynamicResources", containing=why)
    gpu.driver.start()
    api.wait_running("waiting")


_GOOD_LAYOUT = """
driver: gpu.example.com
pool: {name: node-1}
nodeName: node-1
sharedCounters:
- name: gpu-0-counter-set
  counters:
    memory: {value: 40Gi}
devices:
- name: gpu-0
  basic:
    consumesCounters:
    - counterSet: gpu-0-counter-set
      counters:
        memory: {value: 40Gi}
"""


@pytest.mark.parametrize(
    ("wrong", "right", "says"),
    [
        ("counterSet: gpu-0-counter-set", "counterSet: gpu-9-counter-set", ["gpu-0", "gpu-9-counter-set"]),
        ("consumesCounters:", "consumesCapacity:", ["gpu-0", "consumesCapacity", "consumesCounters"]),
        ("      counters:", "      counter:", ["gpu-0", "counter", "counters"]),
        ("memory: {value: 40Gi}", "memory: {quantity: 40Gi}", ["quantity", "value"]),
        ("name: gpu-0\n", "name: gpu.0\n", ["gpu.0"]),
    ],
    ids=["unknown counter set", "consumesCapacity", "counter", "quantity", "dotted name"],
)
def test_a_bad_layout_is_refused_with_the_right_spelling(
    tmp_path: Path, wrong: str, right: str, says: list[str]
) -> None:
    layout = tmp_path / "layout.yaml"
    layout.write_text(_GOOD_LAYOUT)
    assert _slices_of(layout).returncode == 0
    layout.write_text(_GOOD_LAYOUT.replace(wrong, right))
    refused = _slices_of(layout)
    assert refused.returncode != 0
    assert refused.stdout == ""
    assert "Traceback" not in refused.stderr
    assert [word for word in says if word not in refused.stderr] == []


def _slices_of(layout: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "drakit_kind", "driver", "slices", "layout", str(layout)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_template_with_a_bad_claim_is_refused_like_the_claim(api: Api) -> None:
    template = claim_template("bad", {"name": "gpu", "exactly": {}})
    with pytest.raises(ApiError, match=r"spec\.spec\.devices\.requests\[0\]\.exactly\.deviceClassName: Required value"):
        api.create(template)
