"""The layouts that are shipped: seed 004's own, with mixins, flatten to what hand and hardware say."""

from __future__ import annotations

from pathlib import Path

import pytest

from drakit_api.features import FeatureGates
from drakit_api.layouts.mixins import flatten
from drakit_api.layouts.pools import Pool, PoolError
from drakit_api.layouts.slices import resource_slices
from drakit_driver.cli.manifests import dump, listed
from drakit_driver.profiles.reading.catalog import build
from drakit_driver.profiles.reading.layout_files import documents

_LAYOUTS = Path(__file__).parents[2] / "driver" / "examples" / "layouts"


def _pool(name: str) -> Pool:
    (pool,) = build("layout", layout=_LAYOUTS / name)
    return pool


@pytest.mark.parametrize("path", sorted(_LAYOUTS.glob("*.yaml")), ids=lambda path: path.stem)
@pytest.mark.parametrize("gate", [False, True], ids=["flattened", "native"])
def test_shipped_layouts_split_and_mean_the_same_with_and_without_the_gate(path: Path, gate: bool) -> None:
    gates = FeatureGates(overrides={"DRAResourceSliceMixins": gate})
    pool = _pool(path.name)
    slices = resource_slices(pool, generation=1, gates=gates)
    devices = [device for each in slices for device in flatten(each["spec"]).devices]
    assert devices == flatten(pool).devices
    assert any("mixins" in each["spec"] for each in slices) is (gate and pool.mixins is not None)


def test_four_gpus() -> None:
    flat = flatten(_pool("four-gpus.yaml"))
    assert [each["name"] for each in flat.devices] == ["gpu-0", "gpu-1", "gpu-2", "gpu-3"]
    assert flat.shared_counters[3] == {"name": "gpu-3-counter-set", "counters": {"memory": {"value": "40Gi"}}}
    assert flat.devices[3] == {
        "name": "gpu-3",
        "attributes": {
            "architecture": {"string": "Ampere"},
            "brand": {"string": "Nvidia"},
            "cudaComputeCapability": {"version": "8.0.0"},
            "cudaDriverVersion": {"version": "12.6.0"},
            "driverVersion": {"version": "560.35.3"},
            "productName": {"string": "NVIDIA A100-SXM4-40GB"},
            "type": {"string": "gpu"},
            "uuid": {"string": "GPU-662077db-fa3f-0d8f-9502-21ab0ef058a2"},
        },
        "capacity": {"memory": {"value": "40Gi"}},
        "consumesCounters": [{"counterSet": "gpu-3-counter-set", "counters": {"memory": {"value": "40Gi"}}}],
    }


def test_four_partitions_in_both_spellings() -> None:
    seed, kep = flatten(_pool("four-partitions.yaml")), flatten(_pool("four-partitions-kep-5234.yaml"))
    assert seed == kep
    consumed = {device["name"]: device["consumesCounters"][0]["counters"]["memory"]["value"] for device in seed.devices}
    assert consumed == {**{f"gpu-0-partition-{i}": "10Gi" for i in range(4)}, "gpu-0": "40Gi"}


def test_the_dgx_layout_consumes_what_the_hardware_profile_consumes() -> None:
    """Written independently: the layout comes from the KEP's example, the profile from NVIDIA's tables."""
    (hardware,) = build("a100-40gb", gpus=2)
    flat = flatten(_pool("dgx-a100-mig.yaml"))
    assert len(flat.devices) == 52
    assert flat.shared_counters == hardware.shared_counters

    def consumption(pool: Pool) -> list[str]:
        return sorted(str(device["consumesCounters"]) for device in pool.devices)

    assert consumption(flat) == consumption(hardware)
    one = next(each for each in flat.devices if each["name"] == "gpu-1-mig-1g5gb-1")
    assert one["attributes"]["profile"] == {"string": "1g.5gb"}
    assert one["attributes"]["parentUUID"] == {"string": "GPU-e43c1138-8af2-4cfe-af1c-988dbd476754"}
    assert one["attributes"]["type"] == {"string": "mig"}
    assert one["capacity"]["memory"] == {"value": "4864Mi"}
    assert one["capacity"]["memorySlice1"] == {"value": "1"}


def test_the_tpu_layout_is_the_tpu_profile_without_attributes() -> None:
    (hardware,) = build("tpu-v6e-4x4")
    pool = _pool("tpu-4x4.yaml")
    for device in hardware.devices:
        del device["attributes"], device["capacity"]["hbm"]
    assert pool.devices == hardware.devices
    assert pool.shared_counters == hardware.shared_counters


@pytest.mark.slow
def test_a_printed_list_is_a_layout_again(tmp_path: Path) -> None:
    (pool,) = build("dgx-a100")
    slices = resource_slices(pool, generation=4, gates=FeatureGates())
    for form in ("yaml", "json"):
        path = tmp_path / f"slices.{form}"
        path.write_text(dump(listed(slices), "yaml" if form == "yaml" else "json"), encoding="utf-8")
        (read,) = build("layout", layout=path)
        assert (read.shared_counters, read.devices) == (pool.shared_counters, pool.devices)


def test_a_printed_list_with_mixins_is_a_layout_again(tmp_path: Path) -> None:
    pool = _pool("dgx-a100-mig.yaml")
    native = resource_slices(pool, generation=1, gates=FeatureGates(overrides={"DRAResourceSliceMixins": True}))
    path = tmp_path / "slices.yaml"
    path.write_text(dump(listed(native), "yaml"), encoding="utf-8")
    (read,) = build("layout", layout=path)
    assert read.mixins is not None
    assert flatten(read) == flatten(pool)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"a: {b: 1, b: 2}", '"b" is given twice in one object'),
        (b"a: [", "expected node content"),
        (b"\xff\xfe\xfd", "not UTF-8 at byte 0"),
        (b"a: !!python/object:os.system {}", "could not determine a constructor"),
        (b"a: \x01", "control characters are not allowed"),
    ],
    ids=["twice", "syntax", "encoding", "tag", "control"],
)
def test_broken_files_are_refused_with_name_and_place(tmp_path: Path, content: bytes, error: str) -> None:
    path = tmp_path / "layout.yaml"
    path.write_bytes(content)
    with pytest.raises(PoolError) as caught:
        documents(path)
    (line,) = caught.value.errors
    assert line.startswith(str(path))
    assert error in line


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PoolError, match="No such file"):
        documents(tmp_path / "none.yaml")


def test_yaml_merge_keys_and_anchors_work(tmp_path: Path) -> None:
    path = tmp_path / "layout.yaml"
    path.write_text(
        "driver: d.example.com\ndevices:\n"
        "- &gpu {name: d0, capacity: {memory: {value: 1Gi}}}\n"
        "- {<<: *gpu, name: d1}\n",
        encoding="utf-8",
    )
    (pool,) = build("layout", layout=path)
    assert [(each["name"], each["capacity"]) for each in pool.devices] == [
        ("d0", {"memory": {"value": "1Gi"}}),
        ("d1", {"memory": {"value": "1Gi"}}),
    ]
