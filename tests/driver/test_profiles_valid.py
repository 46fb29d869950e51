"""What profiles and shipped examples make is valid, and the examples' claims find the devices they mean."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from drakit_api.cel import compile_selector, device_view
from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts.slices import resource_slices
from drakit_api.objects.decoding import decode
from drakit_api.objects.defaults import set_defaults
from drakit_api.objects.lifecycle import prepare_create
from drakit_api.validation import validate_create
from drakit_driver.profiles.reading.catalog import build, device_classes, problems, profiles

_EXAMPLES = Path(__file__).parents[2] / "driver" / "examples"
_GATES = FeatureGates()
_HARDWARE = [name for name, profile in profiles().items() if profile.kind != "layout"]
_PLURALS = {"ResourceClaim": "resourceclaims", "ResourceClaimTemplate": "resourceclaimtemplates"}


def _documents(name: str) -> list[Object]:
    return list(yaml.safe_load_all((_EXAMPLES / name).read_text(encoding="utf-8")))


def _problems(slices: list[Object]) -> list[object]:
    named = [{**each, "metadata": {"name": f"slice-{index}"}} for index, each in enumerate(slices)]
    return [error for each in named for error in validate_create("resourceslices", each, _GATES)]


def test_all_files_of_profiles_can_be_read() -> None:
    assert problems() == []


@pytest.mark.parametrize("name", _HARDWARE)
def test_slices_and_classes_of_a_profile_are_valid(name: str) -> None:
    slices = [each for pool in build(name) for each in resource_slices(pool, gates=_GATES)]
    assert _problems(slices) == []
    for device_class in device_classes(name):
        assert validate_create("deviceclasses", device_class, _GATES) == []


@pytest.mark.parametrize("path", sorted((_EXAMPLES / "layouts").glob("*.yaml")), ids=lambda path: path.stem)
def test_slices_of_a_shipped_layout_are_valid(path: Path) -> None:
    slices = [
        each for pool in build("layout", layout=path) for each in resource_slices(pool, generation=1, gates=_GATES)
    ]
    assert _problems(slices) == []


def test_the_check_can_fail() -> None:
    (pool,) = build("a30")
    slices = resource_slices(pool, generation=1, gates=_GATES, combined=True)
    assert "only one of `sharedCounters` or `devices` is allowed" in str(_problems(slices))


def _requests(document: Object) -> Iterator[Object]:
    spec = document["spec"]
    for request in spec.get("spec", spec)["devices"]["requests"]:
        yield from [request["exactly"]] if "exactly" in request else request["firstAvailable"]


def _selected(profile: str, request: Object) -> list[str]:
    classes = {each["metadata"]["name"]: each for each in device_classes(profile)}
    selectors = classes[request["deviceClassName"]]["spec"]["selectors"] + request.get("selectors", [])
    compiled = [compile_selector(each["cel"]["expression"]) for each in selectors]
    (pool,) = build(profile)
    return [
        device["name"]
        for device in pool.devices
        if all(selector.matches(device_view(pool.driver, device)) for selector in compiled)
    ]


@pytest.mark.parametrize(
    ("example", "profile", "selected"),
    [
        ("gpu-whole.yaml", "a100-40gb", [1]),
        ("mig-four-partitions.yaml", "a100-40gb", [7, 7, 3, 2]),
        ("mig-prioritized.yaml", "a100-40gb", [2, 7]),
        ("mig-deployment.yaml", "a100-40gb", [14]),
        ("tpu-4x4.yaml", "tpu-v6e-4x4", [1]),
        ("tpu-2x4.yaml", "tpu-v6e-8x8", [8]),
    ],
)
def test_example_claims_are_valid_and_select_what_they_mean(example: str, profile: str, selected: list[int]) -> None:
    documents = _documents(example)
    (claim,) = [each for each in documents if each["kind"] in _PLURALS]
    kind = claim["kind"]
    written = {**claim, "metadata": {**claim["metadata"], "namespace": "default"}}
    decoded = decode(kind, written)
    set_defaults(kind, decoded, "2026-01-01T00:00:00Z")
    stored = prepare_create(kind, decoded, _GATES)
    assert validate_create(_PLURALS[kind], stored, _GATES) == []
    assert [len(_selected(profile, request)) for request in _requests(claim)] == selected


@pytest.mark.parametrize("path", sorted(_EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_example_pods_refer_to_the_claim_beside_them(path: Path) -> None:
    claim, workload = _documents(path.name)
    pod = workload["spec"]["template"]["spec"] if workload["kind"] == "Deployment" else workload["spec"]
    field = "resourceClaimName" if claim["kind"] == "ResourceClaim" else "resourceClaimTemplateName"
    assert [each[field] for each in pod["resourceClaims"]] == [claim["metadata"]["name"]]
    names = {each["name"] for each in pod["resourceClaims"]}
    spec = claim["spec"].get("spec", claim["spec"])
    requests = {each["name"] for each in spec["devices"]["requests"]}
    for container in pod["containers"]:
        for used in container["resources"]["claims"]:
            assert used["name"] in names
            assert used.get("request", next(iter(requests))) in requests
