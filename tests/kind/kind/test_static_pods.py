"""A component's manifest after a change: what was asked for, and nothing of the change before."""

from __future__ import annotations

from copy import deepcopy

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_kind.kind.static_pods import changed, health_address

MANIFEST: Object = {
    "metadata": {"name": "kube-scheduler"},
    "spec": {
        "containers": [
            {
                "image": "registry.k8s.io/kube-scheduler:v1.37.1",
                "command": [
                    "kube-scheduler",
                    "--bind-address=127.0.0.1",
                    "--feature-gates=A=true",
                    "--leader-elect=true",
                ],
                "startupProbe": {"initialDelaySeconds": 10, "periodSeconds": 10, "failureThreshold": 24},
            }
        ]
    },
}


def _container(manifest: Object) -> Object:
    container: Object = manifest["spec"]["containers"][0]
    return container


@pytest.mark.parametrize(
    ("flags", "command"),
    [
        ({}, ["kube-scheduler", "--bind-address=127.0.0.1", "--leader-elect=true"]),
        (
            {"feature-gates": "B=false", "leader-elect": "false"},
            ["kube-scheduler", "--bind-address=127.0.0.1", "--feature-gates=B=false", "--leader-elect=false"],
        ),
        (
            {"emulated-version": "kube=1.36"},
            ["kube-scheduler", "--bind-address=127.0.0.1", "--leader-elect=true", "--emulated-version=kube=1.36"],
        ),
    ],
    ids=["gates go when none are asked for", "others take their place", "a version is added"],
)
def test_flags_of_a_change_replace_those_of_the_one_before(flags: dict[str, str], command: list[str]) -> None:
    before = deepcopy(MANIFEST)
    assert _container(changed(MANIFEST, flags))["command"] == command
    assert before == MANIFEST


def test_another_version_is_another_image() -> None:
    assert _container(changed(MANIFEST, {}))["image"] == "registry.k8s.io/kube-scheduler:v1.37.1"
    assert _container(changed(MANIFEST, {}, image="x:1"))["image"] == "x:1"


def test_the_start_is_watched_every_second_for_as_long_as_before() -> None:
    once = changed(MANIFEST, {})
    assert _container(once)["startupProbe"] == {
        "initialDelaySeconds": 0,
        "periodSeconds": 1,
        "failureThreshold": 250,
    }
    assert _container(changed(once, {}))["startupProbe"] == _container(once)["startupProbe"]


_STARTS = {"startupProbe": {"httpGet": {"host": "172.18.0.2", "path": "/livez", "port": 6443, "scheme": "HTTPS"}}}
_READY = {"readinessProbe": {"httpGet": {"host": "127.0.0.1", "path": "/readyz", "port": "probe-port"}}}
_PORTS = {"ports": [{"containerPort": 1}, {"name": "probe-port", "containerPort": 10259}]}


@pytest.mark.parametrize(
    ("fields", "address"),
    [
        (_STARTS, ("https://172.18.0.2:6443", "/livez")),
        (_STARTS | _READY | _PORTS, ("http://127.0.0.1:10259", "/readyz")),
    ],
    ids=["all that there is", "readiness first, at a named port"],
)
def test_a_component_is_asked_where_its_kubelet_asks_it(fields: Object, address: tuple[str, str]) -> None:
    assert health_address({"spec": {"containers": [fields]}}) == address
