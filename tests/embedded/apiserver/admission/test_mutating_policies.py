"""MutatingAdmissionPolicy: what it makes of objects, and in which words it fails."""

from __future__ import annotations

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from tests.embedded.apiserver.admission.policies import MAPS, Cluster, config_map

DEPLOYMENTS, PODS = "/apis/apps/v1/namespaces/default/deployments", "/api/v1/namespaces/default/pods"


@pytest.fixture
def cluster(session: aiohttp.ClientSession) -> Cluster:
    return Cluster(session)


def set_data(key: str, value: str) -> str:
    return f'[JSONPatch{{op: "add", path: "/data/{key}", value: {value}}}]'


@pytest.mark.parametrize(
    ("expression", "data"),
    [
        (set_data("b", '"2"'), {"a": "1", "b": "2"}),
        (set_data("b", "object.data.a + object.metadata.name"), {"a": "1", "b": "1m"}),
        ('Object{data: {"b": "2"}}', {"a": "1", "b": "2"}),
        ('Object{data: Object.data{b: "2"}}', {"a": "1", "b": "2"}),
        ('[JSONPatch{op: "remove", path: "/data/a"}]', None),
        ('[JSONPatch{op: "test", path: "/data/a", value: "9"}, JSONPatch{op: "remove", path: "/data/a"}]', {"a": "1"}),
        ("[]", {"a": "1"}),
    ],
)
async def test_a_mutation_changes_the_object(cluster: Cluster, expression: str, data: Object | None) -> None:
    if expression == "[]":
        expression = "[JSONPatch{op: 'add', path: '/data/b', value: '2'}].filter(x, false)"
    await cluster.mutating("p", expression)
    answer = await cluster.create(a="1")
    assert (answer.code, answer.body.get("data")) == (201, data)


async def test_what_a_policy_sets_nobody_owns(cluster: Cluster) -> None:
    await cluster.mutating("p", 'Object{data: {"b": "2"}}')
    [entry] = (await cluster.create(a="1")).body["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:a": {}}}


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (set_data("b", "string(1 / 0)"),
         "expression '[JSONPatch{op: \"add\", path: \"/data/b\", value: string(1 / 0)}]' resulted in error: "
         "division by zero"),
        ('[JSONPatch{op: "add", path: "/nope/deeper", value: "x"}]',
         'JSON Patch: add operation does not apply: doc is missing path: "/nope/deeper": missing value'),
        ("Object{zed: 1}",
         "error applying patch: failed to convert patch object to typed object: .zed: field not declared in schema"),
        ("Object{metadata: Object.wrong{}}",
         'type mismatch: unexpected type name "Object.wrong", expected "Object.metadata", which matches field name '
         "path from root Object type"),
    ],
)  # fmt: skip
async def test_a_failed_mutation_is_refused_unless_that_is_to_be_ignored(
    cluster: Cluster, expression: str, message: str
) -> None:
    await cluster.mutating("p", expression, failurePolicy="Ignore")
    assert (await cluster.create("ignored", a="1")).body["data"] == {"a": "1"}
    await cluster.mutating("q", expression)
    answer = await cluster.create(a="1")
    said = f"policy 'q' with binding 'q' denied request: {message}"
    assert (answer.code, answer.body["reason"], answer.body["message"]) == (403, "Invalid", said)
    assert answer.body["details"] == {"name": "m", "kind": "configmaps", "causes": [{"message": said}]}


async def test_an_atomic_list_is_not_replaced(cluster: Cluster) -> None:
    expression = "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: ["
    expression += 'Object.spec.template.spec.containers{name: "c", command: ["x"]}]}}}}'
    on = {"apiGroups": ["apps"], "resources": ["deployments"]}
    await cluster.mutating("p", expression, on=on)
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    body = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    assert (await cluster.ask("POST", DEPLOYMENTS, body)).denial == (
        "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
        ".spec.template.spec.containers[0].command"
    )


