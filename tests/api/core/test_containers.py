"""The containers of a pod: in which order they are walked, and which of them are sidecars."""

from __future__ import annotations

import pytest

from drakit_api.core.containers import LASTING, containers_of, is_sidecar, placed_containers
from drakit_api.kubernetes_objects import Object

SPEC: Object = {
    "containers": [{"name": "a"}, {"name": "b"}],
    "ephemeralContainers": [{"name": "c"}],
    "initContainers": [{"name": "d"}, {"name": "e"}],
}


def test_containers_are_walked_in_the_order_of_kubernetes() -> None:
    """``ContainerIter`` of k8s.io/kubernetes 1.37.1 ``pkg/api/v1/pod/util.go``."""
    assert [container["name"] for container in containers_of(SPEC)] == ["d", "e", "a", "b", "c"]
    assert [container["name"] for container in containers_of(SPEC, LASTING)] == ["d", "e", "a", "b"]


@pytest.mark.parametrize("spec", [{}, {"containers": None}, {"containers": []}])
def test_a_list_that_is_missing_has_no_containers(spec: Object) -> None:
    assert list(containers_of(spec)) == []
    assert list(placed_containers(spec, "spec")) == []


def test_each_container_has_its_place_in_its_own_list() -> None:
    assert [(path, container["name"]) for path, container in placed_containers(SPEC, "spec")] == [
        ("spec.initContainers[0]", "d"),
        ("spec.initContainers[1]", "e"),
        ("spec.containers[0]", "a"),
        ("spec.containers[1]", "b"),
        ("spec.ephemeralContainers[0]", "c"),
    ]
    assert [path for path, _ in placed_containers(SPEC, "template.spec", ("ephemeralContainers",))] == [
        "template.spec.ephemeralContainers[0]"
    ]


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({"restartPolicy": "Always"}, True),
        ({"restartPolicy": "OnFailure"}, False),
        ({"restartPolicy": "Never"}, False),
        ({"restartPolicy": None}, False),
        ({}, False),
    ],
)
def test_a_sidecar_is_a_container_that_restarts_always(container: Object, expected: bool) -> None:
    """``isRestartableInitContainer`` of k8s.io/component-helpers v0.37.1 ``resource/helpers.go``."""
    assert is_sidecar(container) is expected
