"""Sizes in etcd are those of the Go encoder: recorded with k8s.io/api v0.37.1 and its protobuf serializer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from drakit_api.etcd.sizes import stored
from drakit_api.features import FeatureGates
from drakit_api.layouts.pool_sizes import as_created, pool_sizes
from drakit_api.layouts.pools import Pool

_VECTORS = Path(__file__).parents[1] / "vectors" / "slices" / "etcd-sizes.jsonl"
_RECORDED = [json.loads(line) for line in _VECTORS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    "recorded", _RECORDED, ids=["counters", "nodes", "every-field", "created", "created-every-field"]
)
def test_size_is_that_of_the_go_encoder(recorded: dict[str, Any]) -> None:
    assert stored(recorded["slice"]) == recorded["bytes"]


def test_the_server_adds_name_uid_time_and_managed_fields() -> None:
    slice_ = _RECORDED[0]["slice"]
    created = as_created({**slice_, "metadata": {"generateName": "0" * 80}})
    assert created["metadata"]["name"] == "0" * 58 + "xxxxx"
    assert created["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:pool"] == {
        "f:name": {},
        "f:generation": {},
        "f:resourceSliceCount": {},
    }
    assert slice_["metadata"] != created["metadata"]


def test_mixins_of_alike_devices_make_slices_smaller() -> None:
    attributes = {f"attribute{index}": {"string": "x" * 20} for index in range(10)}
    pool = Pool(
        driver="d.example.com",
        name="p",
        all_nodes=True,
        mixins={"device": [{"name": "common", "attributes": attributes}]},
        devices=[{"name": f"d-{index}", "includes": ["common"]} for index in range(50)],
    )
    sizes = pool_sizes(pool, FeatureGates())
    assert sizes.with_mixins is not None
    assert sum(sizes.with_mixins) * 5 < sum(sizes.flattened)


def test_a_pool_without_mixins_has_one_size() -> None:
    assert pool_sizes(Pool("d.example.com", "p", all_nodes=True), FeatureGates()).with_mixins is None
