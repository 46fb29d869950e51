"""How the pods of a test end, and what a run says of namespaces that do not go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from drakit_client.resources import NAMESPACES, PODS, Resource
from drakit_kind.clusters.api import Api, WaitTimeout
from drakit_kind.testing.pod_endings import end_pods, wait_for_end


class _Kept:
    """A cluster whose namespaces stay, each with some pods."""

    def __init__(self, pods: dict[str, list[dict[str, Any]]]) -> None:
        self._pods = pods

    def wait_gone(self, *_: object, timeout: float) -> None:
        raise WaitTimeout(f"Namespace a was not gone after {timeout:.0f} s")

    def objects(self, _: object, namespace: str) -> list[dict[str, Any]]:
        return self._pods[namespace]


class _Remade:
    """A namespace in which somebody makes each pod anew that goes; Kubernetes refuses it once the namespace ends."""

    def __init__(self) -> None:
        self.namespace = "a"
        self._pods = ["pod-0"]
        self._is_ending = False

    def objects(self, resource: Resource) -> list[dict[str, Any]]:
        return [{"metadata": {"name": name}} for name in self._pods] if resource == PODS else []

    def delete(self, resource: Resource, name: str, **_: object) -> None:
        if resource == NAMESPACES:
            self._is_ending = name == self.namespace
        elif name in self._pods:
            self._pods.remove(name)
            if not self._is_ending:
                self._pods.append(f"pod-{int(name.removeprefix('pod-')) + 1}")

    def wait_all(self, resource: Resource, condition: Callable[[list[Any]], bool], **_: object) -> None:
        if not condition(self.objects(resource)):
            raise WaitTimeout("there are pods")


def test_no_pod_comes_back_while_those_of_a_test_end(request: pytest.FixtureRequest) -> None:
    api = _Remade()
    end_pods(request.session, cast("Api", api))
    assert api.objects(PODS) == []


def test_the_pods_that_keep_a_namespace_are_named() -> None:
    deleted = {"namespace": "a", "name": "user", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    kept = [
        {"metadata": deleted, "spec": {"nodeName": "node-1"}, "status": {"phase": "Failed"}},
        {"metadata": {"namespace": "a", "name": "new"}, "spec": {}, "status": {"phase": "Pending"}},
    ]
    with pytest.raises(WaitTimeout) as error:
        wait_for_end(cast("Api", _Kept({"a": kept, "b": []})), ["a", "b"])
    assert str(error.value).splitlines() == [
        "Namespace a was not gone after 60 s",
        "pod a/user: Failed on node-1, deletion asked for: 2026-01-01T00:00:00Z",
        "pod a/new: Pending on no node, deletion asked for: never",
    ]
