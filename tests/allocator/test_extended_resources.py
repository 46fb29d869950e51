"""The claim that is made for a pod's extended resources: what runs at the same time has devices of its own."""

from __future__ import annotations

import pytest

from drakit_allocator.scheduler import extended_resources
from drakit_api.kubernetes_objects import Object

_GPU, _NIC = "example.com/gpu", "example.com/nic"


def _container(restart: str = "", **amounts: str) -> Object:
    requests = {f"example.com/{name}": amount for name, amount in amounts.items()}
    return {"resources": {"requests": {"cpu": "1", **requests}}, **({"restartPolicy": restart} if restart else {})}


@pytest.mark.parametrize(
    ("init", "containers", "requests"),
    [
        pytest.param(
            [],
            [_container(gpu="2"), _container(), _container(gpu="1", nic="1")],
            {
                "container-0-request-1": ("gpu", 2),
                "container-2-request-1": ("gpu", 1),
                "container-2-request-2": ("nic", 1),
            },
            id="each container and resource by itself",
        ),
        pytest.param(
            [_container(gpu="3")],
            [_container(gpu="2"), _container(gpu="2")],
            {"container-1-request-1": ("gpu", 2), "container-2-request-1": ("gpu", 2)},
            id="an init container uses devices of those that come after it",
        ),
        pytest.param(
            [_container(gpu="3"), _container(gpu="5")],
            [_container(gpu="2")],
            {"container-1-request-1": ("gpu", 3), "container-2-request-1": ("gpu", 2)},
            id="the init container that lacks most says how many more it takes",
        ),
        pytest.param(
            [_container(gpu="1", restart="Always"), _container(gpu="2")],
            [_container(gpu="1")],
            {
                "container-0-request-1": ("gpu", 1),
                "container-1-request-1": ("gpu", 1),
                "container-2-request-1": ("gpu", 1),
            },
            id="what a sidecar before it has stays with the sidecar",
        ),
    ],
)
def test_containers_share_what_they_do_not_need_at_once(
    init: list[Object], containers: list[Object], requests: dict[str, tuple[str, int]]
) -> None:
    pod: Object = {"metadata": {"name": "p", "namespace": "n", "uid": "u"}}
    pod["spec"] = {"initContainers": init, "containers": containers}
    claim = extended_resources.claim_for(pod, {_GPU: "gpu", _NIC: "nic"})
    made = claim["spec"]["devices"]["requests"]
    assert {one["name"]: (one["exactly"]["deviceClassName"], one["exactly"]["count"]) for one in made} == requests
    assert [one["name"] for one in made] == sorted(requests)


def test_of_classes_with_one_resource_the_newest_is_behind_it() -> None:
    def of(name: str, day: int) -> Object:
        metadata = {"name": name, "creationTimestamp": f"2026-01-0{day}T00:00:00Z"}
        return {"metadata": metadata, "spec": {"extendedResourceName": _GPU}}

    classes = [of("old", 1), of("b", 2), of("a", 2)]
    found = extended_resources.class_of(_GPU, classes)
    assert found is not None
    assert found["metadata"]["name"] == "a"
    named = extended_resources.class_of("deviceclass.resource.kubernetes.io/old", classes)
    assert named is not None
    assert named["metadata"]["name"] == "old"
    assert extended_resources.class_of(_NIC, classes) is None
