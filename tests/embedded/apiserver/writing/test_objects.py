"""Creating, reading and changing objects: what clients of any Kubernetes API server rely on."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound


def config_map(name: str, **data: str) -> Object:
    return {"metadata": {"name": name}, "data": data}


def pod(name: str, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "busybox"}], **spec}}


async def test_a_created_object_gets_identity_and_version(connection: Connection) -> None:
    made = await connection.create(resources.CONFIG_MAPS, config_map("a", x="y"), "default")
    meta = made["metadata"]
    assert (made["kind"], made["apiVersion"]) == ("ConfigMap", "v1")
    assert meta["namespace"] == "default"
    assert all(meta[key] for key in ("uid", "creationTimestamp", "resourceVersion"))
    assert await connection.get(resources.CONFIG_MAPS, "a", "default") == made


async def test_the_system_namespaces_are_there_from_the_start(connection: Connection) -> None:
    listed = await connection.list(resources.NAMESPACES)
    names = [item["metadata"]["name"] for item in listed["items"]]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]


async def test_a_name_is_taken_once(connection: Connection) -> None:
    await connection.create(resources.CONFIG_MAPS, config_map("a"), "default")
    with pytest.raises(AlreadyExists, match='configmaps "a" already exists'):
        await connection.create(resources.CONFIG_MAPS, config_map("a"), "default")


async def test_generated_names_differ_and_keep_their_prefix(connection: Connection) -> None:
    body = {"metadata": {"generateName": "run-"}}
    names = {
        (await connection.create(resources.CONFIG_MAPS, dict(body), "default"))["metadata"]["name"] for _ in range(20)
    }
    assert len(names) == 20
    assert all(name.startswith("run-") and len(name) == 9 for name in names)


async def test_an_update_of_an_old_version_is_a_conflict_and_changes_nothing(connection: Connection) -> None:
    old = await connection.create(resources.CONFIG_MAPS, config_map("a", x="1"), "default")
    new = await connection.replace(resources.CONFIG_MAPS, {**old, "data": {"x": "2"}}, "default")
    with pytest.raises(Conflict) as refused:
        await connection.replace(resources.CONFIG_MAPS, {**old, "data": {"x": "3"}}, "default")
    assert refused.value.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to '
        "the latest version and try again"
    )
    assert await connection.get(resources.CONFIG_MAPS, "a", "default") == new


async def test_an_update_without_version_is_taken_except_for_leases(connection: Connection) -> None:
    await connection.create(resources.CONFIG_MAPS, config_map("a", x="1"), "default")
    await connection.replace(resources.CONFIG_MAPS, config_map("a", x="2"), "default")
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
    await connection.create(resources.LEASES, lease, "default")
    with pytest.raises(Invalid, match="must be specified for an update"):
        await connection.replace(resources.LEASES, {**lease, "spec": {"holderIdentity": "you"}}, "default")


async def test_an_update_that_changes_nothing_keeps_the_version(connection: Connection) -> None:
    made = await connection.create(resources.CONFIG_MAPS, config_map("a", x="1"), "default")
    again = await connection.replace(resources.CONFIG_MAPS, made, "default")
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_an_update_for_another_uid_is_a_conflict(connection: Connection) -> None:
    made = await connection.create(resources.CONFIG_MAPS, config_map("a"), "default")
    made["metadata"] |= {"uid": "another", "resourceVersion": ""}
    with pytest.raises(Conflict, match="Precondition failed: UID in precondition: another"):
        await connection.replace(resources.CONFIG_MAPS, made, "default")


async def test_finalizing_another_namespace_is_a_conflict(connection: Connection) -> None:
    made = await connection.create(resources.NAMESPACES, {"metadata": {"name": "n"}})
    made["metadata"]["uid"] = "another"
    with pytest.raises(Conflict, match="Precondition failed: UID in precondition: another"):
        await connection.json("PUT", "/api/v1/namespaces/n/finalize", made)


async def test_an_update_that_would_create_has_no_uid_to_meet(connection: Connection) -> None:
    lease = {"metadata": {"name": "l", "uid": "another"}, "spec": {}}
    with pytest.raises(Conflict) as refused:
        await connection.replace(resources.LEASES, lease, "default")
    assert refused.value.message == (
        'Operation cannot be fulfilled on leases.coordination.k8s.io "l": StorageError: invalid object, Code: 4, Key: '
        "/registry/leases/default/l, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: "
        "another, UID in object meta: "
    )
    made = {"metadata": {"name": "c", "uid": "another"}, "data": {}}
    with pytest.raises(NotFound):
        await connection.replace(resources.CONFIG_MAPS, made, "default")


async def test_spec_and_status_are_written_apart(connection: Connection) -> None:
    made = await connection.create(resources.PODS, pod("p"), "default")
    assert made["status"]["phase"] == "Pending"
    made["status"]["phase"] = "Running"
    made["metadata"]["labels"] = {"a": "b"}
    through_object = await connection.replace(resources.PODS, made, "default")
    assert through_object["status"]["phase"] == "Pending"
    assert through_object["metadata"]["labels"] == {"a": "b"}
    through_object["status"]["phase"] = "Running"
    through_object["spec"]["nodeName"] = "elsewhere"
    through_status = await connection.replace_status(resources.PODS, through_object, "default")
    assert through_status["status"]["phase"] == "Running"
    assert "nodeName" not in through_status["spec"]


async def test_generation_counts_changes_of_the_spec_only(connection: Connection) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    await connection.create(resources.DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec}, "default")

    async def generation(patch: Object, subresource: str | None = None) -> int:
        changed = await connection.patch(resources.DEPLOYMENTS, "d", patch, "default", subresource=subresource)
        found: int = changed["metadata"]["generation"]
        return found

    assert await generation({"metadata": {"labels": {"x": "y"}}}) == 1
    assert await generation({"status": {"replicas": 1}}, "status") == 1
    assert await generation({"spec": {"replicas": 2}}) == 2


async def test_scale_reads_and_sets_replicas(connection: Connection) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    await connection.create(resources.DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec}, "default")
    path = resources.DEPLOYMENTS.path("default", "d", "scale")
    scale = await connection.json("GET", path)
    assert (scale["kind"], scale["spec"], scale["status"]["selector"]) == ("Scale", {"replicas": 1}, "a=b")
    scale["spec"]["replicas"] = 4
    assert (await connection.json("PUT", path, scale))["spec"] == {"replicas": 4}
    stored = await connection.get(resources.DEPLOYMENTS, "d", "default")
    assert (stored["spec"]["replicas"], stored["metadata"]["generation"]) == (4, 2)
    with pytest.raises(Conflict):
        await connection.json("PUT", path, scale)


@pytest.mark.parametrize("replicas", [2**31, -(2**31) - 1, 1.5, "3", True, [3]])
async def test_replicas_are_a_number_of_32_bits(connection: Connection, replicas: Any) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    await connection.create(resources.DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec}, "default")
    path = resources.DEPLOYMENTS.path("default", "d", "scale")
    with pytest.raises(ApiError) as refused:
        await connection.json("PUT", path, {"metadata": {"name": "d"}, "spec": {"replicas": replicas}})
    assert refused.value.code == 400


async def test_a_dry_run_answers_as_if_and_stores_nothing(connection: Connection) -> None:
    path = resources.CONFIG_MAPS.path("default")
    made = await connection.json("POST", path, config_map("a", x="1"), params={"dryRun": "All"})
    assert made["metadata"]["uid"]
    with pytest.raises(NotFound):
        await connection.get(resources.CONFIG_MAPS, "a", "default")
    kept = await connection.create(resources.CONFIG_MAPS, config_map("a", x="1"), "default")
    await connection.json("DELETE", f"{path}/a", params={"dryRun": "All"})
    assert await connection.get(resources.CONFIG_MAPS, "a", "default") == kept


async def test_nothing_is_created_in_a_namespace_that_does_not_exist(connection: Connection) -> None:
    with pytest.raises(NotFound, match='namespaces "nowhere" not found'):
        await connection.create(resources.CONFIG_MAPS, config_map("a"), "nowhere")


async def test_events_of_both_groups_are_one(connection: Connection) -> None:
    body = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Because",
        "message": "it is so",
        "type": "Normal",
    }
    await connection.create(resources.EVENTS, body, "default")
    new = await connection.json("GET", "/apis/events.k8s.io/v1/namespaces/default/events/e")
    assert (new["apiVersion"], new["note"], new["regarding"]["name"]) == ("events.k8s.io/v1", "it is so", "p")
    listed = await connection.json("GET", "/apis/events.k8s.io/v1/events")
    assert (listed["kind"], listed["apiVersion"]) == ("EventList", "events.k8s.io/v1")
    assert [item["note"] for item in listed["items"]] == ["it is so"]


async def test_secrets_store_string_data_encoded(connection: Connection) -> None:
    made = await connection.create(
        resources.SECRETS, {"metadata": {"name": "s"}, "stringData": {"password": "abc"}}, "default"
    )
    assert (made["type"], made["data"]) == ("Opaque", {"password": "YWJj"})
    assert "stringData" not in made


@pytest.mark.parametrize(
    ("obj", "field", "message"),
    [
        pytest.param({"metadata": {"name": "A"}}, "metadata.name", "lowercase RFC 1123", id="name"),
        pytest.param({"metadata": {}}, "metadata.name", "name or generateName is required", id="no name"),
        pytest.param(
            {"metadata": {"name": "a", "labels": {"b c": "d"}}}, "metadata.labels", "alphanumeric", id="label key"
        ),
        pytest.param(
            {"metadata": {"name": "a", "labels": {"b": "d/e"}}}, "metadata.labels", "valid label", id="label value"
        ),
        pytest.param(
            {"metadata": {"name": "a", "finalizers": ["x"]}},
            "metadata.finalizers[0]",
            "fully qualified",
            id="finalizer",
        ),
        pytest.param(
            {"metadata": {"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]}},
            "metadata.ownerReferences[0].uid",
            "must not be empty",
            id="owner without uid",
        ),
        pytest.param({"metadata": {"name": "a"}, "data": {"b/c": ""}}, "data[b/c]", "config key", id="data key"),
    ],
)
async def test_bad_metadata_is_refused_by_field(connection: Connection, obj: Object, field: str, message: str) -> None:
    with pytest.raises(Invalid, match=message) as refused:
        await connection.create(resources.CONFIG_MAPS, obj, "default")
    assert [cause["field"] for cause in refused.value.causes] == [field]
    assert (await connection.list(resources.CONFIG_MAPS, "default"))["items"] == []


async def test_an_immutable_config_map_stays(connection: Connection) -> None:
    made = await connection.create(resources.CONFIG_MAPS, {**config_map("a", x="1"), "immutable": True}, "default")
    with pytest.raises(Invalid, match="field is immutable when `immutable` is set"):
        await connection.replace(resources.CONFIG_MAPS, {**made, "data": {"x": "2"}}, "default")


async def test_reviews_are_answered_and_not_stored(connection: Connection) -> None:
    body = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    answer = await connection.json("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
    assert answer["status"] == {"allowed": True}
    with pytest.raises(ApiError) as refused:
        await connection.json("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
    assert refused.value.code == 405


async def test_services_are_selected_as_a_kubelet_does(connection: Connection) -> None:
    """Without this list it starts no container: pkg/kubelet/kubelet.go of Kubernetes, NewMainKubelet."""
    for name, address in (("headless", "None"), ("other", "10.96.0.7")):
        body = {"metadata": {"name": name}, "spec": {"clusterIP": address, "ports": [{"port": 80}]}}
        await connection.json("POST", "/api/v1/namespaces/default/services", body)
    listed = await connection.json("GET", "/api/v1/services", params={"fieldSelector": "spec.clusterIP!=None"})
    assert [item["metadata"]["name"] for item in listed["items"]] == ["kubernetes", "other"]
