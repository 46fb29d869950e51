"""New objects of every kind are stored as Kubernetes stores them, with defaults and without what is off."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import pytest

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry import pods
from drakit_embedded.apiserver.registry.defaulting import gated_fields
from drakit_embedded.apiserver.registry.defaulting.structs import set_defaults
from drakit_embedded.apiserver.scheme import empties, kinds, structures
from drakit_embedded.apiserver.statuses import StatusError
from tests.vectors import defaulted, exchanges
from tests.vectors.defaulted import Vector

TOKEN = "of-the-tests"
_PROTECTED = "there is no controller that would take the finalizer away, so nothing could be deleted any more"
# Where objects are known to differ (kind and path), and why: all of it comes from admission plugins, but for services.
KNOWN = {
    ("v1 nodes", "spec.taints"): "only kube-controller-manager would take the taint of a new node away",
    ("v1 persistentvolumeclaims", "metadata.finalizers"): _PROTECTED,
    ("v1 persistentvolumes", "metadata.finalizers"): _PROTECTED,
    ("storage.k8s.io/v1 volumeattributesclasses", "metadata.finalizers"): _PROTECTED,
}


def differences(expected: Any, found: Any, path: str = "") -> Iterator[str]:
    """The paths at which two objects differ."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted(expected.keys() | found.keys()):
            if key in expected and key in found:
                yield from differences(expected[key], found[key], f"{path}.{key}" if path else key)
            else:
                yield f"{path}.{key}"
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for one, other in zip(expected, found, strict=True):
            yield from differences(one, other, path)
    elif type(expected) is not type(found) or expected != found:
        yield path


@pytest.mark.slow
async def test_new_objects_of_every_kind_are_stored_as_recorded(
    session: aiohttp.ClientSession, record_property: Callable[[str, object], None]
) -> None:
    """Prints how many agree; what differs must be in ``KNOWN``, and all of that must differ."""
    async with session.post("/api/v1/namespaces/default/serviceaccounts", json={"metadata": {"name": "default"}}):
        pass
    different: dict[str, list[str]] = {}
    for vector in defaulted.recorded():
        found = await defaulted.stored(session, TOKEN, vector)
        if paths := list(differences(vector["stored"], found)):
            different[vector["name"]] = paths
    total = len(defaulted.recorded())
    summary = f"{total} new objects, {total - len(different)} stored as kube-apiserver 1.37.1 stores them"
    print("\n".join([summary, *(f"{kind}, {path}: {why}" for (kind, path), why in KNOWN.items())]))
    record_property("summary", summary)
    seen = {(name.partition(":")[0], path): name for name, paths in different.items() for path in paths}
    assert {key: name for key, name in seen.items() if key not in KNOWN} == {}
    assert [key for key in KNOWN if key not in seen] == [], "known to differ, but the same"


def test_every_kind_that_can_be_made_is_recorded() -> None:
    recorded = {vector["name"] for vector in defaulted.recorded()}
    assert [
        kind.plural for kind in defaulted.kinds() if f"{kind.api_version} {kind.plural}: the least" not in recorded
    ] == []


async def test_a_job_that_is_updated_keeps_what_it_was_given(session: aiohttp.ClientSession) -> None:
    """kube-controller-manager reads these fields without asking whether they are there."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    job = {"metadata": {"name": "j"}, "spec": {"template": {"spec": pod}}}
    async with session.post("/apis/batch/v1/namespaces/default/jobs", json=job) as answer:
        made = await answer.json()
    stored = made["spec"]
    defaults = {"completions": 1, "parallelism": 1, "backoffLimit": 6, "completionMode": "NonIndexed"}
    assert {field: stored.get(field) for field in defaults} == defaults
    stored["parallelism"] = 2
    async with session.put("/apis/batch/v1/namespaces/default/jobs/j", json=made) as answer:
        changed = await answer.json()
    assert changed["spec"] == stored
    assert changed["metadata"]["generation"] == 2


def _pods() -> Iterator[Vector]:
    """All pods of the recordings that a server has taken, as they were sent: others have fields of Go's zero value."""
    for file in ("pods", "workloads", "create"):
        for vector in exchanges.recorded(file):
            if (vector["resource"], vector["op"], vector["response"]["code"]) == ("pods", "create", 201):
                yield vector
    yield from (vector for vector in defaulted.recorded() if vector["path"].endswith("/pods"))


class _Cluster:
    gates = FeatureGates()

    def find(self, storage: str, namespace: str, name: str) -> Object | None:
        raise AssertionError

    def every(self, storage: str) -> Iterator[Object]:
        raise AssertionError


def test_pods_get_no_other_defaults_from_python_than_from_the_table() -> None:
    """Pods have theirs in Python because they are written so often; that nothing is missing, the recorded pods show."""
    kind = next(kind for kind in kinds.all_kinds() if kind.plural == "pods")
    compared = 0
    for vector in _pods():
        try:
            decoded, _ = structures.decode({"kind": "Pod", "apiVersion": "v1", **vector["object"]}, kind, "Ignore")
        except StatusError:
            continue
        empties.drop(decoded, *structures.types_of(kind))
        decoded.setdefault("metadata", {})
        by_hand, by_table = copy.deepcopy(decoded), decoded
        pods.STRATEGIES["", "pods"].default(by_hand, _Cluster())
        set_defaults(by_table, "core/v1.Pod", _Cluster.gates)
        by_table.pop("status", None)
        by_hand.pop("status", None)  # made when the pod is prepared
        assert list(differences(by_table, by_hand)) == [], vector["name"]
        compared += 1
    assert compared > 100


STATEFUL_SET = {"spec": {"updateStrategy": {"rollingUpdate": {}, "type": "RollingUpdate"}}}


@pytest.mark.parametrize(
    ("version", "expected"), [("1.36", {"partition": 0}), ("1.37", {"partition": 0, "maxUnavailable": 1})]
)
def test_defaults_that_a_gate_brings_are_those_of_the_emulated_version(version: str, expected: Object) -> None:
    """MaxUnavailableStatefulSet, which drakit itself has no use for, is on since 1.37."""
    obj = copy.deepcopy(STATEFUL_SET)
    set_defaults(obj, "apps/v1.StatefulSet", FeatureGates(version))
    assert obj["spec"]["updateStrategy"]["rollingUpdate"] == expected


def _template(**pod: Any) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"name": "c"}], **pod}}}}


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        pytest.param(None, {}, id="a new object"),
        pytest.param(_template(), {}, id="an object without it"),
        pytest.param(
            _template(schedulingGroup={"podGroupName": "a"}),
            {"schedulingGroup": {"podGroupName": "b"}},
            id="an object that has it since the gate was on",
        ),
    ],
)
def test_a_field_of_a_feature_that_is_off_stays_only_where_it_was(old: Object | None, expected: Object) -> None:
    new = _template(schedulingGroup={"podGroupName": "b"})
    gated_fields.drop(new, old, "apps/v1.Deployment", FeatureGates())
    assert new == _template(**expected)


def test_a_field_of_a_feature_that_is_on_stays() -> None:
    new = _template(schedulingGroup={"podGroupName": "b"})
    gated_fields.drop(new, None, "apps/v1.Deployment", FeatureGates("1.37", {"GenericWorkload": True}))
    assert new == _template(schedulingGroup={"podGroupName": "b"})
