"""What a replication controller may say (ValidateReplicationControllerSpec of pkg/apis/core/validation)."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry import workload_rules

LABELS = {"app": "x"}
CONTAINER = {
    "name": "c",
    "image": "i",
    "imagePullPolicy": "Always",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
POD = {"containers": [CONTAINER], "restartPolicy": "Always", "dnsPolicy": "ClusterFirst"}


def template(labels: dict[str, str] | None = None, **pod: Any) -> Object:
    return {"metadata": {"labels": LABELS if labels is None else labels}, "spec": {**POD, **pod}}


def spec(**more: Any) -> Object:
    return {"replicas": 1, "selector": LABELS, "template": template(), **more}


@pytest.mark.parametrize(
    ("found", "messages"),
    [
        (spec(), []),
        (spec(replicas=-1), ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
        (spec(minReadySeconds=-1), ["spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"]),
        (spec(selector={}), ["spec.selector: Required value"]),
        ({"replicas": 1, "selector": LABELS}, ["spec.template: Required value"]),
        (
            spec(template=template({"app": "y"})),
            ['spec.template.metadata.labels: Invalid value: {"app":"y"}: `selector` does not match template `labels`'],
        ),
        (
            spec(template=template(restartPolicy="Never")),
            ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
        ),
        (
            spec(template=template(activeDeadlineSeconds=5)),
            [
                "spec.template.spec.activeDeadlineSeconds: Forbidden: "
                "activeDeadlineSeconds in ReplicationController is not Supported"
            ],
        ),
    ],
)
def test_a_replication_controller_is_judged(found: Object, messages: list[str]) -> None:
    assert [str(error) for error in workload_rules.replication_controller(found, "spec")] == messages
