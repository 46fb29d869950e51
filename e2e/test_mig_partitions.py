"""KEP-4815, the MIG use case: partitions of one GPU exist side by side only where the hardware has room for them."""

from __future__ import annotations

import pytest

from drakit_api.core.conditions import condition_of
from drakit_client.resources import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.manifests import pod
from e2e.four_partitions import SEED_CLAIM, gpu_of_all_four
from e2e.hardware import StartGpus
from e2e.ledger import AllFree, Allocated, DevicesOf, OpenLedger

pytestmark = pytest.mark.capability(
    "partitionable devices: MIG",
    source="KEP-4815",
    gates=["DRAPartitionableDevices"],
)


def test_the_four_partitions_of_the_kep_share_one_gpu(
    api: Api, gpus: StartGpus, ledger: OpenLedger, all_free: AllFree, node: str
) -> None:
    gpu = gpus(nodes=[node], gpus=2)
    api.create(gpu.partitions("mig-devices", *SEED_CLAIM), pod("consumer", "mig-devices"))
    api.wait_running("consumer")

    gpu_of_all_four(ledger(gpu.name), api.get(RESOURCE_CLAIMS, "mig-devices"))

    api.delete(PODS, "consumer")
    api.wait_gone(PODS, ["consumer"])
    all_free("mig-devices")
    assert ledger(gpu.name).used() == {}


def test_the_container_sees_exactly_its_partitions(
    api: Api, gpus: StartGpus, ledger: OpenLedger, devices_of: DevicesOf, node: str
) -> None:
    gpu = gpus(nodes=[node])
    api.create(gpu.partitions("mig-devices", *SEED_CLAIM), pod("consumer", "mig-devices"))
    api.wait_running("consumer")

    environment = api.environment("consumer")
    devices = devices_of("mig-devices")
    variables = {device: "GPU_DEVICE_" + device.removeprefix("gpu-").replace("-", "_").upper() for device in devices}
    assert environment["NVIDIA_VISIBLE_DEVICES"] == "void"
    assert {environment[variable] for variable in variables.values()} == set(devices)
    assert all(environment[f"{variable}_UUID"].startswith("MIG-") for variable in variables.values())
    assert len({environment[f"{variable}_UUID"] for variable in variables.values()}) == len(devices)
    parent = ledger(gpu.name).devices[node, devices[0]]["attributes"]["parentUUID"]["string"]
    assert {environment[f"{variable}_PARENT_UUID"] for variable in variables.values()} == {parent}
    named = {
        value for name, value in environment.items() if name.startswith("GPU_DEVICE_") and value.startswith("gpu-")
    }
    assert named == set(devices)


@pytest.mark.parametrize("whole_first", [True, False], ids=["the GPU first", "the partition first"])
def test_a_whole_gpu_and_its_partitions_exclude_each_other(
    api: Api, gpus: StartGpus, ledger: OpenLedger, whole_first: bool, node: str
) -> None:
    gpu = gpus(nodes=[node])
    claims = [gpu.whole("whole"), gpu.partitions("part", "1g.5gb")]
    first, second = claims if whole_first else reversed(claims)
    for claim in (first, second):
        api.create(claim, pod(claim["metadata"]["name"], claim["metadata"]["name"]))
        if claim is first:
            api.wait_running(first["metadata"]["name"])
    waiting = second["metadata"]["name"]
    message = api.wait_event(waiting, "FailedScheduling")
    assert "cannot allocate all claims" in message
    ledger(gpu.name).check()

    api.delete(PODS, first["metadata"]["name"])
    api.wait_running(waiting)
    ledger(gpu.name).check()


@pytest.mark.parametrize(
    ("profiles", "left_over"),
    [
        (["1g.5gb+me", "1g.5gb+me"], 1),
        (["3g.20gb", "4g.20gb", "1g.5gb"], 1),
        (["1g.5gb"] * 8, 1),
        (["7g.40gb", "1g.5gb"], 1),
        (["2g.10gb"] * 3 + ["1g.5gb"], 0),
    ],
    ids=["media extensions once", "3g + 4g leave nothing", "seven 1g", "7g is everything", "three 2g and a 1g"],
)
def test_what_one_gpu_holds(
    api: Api, gpus: StartGpus, ledger: OpenLedger, allocated: Allocated, profiles: list[str], left_over: int, node: str
) -> None:
    gpu = gpus(nodes=[node])
    names = [f"part-{index}" for index in range(len(profiles))]
    for name, profile in zip(names, profiles, strict=True):
        api.create(gpu.partitions(name, profile), pod(name, name))
        # In this order: a scheduler that sees a pod before its claim takes the next pod first.
        api.wait(PODS, name, lambda seen: bool(condition_of(seen, "PodScheduled")), what="tried by the scheduler")
    claims = api.objects(RESOURCE_CLAIMS)
    fitting = len(profiles) - left_over
    account = ledger(gpu.name)
    account.check()
    assert len(account.holders) == fitting
    for name in set(names) - allocated(claims):
        assert "cannot allocate all claims" in api.wait_event(name, "FailedScheduling")


def test_every_mig_profile_of_an_a100_is_published(api: Api, gpus: StartGpus, node: str) -> None:
    gpu = gpus(nodes=[node])
    slices = api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={gpu.name}")
    devices = [device for item in slices for device in item["spec"].get("devices") or []]
    profiles = [device["attributes"].get("profile", {}).get("string", "whole") for device in devices]
    assert {profile: profiles.count(profile) for profile in profiles} == {
        "whole": 1, "1g.5gb": 7, "1g.5gb+me": 7, "1g.10gb": 4, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1,
    }  # fmt: skip
