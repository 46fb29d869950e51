"""Claims and the pods that use them: shared by name, one for each pod from a template, reserved by several."""

from __future__ import annotations

import pytest

from drakit_client.errors import Invalid
from drakit_client.resources import PODS, RESOURCE_CLAIMS
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.manifests import claim_template, first_available, pod, subrequest
from e2e.hardware import StartGpus
from e2e.ledger import AllFree, DevicesOf, OpenLedger

pytestmark = pytest.mark.capability(
    "claims: shared, from templates",
    source="KEP-4381",
)


def _consumers(api: Api, claim: str) -> set[str]:
    status = api.get(RESOURCE_CLAIMS, claim)["status"]
    return {consumer["name"] for consumer in status.get("reservedFor", [])}


def test_pods_that_name_the_same_claim_share_its_devices(
    api: Api, gpus: StartGpus, devices_of: DevicesOf, all_free: AllFree, node: str
) -> None:
    gpu = gpus(nodes=[node])
    names = ["first", "second", "third"]
    api.create(gpu.partitions("shared", "3g.20gb"), *(pod(name, "shared") for name in names))
    api.wait_running(*names)
    assert _consumers(api, "shared") == set(names)
    assert {api.get(PODS, name)["spec"]["nodeName"] for name in names} == {node}
    environments = [api.environment(name) for name in names]
    (device,) = devices_of("shared")
    assert all(device in environment.values() for environment in environments)

    api.delete(PODS, "first")
    api.wait_gone(PODS, ["first"])
    api.wait(RESOURCE_CLAIMS, "shared", lambda seen: len(seen["status"]["reservedFor"]) == 2)
    assert devices_of("shared") == [device]
    for name in names[1:]:
        api.delete(PODS, name)
    api.wait_gone(PODS, names)
    all_free("shared")


def test_a_template_gives_each_pod_a_claim_of_its_own(api: Api, gpus: StartGpus, ledger: OpenLedger, node: str) -> None:
    gpu = gpus(nodes=[node])
    names = ["first", "second"]
    api.create(
        claim_template("two-gigs", gpu.partition("2g.10gb")), *(pod(name, template="two-gigs") for name in names)
    )
    pods = api.wait_running(*names)
    claims = {
        item["metadata"]["name"]: item["status"]["resourceClaimStatuses"][0]["resourceClaimName"] for item in pods
    }
    assert len(set(claims.values())) == 2
    for item in pods:
        name = item["metadata"]["name"]
        claim = api.get(RESOURCE_CLAIMS, claims[name])
        assert claim["metadata"]["generateName"] == f"{name}-device-"
        (owner,) = claim["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == ("Pod", name, item["metadata"]["uid"])
        assert _consumers(api, claims[name]) == {name}
    ledger(gpu.name).check()

    api.delete(PODS, "first")
    api.wait_gone(RESOURCE_CLAIMS, [claims["first"]])
    assert _consumers(api, claims["second"]) == {"second"}


def test_a_finished_pod_gives_its_devices_back(
    api: Api, gpus: StartGpus, ledger: OpenLedger, all_free: AllFree, node: str
) -> None:
    gpu = gpus(nodes=[node])
    job = pod("job", "whole", restartPolicy="Never")
    job["metadata"]["annotations"] = {"drakit.dev/exit-after": "0.1s"}
    job["spec"]["containers"][0]["command"] = ["true"]
    api.create(gpu.whole("whole"), job)
    api.wait(PODS, "job", lambda seen: seen["status"].get("phase") == "Succeeded", what="Succeeded")
    all_free("whole")
    assert ledger(gpu.name).used() == {}


def test_a_pod_waits_for_a_claim_that_is_created_later(api: Api, gpus: StartGpus, node: str) -> None:
    """Without a word, as kube-scheduler does not even try such a pod."""
    gpu = gpus(nodes=[node])
    api.create(pod("early", "late"))
    api.create(gpu.partitions("there", "1g.5gb"), pod("other", "there"))
    api.wait_running("other")
    assert "nodeName" not in api.get(PODS, "early")["spec"]
    api.create(gpu.partitions("late", "1g.5gb"))
    api.wait_running("early")
    assert api.events("early", reason="FailedScheduling") == []


@pytest.mark.capability("claims: prioritized list", source="KEP-4816 (seeds 000, 001)", gates=["DRAPrioritizedList"])
def test_the_first_alternative_that_fits_is_taken(api: Api, gpus: StartGpus, devices_of: DevicesOf, node: str) -> None:
    """KEP-4816: while a whole GPU is free it is taken, else a partition."""
    gpu = gpus(nodes=[node], gpus=2)
    large = subrequest("large", gpu.gpu_class)
    small = subrequest("small", gpu.mig_class, f"device.attributes['{gpu.name}'].profile == '1g.5gb'")
    names = ["first", "second", "third"]
    api.create(gpu.partitions("fixed", "1g.5gb"), pod("fixed", "fixed"))
    api.wait_running("fixed")
    api.create(claim_template("either", first_available("gpu", large, small)))
    taken = []
    for name in names:
        api.create(pod(name, template="either"))
        (running,) = api.wait_running(name)
        claim = running["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
        results = api.get(RESOURCE_CLAIMS, claim)["status"]["allocation"]["devices"]["results"]
        taken.append(results[0]["request"])
    assert taken == ["gpu/large", "gpu/small", "gpu/small"]


def test_a_claim_in_use_cannot_be_deleted_from_under_its_pod(api: Api, gpus: StartGpus, node: str) -> None:
    gpu = gpus(nodes=[node])
    api.create(gpu.partitions("held", "1g.5gb"), pod("user", "held"))
    api.wait_running("user")
    api.delete(RESOURCE_CLAIMS, "held")
    held = api.get(RESOURCE_CLAIMS, "held")
    assert held["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    assert "allocation" in held["status"]
    api.delete(PODS, "user")
    api.wait_gone(RESOURCE_CLAIMS, ["held"])


def test_an_allocated_claim_cannot_be_pointed_elsewhere(api: Api, gpus: StartGpus, node: str) -> None:
    gpu = gpus(nodes=[node])
    api.create(gpu.partitions("fixed", "1g.5gb"), pod("user", "fixed"))
    api.wait_running("user")
    claim = api.get(RESOURCE_CLAIMS, "fixed")
    claim["status"]["allocation"]["devices"]["results"][0]["device"] = "gpu-0"
    # The second is what Kubernetes said before 1.37.
    with pytest.raises(Invalid, match=r"status\.allocation: .*(field cannot be modified once set|field is immutable)"):
        api.replace(claim, subresource="status")