async def test_a_list_is_merged_by_its_keys(cluster: Cluster) -> None:
    expression = "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{"
    expression += 'name: c.name, env: [Object.spec.containers.env{name: "ADDED", value: c.name}]})}}'
    await cluster.mutating("p", expression, on={"resources": ["pods"], "operations": ["CREATE"]})
    containers = [{"name": name, "image": "i", "env": [{"name": "OWN", "value": "1"}]} for name in ("a", "b")]
    pod = {"metadata": {"name": "p"}, "spec": {"containers": containers}}
    await cluster.ask("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    answer = await cluster.ask("POST", PODS, pod)
    assert answer.code == 201, answer.body
    added = [{"name": "OWN", "value": "1"}]
    assert [each["env"] for each in answer.body["spec"]["containers"]] == [
        [*added, {"name": "ADDED", "value": name}] for name in ("a", "b")
    ]


async def test_unknown_fields_in_a_patch_are_an_error_of_the_server(cluster: Cluster) -> None:
    await cluster.mutating("p", '[JSONPatch{op: "add", path: "/zed", value: 1}]')
    answer = await cluster.create()
    assert answer.code == 500
    assert answer.body["message"] == 'Internal error occurred: strict decoding error: unknown field "zed"'


async def test_mutations_of_a_policy_follow_each_other_and_policies_too(cluster: Cluster) -> None:
    await cluster.mutating("p", set_data("a", '"1"'), set_data("b", 'object.data.a + "2"'))
    await cluster.mutating("q", set_data("c", 'object.data.b + "3"'))
    assert (await cluster.create(x="0")).body["data"] == {"x": "0", "a": "1", "b": "12", "c": "123"}


@pytest.mark.parametrize(
    ("policy", "seen"),
    [("Never", "-"), ("IfNeeded", "b")],
)
async def test_a_policy_may_see_what_later_ones_change(cluster: Cluster, policy: str, seen: str) -> None:
    look = set_data("seen", "object.data.?b.orValue('-')")
    await cluster.mutating("p", look, reinvocationPolicy=policy)
    await cluster.mutating("q", set_data("b", '"b"'))
    assert (await cluster.create(a="1")).body["data"] == {"a": "1", "b": "b", "seen": seen}


async def test_params_and_conditions_decide_on_mutations(cluster: Cluster) -> None:
    await cluster.make(MAPS, config_map("given", to="set"))
    await cluster.mutating(
        "p",
        set_data("b", "params.data.to"),
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        binding={"paramRef": {"name": "given", "parameterNotFoundAction": "Deny"}},
        matchConditions=[{"name": "c", "expression": "object.metadata.name == 'm'"}],
    )
    assert (await cluster.create(a="1")).body["data"] == {"a": "1", "b": "set"}
    assert (await cluster.create("n", a="1")).body["data"] == {"a": "1"}


async def test_a_missing_param_is_forbidden(cluster: Cluster) -> None:
    binding = {"paramRef": {"name": "none", "parameterNotFoundAction": "Deny"}}
    await cluster.mutating(
        "p", set_data("b", "'1'"), paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, binding=binding
    )
    answer = await cluster.create()
    why = "no params found for policy binding with `Deny` parameterNotFoundAction"
    said = f"policy 'p' with binding 'p' denied request: failed to configure binding: {why}"
    assert (answer.body["reason"], answer.body["message"]) == ("Forbidden", said)


async def test_validating_policies_see_what_mutating_ones_made(cluster: Cluster) -> None:
    await cluster.mutating("p", set_data("b", '"2"'))
    await cluster.validating("q", {"expression": "object.data.b != '2'"})
    assert (await cluster.create(a="1")).denial == "failed expression: object.data.b != '2'"


async def test_an_update_is_changed_in_the_version_that_the_policy_names(cluster: Cluster) -> None:
    on = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments/scale"], "operations": ["UPDATE"]}
    await cluster.mutating("p", '[JSONPatch{op: "replace", path: "/spec/replicas", value: 7}]', on=on)
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    body = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    await cluster.make(DEPLOYMENTS, body)
    answer = await cluster.ask("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 2}})
    assert (answer.code, answer.body["spec"]["replicas"]) == (200, 7)


async def test_an_object_that_an_apply_makes_is_stored_under_the_name_in_its_path(cluster: Cluster) -> None:
    await cluster.mutating("p", '[JSONPatch{op: "replace", path: "/metadata/name", value: "other"}]')
    body = {**config_map("m", a="1"), "apiVersion": "v1", "kind": "ConfigMap"}
    apply = {"Content-Type": "application/apply-patch+yaml"}
    made = await cluster.ask("PATCH", f"{MAPS}/m?fieldManager=me", body, **apply)
    assert (made.code, made.body["metadata"]["name"]) == (201, "other")
    read = await cluster.ask("GET", f"{MAPS}/m")
    assert read.body["metadata"]["name"] == "other"
    patched = await cluster.ask("PATCH", f"{MAPS}/m", {"data": {"a": "2"}})
    assert patched.body["message"] == "the name of the object (other) does not match the name on the URL (m)"
    assert (await cluster.ask("DELETE", f"{MAPS}/m")).body["details"]["name"] == "other"


async def test_a_policy_for_another_version_of_the_request_fails(cluster: Cluster) -> None:
    on = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["events"]}
    await cluster.mutating("p", '[JSONPatch{op: "add", path: "/reason", value: "x"}]', on=on)
    event = {
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "c.example.com",
        "reportingInstance": "i",
        "action": "a",
        "reason": "r",
        "regarding": {"namespace": "default"},
        "type": "Normal",
    }
    answer = await cluster.ask("POST", "/apis/events.k8s.io/v1/namespaces/default/events", event)
    assert answer.denial == "converting (v1.Event) to (v1.Event): unknown conversion"


async def test_an_object_without_metadata_is_refused(cluster: Cluster) -> None:
    await cluster.make(MAPS, config_map("m", a="1"))
    await cluster.mutating("p", '[JSONPatch{op: "remove", path: "/metadata"}]')
    created, changed = await cluster.create("n", a="1"), await cluster.ask("PATCH", f"{MAPS}/m", {"data": {"a": "2"}})
    assert (created.code, changed.code) == (422, 422)
    assert "name or generateName is required" in created.body["message"]
    assert 'metadata.name: Invalid value: "": field is immutable' in changed.body["message"]
