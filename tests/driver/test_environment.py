"""What a container is told about its devices, in the variables of the vendors' drivers."""

from __future__ import annotations

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_driver.preparing.allocation import family_of
from drakit_driver.preparing.environment import (
    DeviceError,
    claim_environment,
    device_environment,
    nvidia_environment,
    tpu_environment,
)
from drakit_driver.preparing.opaque import decode


def gpu_of(brand: str, name: str, **attributes: str) -> Object:
    attributes = {"brand": brand, **attributes}
    return {"name": name, "attributes": {key: {"string": value} for key, value in attributes.items()}}


def nvidia(name: str, **attributes: str) -> Object:
    return gpu_of("Nvidia", name, **attributes)


def tpu(topology: str, hosts: list[str], generation: str = "v6e", name: str = "tpu") -> Object:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": hosts}
    return {
        "name": name,
        "attributes": {"tpuGen": {"string": generation}, "topology": {"string": topology}},
        "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]},
    }


def test_full_gpu() -> None:
    device = nvidia("gpu-3", type="gpu", uuid="GPU-1234")
    assert nvidia_environment(device, pool="n") == {"GPU_DEVICE_3": "gpu-3", "GPU_DEVICE_3_UUID": "GPU-1234"}


def test_mig_device_gets_a_stable_uuid_of_its_own() -> None:
    device = nvidia("gpu-0-mig-1g5gb-me-20-0", type="mig", parentUUID="GPU-1", profile="1g.5gb+me")
    prefix = "GPU_DEVICE_0_MIG_1G5GB_ME_20_0"
    variables = nvidia_environment(device, pool="node-1")
    assert variables == {
        prefix: "gpu-0-mig-1g5gb-me-20-0",
        f"{prefix}_UUID": "MIG-7aca423d-139d-5a44-a485-290fb26f74dc",
        f"{prefix}_PARENT_UUID": "GPU-1",
        f"{prefix}_MIG_PROFILE": "1g.5gb+me",
    }
    assert nvidia_environment(device, pool="node-2")[f"{prefix}_UUID"] != variables[f"{prefix}_UUID"]


def test_variables_of_several_devices_in_one_container_do_not_collide() -> None:
    devices = [nvidia(f"gpu-{gpu}-mig-1g5gb-19-{start}", type="mig") for gpu in range(8) for start in range(7)]
    names = [name for device in devices for name in nvidia_environment(device, pool="n")]
    assert len(names) == len(set(names))


def test_legacy_runtime_is_told_to_inject_nothing() -> None:
    assert claim_environment([nvidia("gpu-0", type="gpu")]) == {"NVIDIA_VISIBLE_DEVICES": "void"}
    assert claim_environment([tpu("2x2", ["a"])]) == {}


def test_sharing_is_told() -> None:
    config = decode(
        {
            "apiVersion": "resource.nvidia.com/v1beta1",
            "kind": "GpuConfig",
            "sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}},
        }
    )
    variables = nvidia_environment(nvidia("gpu-0", type="gpu", uuid="GPU-1"), pool="n", config=config)
    assert variables["GPU_DEVICE_0_SHARING_STRATEGY"] == "TimeSlicing"
    assert variables["GPU_DEVICE_0_TIMESLICE_INTERVAL"] == "Long"


def hosts(count: int) -> list[str]:
    return [f"w{index}" for index in range(count)]


@pytest.mark.parametrize(
    ("topology", "workers", "generation", "kind", "host_bounds", "wrap"),
    [
        ("2x2", 1, "v6e", "v6e-4", "1,1,1", "false,false,false"),
        ("2x4", 2, "v6e", "v6e-8", "1,2,1", "false,false,false"),
        ("4x4", 4, "v6e", "v6e-16", "2,2,1", "false,false,false"),
        ("4x8", 8, "v5litepod", "v5litepod-32", "2,4,1", "false,false,false"),
        ("8x16", 32, "v6e", "v6e-128", "4,8,1", "false,true,false"),
        ("16x16", 64, "v5litepod", "v5litepod-256", "8,8,1", "true,true,false"),
        ("2x2x4", 4, "v4", "v4-32", "1,1,4", "false,false,false"),
        ("4x4x4", 16, "v5p", "v5p-128", "2,2,4", "true,true,true"),
    ],
)
def test_tpu_slice(topology: str, workers: int, generation: str, kind: str, host_bounds: str, wrap: str) -> None:
    """Values as the Google driver computes them, for a 4-chip VM."""
    names = hosts(workers)
    variables = tpu_environment(tpu(topology, names, generation), host=names[-1])
    assert variables == {
        "TPU_SKIP_MDS_QUERY": "true",
        "TPU_TOPOLOGY": topology,
        "TPU_ACCELERATOR_TYPE": kind,
        "TPU_HOST_BOUNDS": host_bounds,
        "TPU_CHIPS_PER_HOST_BOUNDS": "2,2,1",
        "TPU_TOPOLOGY_ALT": "false",
        "TPU_TOPOLOGY_WRAP": wrap,
        "TPU_WORKER_ID": str(workers - 1),
        "TPU_WORKER_HOSTNAMES": ",".join(names) if workers > 1 else "localhost",
    }


def test_eight_chips_on_one_vm() -> None:
    variables = tpu_environment(tpu("2x4", ["w"]), host="w")
    assert (variables["TPU_HOST_BOUNDS"], variables["TPU_CHIPS_PER_HOST_BOUNDS"]) == ("1,1,1", "2,4,1")


@pytest.mark.parametrize(
    ("device", "host", "message"),
    [
        (tpu("4x4", hosts(4)), "other", "device tpu is not on host other, but on w0, w1, w2, w3"),
        (tpu("4", ["w0"]), "w0", "device tpu: topology '4' is not like 4x4 or 2x2x4"),
        (
            tpu("4x4", hosts(3)),
            "w0",
            "device tpu: topology 4x4 cannot be spread over 3 nodes of 1x1, 1x2, 2x2 or 2x4 chips each",
        ),
        (
            tpu("4x2", ["w0"]),
            "w0",
            "device tpu: topology 4x2 cannot be spread over 1 nodes of 1x1, 1x2, 2x2 or 2x4 chips each",
        ),
        (
            tpu("1x4", ["w0"]),
            "w0",
            "device tpu: topology 1x4 cannot be spread over 1 nodes of 1x1, 1x2, 2x2 or 2x4 chips each",
        ),
    ],
    ids=["elsewhere", "topology", "spread", "on its side", "in a row"],
)
def test_tpu_that_makes_no_sense(device: Object, host: str, message: str) -> None:
    with pytest.raises(DeviceError) as caught:
        tpu_environment(device, host=host)
    assert str(caught.value) == message


def test_a_gpu_of_somebody_else_is_any_other_device() -> None:
    device = gpu_of("Example", "gpu-0", type="gpu")
    assert family_of(device) == "other"
    assert claim_environment([device]) == {}
    assert device_environment(device, driver="gpu.example.com", pool="p", host="w", config=None) == {
        "DRA_DEVICE_GPU_0": "gpu.example.com/p/gpu-0"
    }


def test_any_other_device_is_named() -> None:
    variables = device_environment({"name": "nic-0.a"}, driver="d.example.com", pool="p/q", host="n", config=None)
    assert variables == {"DRA_DEVICE_NIC_0_A": "d.example.com/p/q/nic-0.a"}
