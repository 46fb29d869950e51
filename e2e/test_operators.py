"""Operators work as they are: with kinds of their own, whose objects they watch, complete, and let go at the end."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config

from drakit_client.resources import CONFIG_MAPS, RESOURCE_CLAIM_TEMPLATES
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.lifecycle import Cluster
from e2e.operators.definition import definition

pytestmark = pytest.mark.capability("operators: kinds of their own", source="apiextensions.k8s.io/v1")

_SECONDS = 60.0
_PAUSE = 0.1
_HERE = Path(__file__).parent
_OPERATORS = {
    "Workspace": ["-m", "kopf", "run", "--standalone", "--namespace", "{}", str(_HERE / "operators" / "with_kopf.py")],
    "Notebook": ["-m", "e2e.operators.with_client", "{}"],
}


@dataclass
class Objects:
    """The objects of an operator's kind in the namespace of a story."""

    official: Any
    place: tuple[str, str, str, str]
    kind: str
    operator: subprocess.Popen[bytes]

    def create(self, name: str, **spec: Any) -> dict[str, Any]:
        body = {"apiVersion": f"{self.place[0]}/v1", "kind": self.kind, "metadata": {"name": name}, "spec": spec}
        made: dict[str, Any] = self.official.create_namespaced_custom_object(*self.place, body)
        return made

    def patch(self, name: str, **spec: Any) -> None:
        self.official.patch_namespaced_custom_object(*self.place, name, {"spec": spec})

    def get(self, name: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self.official.get_namespaced_custom_object(*self.place, name)
        except client.ApiException as error:
            if error.status != 404:
                raise
            return None
        return found

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for what the operator is to do."""
        _until(lambda: condition() or self._has_ended(), what)

    def _has_ended(self) -> bool:
        assert self.operator.poll() is None, "the operator has ended"
        return False

    def status(self, name: str) -> dict[str, Any]:
        return (self.get(name) or {}).get("status") or {}


@pytest.fixture(params=_OPERATORS)
def objects(request: pytest.FixtureRequest, cluster: Cluster, api: Api, tmp_path: Path) -> Iterator[Objects]:
    """Objects of a kind that is defined for this story, with its operator beside the cluster."""
    kind: str = request.param
    if kind == "Workspace" and importlib.util.find_spec("kopf") is None:
        pytest.skip("kopf is not installed")
    group = f"{api.namespace}.example.com"
    defined = definition(group, kind)
    log = tmp_path / "operator.log"
    with config.new_client_from_config(str(cluster.kubeconfig)) as official:
        definitions: Any = client.ApiextensionsV1Api(official)
        definitions.create_custom_resource_definition(defined)
        try:
            _until(lambda: _is_established(definitions, defined["metadata"]["name"]), "the kind is served")
            with _operator(kind, group, api.namespace, cluster, log) as operator:
                place = (group, "v1", api.namespace, f"{kind.lower()}s")
                yield Objects(client.CustomObjectsApi(official), place, kind, operator)
        finally:
            definitions.delete_custom_resource_definition(defined["metadata"]["name"])
            print(log.read_text() if log.exists() else "the operator was not started")


@contextlib.contextmanager
def _operator(kind: str, group: str, namespace: str, cluster: Cluster, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, *(word.format(namespace) for word in _OPERATORS[kind])]
    paths = os.pathsep.join(filter(None, [str(_HERE.parent), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "OPERATOR_GROUP": group, "PYTHONPATH": paths}
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(_SECONDS)


def _is_established(definitions: Any, name: str) -> bool:
    conditions = definitions.read_custom_resource_definition(name).status.conditions or ()
    return any(each.type == "Established" and each.status == "True" for each in conditions)


def _until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not within {_SECONDS:g} s: {what}"
        time.sleep(_PAUSE)


def _gpus(api: Api, name: str) -> int | None:
    found = {each["metadata"]["name"]: each for each in api.objects(RESOURCE_CLAIM_TEMPLATES)}
    if name not in found:
        return None
    (request,) = found[name]["spec"]["spec"]["devices"]["requests"]
    count: int = request["exactly"]["count"]
    return count


def test_an_operator_makes_changes_and_undoes_what_its_users_want(api: Api, objects: Objects) -> None:
    made = objects.create("first", deviceClass="gpu.example.com")
    assert made["spec"]["gpus"] == 1
    objects.until(lambda: objects.status("first").get("phase") == "Ready", "the operator says that the object is ready")
    assert objects.status("first") == {**objects.status("first"), "template": "first-gpus", "gpus": 1}
    assert _gpus(api, "first-gpus") == 1
    objects.until(lambda: "Templated: made first-gpus" in api.events("first"), "the operator's event")
    seen = objects.get("first")
    assert seen is not None
    assert (seen["metadata"]["generation"], len(seen["metadata"]["finalizers"])) == (1, 1)

    objects.patch("first", gpus=4)
    objects.until(lambda: objects.status("first").get("gpus") == 4, "the operator has seen the change")
    assert _gpus(api, "first-gpus") == 4
    objects.until(lambda: "Resized: for 4 GPUs" in api.events("first"), "the event of the change")

    objects.official.delete_namespaced_custom_object(*objects.place, "first")
    objects.until(lambda: objects.get("first") is None, "the operator lets the object go")
    assert [each["metadata"]["name"] for each in api.objects(CONFIG_MAPS) if "ended" in each["metadata"]["name"]] == [
        "first-ended"
    ]
    objects.until(lambda: _gpus(api, "first-gpus") is None, "the template goes with it")


def test_what_the_schema_does_not_allow_never_reaches_an_operator(objects: Objects) -> None:
    for spec, why in (
        ({}, "spec.deviceClass: Required value"),
        ({"deviceClass": "c", "gpus": 9}, "spec.gpus in body should be less than or equal to 8"),
        ({"deviceClass": "c", "gpus": "many"}, "spec.gpus in body must be of type integer"),
    ):
        with pytest.raises(client.ApiException, match=why) as refused:
            objects.create("wrong", **spec)
        assert refused.value.status == 422
    objects.create("right", deviceClass="c")
    objects.until(lambda: objects.status("right").get("phase") == "Ready", "the operator is not bothered")
    with pytest.raises(client.ApiException, match="deviceClass is immutable"):
        objects.patch("right", deviceClass="other")
    objects.official.delete_namespaced_custom_object(*objects.place, "right")
    objects.until(lambda: objects.get("right") is None, "the operator lets the object go")
