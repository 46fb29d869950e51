"""What pods need, by what they, their containers and their overhead say.

Each answer is one of Kubernetes: of ``PodRequests``, ``PodLimits`` and ``AggregateContainerRequests`` of
``k8s.io/component-helpers`` v0.37.1 ``resource``, called with this pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from drakit_api.core.pod_resources import Side, needed, of_containers
from drakit_api.kubernetes_objects import Object
from drakit_api.quantity import Quantity

PAGES = "hugepages-2Mi"


def container(cpu: str | None = None, limit: str | None = None, **requests: str) -> Object:
    requested = requests if cpu is None else {"cpu": cpu, **requests}
    return {"name": "c", "resources": {"requests": requested, **({} if limit is None else {"limits": {"cpu": limit}})}}


def sidecar(cpu: str) -> Object:
    return {**container(cpu), "restartPolicy": "Always"}


def amounts(listed: Mapping[str, Any] | None) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in (listed or {}).items()}


def quantities(**texts: str) -> dict[str, Quantity]:
    return amounts(texts)


ONE, TWO = [container("1")], [container("1"), container("2")]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {}),
        ({"containers": TWO}, {"cpu": "3"}),
        ({"containers": [container("1"), container()]}, {"cpu": "1"}),
        ({"containers": [container("0")]}, {"cpu": "0"}),
        ({"containers": [container("1")] * 2, "initContainers": [container("5")]}, {"cpu": "5"}),
        ({"containers": [container("3"), container("1")], "initContainers": [container("2")]}, {"cpu": "4"}),
        ({"containers": ONE, "initContainers": [container("2"), container("3")]}, {"cpu": "3"}),
        ({"containers": ONE, "initContainers": [sidecar("2")]}, {"cpu": "3"}),
        ({"containers": ONE, "initContainers": [sidecar("2"), container("4")]}, {"cpu": "6"}),
        ({"containers": ONE, "initContainers": [container("4"), sidecar("2")]}, {"cpu": "4"}),
        ({"containers": ONE, "initContainers": [sidecar("1"), container("3"), sidecar("2")]}, {"cpu": "4"}),
        ({"containers": ONE, "initContainers": [{**container("2"), "restartPolicy": "OnFailure"}]}, {"cpu": "2"}),
        (
            {"containers": [container("1", memory="1Gi")], "initContainers": [container("2", memory="512Mi")]},
            {"cpu": "2", "memory": "1Gi"},
        ),
        ({"containers": ONE, "initContainers": [container(memory="1Gi")]}, {"cpu": "1", "memory": "1Gi"}),
        ({"containers": ONE, "ephemeralContainers": [container("9")]}, {"cpu": "1"}),
        ({"containers": TWO, "resources": {"requests": {"cpu": "10"}}}, {"cpu": "3"}),
        ({"containers": ONE, "overhead": {"cpu": "500m"}}, {"cpu": "1"}),
    ],
)
def test_what_containers_need_together(spec: Object, expected: dict[str, str]) -> None:
    assert of_containers(spec, "requests", amounts) == amounts(expected)


@pytest.mark.parametrize(
    ("spec", "requests", "limits"),
    [
        ({}, {}, {}),
        ({"containers": TWO}, {"cpu": "3"}, {}),
        ({"containers": TWO, "resources": {"requests": {"cpu": "10"}}}, {"cpu": "10"}, {}),
        ({"containers": TWO, "resources": {"requests": {"cpu": "2"}}}, {"cpu": "2"}, {}),
        ({"containers": ONE, "resources": {"requests": {"memory": "1Gi"}}}, {"cpu": "1", "memory": "1Gi"}, {}),
        ({"containers": ONE, "resources": {"requests": {"example.com/gpu": "1"}}}, {"cpu": "1"}, {}),
        (
            {"containers": [container("1", **{PAGES: "2Mi"})], "resources": {"requests": {PAGES: "8Mi"}}},
            {"cpu": "1", PAGES: "8Mi"},
            {},
        ),
        ({"containers": [container("1", "2")], "resources": {"limits": {"cpu": "10"}}}, {"cpu": "1"}, {"cpu": "10"}),
        (
            {"containers": [container("1", "2")], "overhead": {"cpu": "500m", "memory": "1Mi"}},
            {"cpu": "1500m", "memory": "1Mi"},
            {"cpu": "2500m"},
        ),
        (
            {
                "containers": [container("1", "2")],
                "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "6"}},
                "overhead": {"cpu": "500m"},
            },
            {"cpu": "4500m"},
            {"cpu": "6500m"},
        ),
        ({"containers": [container("0", "0")], "overhead": {"cpu": "500m"}}, {"cpu": "500m"}, {"cpu": "0"}),
        ({"containers": [container()], "overhead": {"cpu": "500m"}}, {"cpu": "500m"}, {}),
    ],
)
def test_what_a_pod_needs(spec: Object, requests: dict[str, str], limits: dict[str, str]) -> None:
    assert needed(spec, "requests", amounts) == amounts(requests)
    assert needed(spec, "limits", amounts) == amounts(limits)


@pytest.mark.parametrize(("side", "expected"), [("requests", "4"), ("limits", "6")])
def test_overhead_can_be_left_out(side: Side, expected: str) -> None:
    """``ExcludeOverhead``."""
    resources = {"requests": {"cpu": "4"}, "limits": {"cpu": "6"}}
    spec = {"containers": [container("1", "2")], "resources": resources, "overhead": {"cpu": "500m"}}
    assert needed(spec, side, amounts, overhead=False) == quantities(cpu=expected)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {}),
        ({"containers": [container("1"), container()]}, {"cpu": "1100m", "memory": "400Mi"}),
        ({"containers": [container("0")]}, {"cpu": "0", "memory": "200Mi"}),
        (
            {"containers": ONE, "initContainers": [sidecar("1"), container("3"), sidecar("2")]},
            {"cpu": "4", "memory": "600Mi"},
        ),
        ({"containers": TWO, "resources": {"requests": {"cpu": "2"}}}, {"cpu": "2", "memory": "400Mi"}),
        ({"containers": [container()], "overhead": {"cpu": "500m"}}, {"cpu": "600m", "memory": "200Mi"}),
    ],
)
def test_containers_that_do_not_say_what_they_need(spec: Object, expected: dict[str, str]) -> None:
    """``NonMissingContainerRequests``, as the scheduler has them for scores."""
    assert needed(spec, "requests", amounts, unset=quantities(cpu="100m", memory="200Mi")) == amounts(expected)
