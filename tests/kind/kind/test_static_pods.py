"""A component's manifest after a change: what was asked for, and nothing of the change before."""

from __future__ import annotations

from copy import deepcopy

import pytest

from drakit_kind.kind.static_pods import Object, changed

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
