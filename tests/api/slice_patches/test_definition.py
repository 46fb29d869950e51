"""What an API server refuses of a ResourceSlicePatch, by the schema and the rules of its definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drakit_api.slice_patches.definition import definition, faults, manifest
from drakit_client.resources import BY_KIND, RESOURCE_SLICE_PATCHES

_ROOT = Path(__file__).parents[3]


def _patch(**devices: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.drakit.dev/v1alpha3",
        "kind": "ResourceSlicePatch",
        "metadata": {"name": "maintenance"},
        "spec": {"devices": devices},
    }


def _attributes(count: int) -> dict[str, Any]:
    return {f"gpu.example.com/a{index}": {"int": index} for index in range(count)}


@pytest.mark.parametrize(
    "devices",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"filter": {}, "priority": -1}, id="an empty filter"),
        pytest.param({"attributes": {"gpu.example.com/tier": {"null": {}}}}, id="null"),
        pytest.param({"capacity": {"gpu.example.com/memory": {"value": 0}}}, id="a capacity of 0"),
        pytest.param({"attributes": _attributes(32)}, id="32 attributes"),
    ],
)
def test_valid_patches(devices: dict[str, Any]) -> None:
    assert faults(_patch(**devices)) == []


@pytest.mark.parametrize(
    ("devices", "complaint"),
    [
        ({"attributes": {"tier": {"int": 1}}}, "spec.devices.attributes: Invalid value: must be a domain and a C"),
        ({"attributes": {"a/b": {}}}, "spec.devices.attributes[a/b]: Invalid value: must have exactly one of bool, "),
        ({"attributes": {"a/b": {"int": 1, "bool": True}}}, "spec.devices.attributes[a/b]: Invalid value: must have"),
        ({"attributes": {"a/b": None}}, 'to remove one, write {"null": {}}'),
        ({"capacity": {"a/b": None}}, "no capacity may be null, as none can be removed; write {value: 0} for nothing"),
        ({"capacity": {"a/b": {}}}, "spec.devices.capacity.a/b.value: Required value"),
        ({"capacity": {"a/b": {"value": "much"}}}, 'spec.devices.capacity.a/b.value: Invalid value: "much"'),
        # As a quantity it would be too large to be read, on every device that the patch is about.
        ({"capacity": {"a/b": {"value": "1e1000"}}}, 'spec.devices.capacity.a/b.value: Invalid value: "1e1000"'),
        (
            {"attributes": _attributes(32), "capacity": {"a/b": {"value": "1"}}},
            "spec.devices: Invalid value: the total number of attributes and capacities must not exceed 32",
        ),
        ({"attribute": {}}, 'unknown field "spec.devices.attribute"'),
    ],
)
def test_invalid_patches(devices: dict[str, Any], complaint: str) -> None:
    (found,) = faults(_patch(**devices))
    assert complaint in found


def test_a_null_without_quotes_is_explained() -> None:
    (found,) = faults(_patch(attributes={"a/b": {None: {}}}))
    assert found == 'spec.devices.attributes.a/b: the name of a field must be a text; write "null" in quotes'


def test_a_patch_of_another_type_or_name_is_refused() -> None:
    patch = {**_patch(), "apiVersion": "resource.k8s.io/v1alpha3", "metadata": {"name": "Maintenance"}}
    assert any("must be resource.drakit.dev/v1alpha3" in fault for fault in faults(patch))
    assert any("metadata.name" in fault for fault in faults({**_patch(), "metadata": {"name": "Maintenance"}}))


def test_looking_at_a_patch_leaves_it_as_it_is() -> None:
    patch = _patch(unknown=1)
    assert faults(patch)
    assert patch == _patch(unknown=1)


def test_the_manifest_defines_the_resource_that_clients_ask_for() -> None:
    spec, resource = definition()["spec"], BY_KIND["ResourceSlicePatch"]
    assert resource is RESOURCE_SLICE_PATCHES
    assert (spec["group"], spec["names"]["plural"], spec["names"]["kind"]) == (
        resource.group,
        resource.plural,
        resource.kind,
    )
    assert [version["name"] for version in spec["versions"]] == [resource.version]
    assert (spec["scope"] == "Namespaced") == resource.namespaced


def test_the_manifest_is_also_where_the_scheduler_is_deployed_from() -> None:
    deployed = _ROOT / "allocator" / "deploy" / "patches.yaml"
    assert deployed.read_text() == (_ROOT / "api" / "drakit_api" / "slice_patches" / "manifest.yaml").read_text()
    assert not Path(deployed.readlink()).is_absolute()


def test_what_is_handed_out_can_be_changed() -> None:
    manifest()[0]["spec"].clear()
    definition()["spec"].clear()
    assert definition()["spec"]["group"] == "resource.drakit.dev"
