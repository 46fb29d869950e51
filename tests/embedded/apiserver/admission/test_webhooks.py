"""Admission webhooks: what they are told, what they decide, and how writes wait for them."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import ApiError
from drakit_embedded.apiserver import Server
from tests.embedded.apiserver.admission.conftest import ALLOW, HookServer, Webhooks, patch

MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SERVICES, SLICES = "/api/v1/namespaces/default/services", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
MERGE = "application/merge-patch+json"


def config_map(name: str = "m", **data: str) -> Object:
    return {"metadata": {"name": name}, "data": data}


def rule(resources: str, groups: str = "", operations: str = "*") -> list[Object]:
    return [
        {
            "apiGroups": groups.split(","),
            "apiVersions": ["*"],
            "operations": operations.split(","),
            "resources": resources.split(","),
        }
    ]


def deny(**status: Any) -> Any:
    return lambda request: {"allowed": False, **({"status": status} if status else {})}


def allow(request: Object) -> Object:
    return ALLOW


async def test_a_review_tells_of_the_request_as_kube_apiserver_does(connection: Connection, webhooks: Webhooks) -> None:
    await webhooks.add(allow, timeoutSeconds=7)
    stored = await connection.json("POST", f"{MAPS}?fieldManager=me&fieldValidation=Strict", config_map(a="1"))
    (call,) = webhooks.server.calls
    assert call.query == "timeout=7s"
    request = dict(call.request)
    assert request.pop("uid")
    assert request.pop("object") == {"kind": "ConfigMap", "apiVersion": "v1", **_without_version(stored)}
    core = {"group": "", "version": "v1"}
    assert request == {
        "kind": {**core, "kind": "ConfigMap"},
        "resource": {**core, "resource": "configmaps"},
        "requestKind": {**core, "kind": "ConfigMap"},
        "requestResource": {**core, "resource": "configmaps"},
        "name": "m",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {
            "username": "drakit-admin",
            "uid": "drakit-admin",
            "groups": ["system:masters", "system:authenticated"],
        },
        "oldObject": None,
        "dryRun": False,
        "options": {
            "kind": "CreateOptions",
            "apiVersion": "meta.k8s.io/v1",
            "fieldManager": "me",
            "fieldValidation": "Strict",
        },
    }


def _without_version(obj: Object) -> Object:
    meta = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    return {**{key: obj[key] for key in ("data",)}, "metadata": meta}


async def test_every_operation_is_reviewed_with_its_objects_and_options(
    connection: Connection, webhooks: Webhooks
) -> None:
    await webhooks.add(allow)
    await connection.json("POST", MAPS, config_map(a="1"))
    await connection.json("PUT", f"{MAPS}/m", config_map(a="2"))
    await connection.json("PATCH", f"{MAPS}/m", {"data": {"a": "3"}}, content_type=MERGE)
    await connection.json("DELETE", f"{MAPS}/m", {"propagationPolicy": "Background"})
    await connection.json("POST", f"{MAPS}?dryRun=All", {"metadata": {"generateName": "x-"}})
    requests = webhooks.server.asked("hook")
    told = [(r["operation"], _value(r["oldObject"]), _value(r["object"]), r["options"]["kind"]) for r in requests]
    assert told == [
        ("CREATE", None, "1", "CreateOptions"),
        ("UPDATE", "1", "2", "UpdateOptions"),
        ("UPDATE", "2", "3", "UpdateOptions"),
        ("DELETE", "3", None, "DeleteOptions"),
        ("CREATE", None, None, "CreateOptions"),
    ]
    assert requests[3]["options"]["propagationPolicy"] == "Background"
    assert requests[4]["dryRun"] is True
    assert re.fullmatch("x-[a-z0-9]{5}", requests[4]["name"])


def _value(obj: Object | None) -> str | None:
    return ((obj or {}).get("data") or {}).get("a")


async def test_what_a_validating_webhook_sees_is_what_is_stored(connection: Connection, webhooks: Webhooks) -> None:
    await webhooks.add(lambda request: patch({"op": "add", "path": "/data", "value": {"a": "b"}}), mutating=True)
    await webhooks.add(allow, name="seen")
    stored = await connection.json("POST", MAPS, {"metadata": {"generateName": "made-"}})
    (seen,) = webhooks.server.asked("seen")
    assert seen["object"]["data"] == stored["data"] == {"a": "b"}
    for field in ("uid", "name", "creationTimestamp", "managedFields"):
        assert seen["object"]["metadata"][field] == stored["metadata"][field]
    (before,) = webhooks.server.asked("hook")
    assert "name" not in before["object"]["metadata"]


async def test_mutating_webhooks_are_called_in_order_of_their_configurations(
    connection: Connection, webhooks: Webhooks
) -> None:
    def append(letter: str) -> Any:
        return lambda request: patch(
            {"op": "add", "path": "/data", "value": {"a": (_value(request["object"]) or "") + letter}}
        )

    for name in ("b", "a", "c"):
        await webhooks.add(append(name), name=name, mutating=True)
    assert _value(await connection.json("POST", MAPS, config_map())) == "abc"
    assert [call.hook for call in webhooks.server.calls] == ["a", "b", "c"]


@pytest.mark.parametrize(("policy", "expected"), [("Never", ["a", "b"]), ("IfNeeded", ["a", "b", "a"])])
async def test_a_webhook_sees_later_changes_if_it_wants_to(
    connection: Connection, webhooks: Webhooks, policy: str, expected: list[str]
) -> None:
    await webhooks.add(allow, name="a", mutating=True, reinvocationPolicy=policy)
    label = {"op": "add", "path": "/metadata/labels", "value": {"b": "here"}}
    await webhooks.add(lambda request: patch(label), name="b", mutating=True)
    await connection.json("POST", MAPS, config_map())
    assert [call.hook for call in webhooks.server.calls] == expected
    assert webhooks.server.calls[-1].request["object"]["metadata"].get("labels") == (
        {"b": "here"} if policy == "IfNeeded" else None
    )


async def test_a_patch_that_changes_nothing_calls_nobody_again(connection: Connection, webhooks: Webhooks) -> None:
    await webhooks.add(allow, name="a", mutating=True, reinvocationPolicy="IfNeeded")
    same = {"op": "replace", "path": "/metadata/name", "value": "m"}
    await webhooks.add(lambda request: patch(same), name="b", mutating=True)
    await connection.json("POST", MAPS, config_map())
    assert [call.hook for call in webhooks.server.calls] == ["a", "b"]


@pytest.mark.parametrize(
    ("status", "code", "reason", "message"),
    [
        ({}, 400, "", "without explanation"),
        ({"message": "no"}, 400, "", ": no"),
        ({"message": "no", "code": 403, "reason": "Forbidden"}, 403, "Forbidden", ": no"),
        ({"reason": "Invalid", "code": 422}, 422, "Invalid", ": Invalid"),
        ({"message": "no", "code": 200, "status": "Success"}, 400, "", ": no"),
        ({"message": "no", "code": 12345}, 500, "", ": no"),
    ],
)
async def test_a_refusal_is_passed_on(
    connection: Connection, webhooks: Webhooks, status: Object, code: int, reason: str, message: str
) -> None:
    await webhooks.add(deny(**status))
    with pytest.raises(ApiError) as refused:
        await connection.json("POST", MAPS, config_map())
    told = 'admission webhook "hook.example.com" denied the request' + (" " if message[0] != ":" else "") + message
    assert (refused.value.code, refused.value.reason, str(refused.value.message)) == (code, reason, told)
    with pytest.raises(ApiError, match="not found"):
        await connection.json("GET", f"{MAPS}/m")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"uid": "x"}, 'received invalid webhook response: expected response.uid="UID", got "x"'),
        (
            {"allowed": "yes"},
            "failed to call webhook: json: cannot unmarshal string into Go struct field "
            "AdmissionResponse.response.allowed of type bool",
        ),
        ({"patch": "W10="}, "received invalid webhook response: validating webhook may not return response.patch"),
        ({"patch": "?"}, "failed to call webhook: illegal base64 data at input byte 0"),
        (web.Response(text=""), "failed to call webhook: 0-length response with status code: 200"),
        (web.Response(status=404), "failed to call webhook: the server could not find the requested resource"),
        (
            web.Response(status=500, text="oops"),
            'failed to call webhook: an error on the server ("oops") has prevented the request from succeeding',
        ),
        (
            web.json_response({"kind": "Status", "status": "Failure", "message": "busy"}, status=503),
            "failed to call webhook: busy",
        ),
        (
            web.json_response({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}),
            "received invalid webhook response: webhook response was absent",
        ),
        (web.json_response([]), "failed to call webhook: couldn't get version/kind; json parse error"),
        (
            web.json_response({"kind": "Pod", "apiVersion": "v1"}),
            'failed to call webhook: no kind "Pod" is registered for version "v1"',
        ),
        (
            web.json_response({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1"}),
            "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
        ),
    ],
)
async def test_a_malformed_answer_is_a_failed_call(
    connection: Connection, webhooks: Webhooks, answer: Any, message: str
) -> None:
    await webhooks.add(lambda request: answer if isinstance(answer, web.Response) else {**ALLOW, **answer})
    with pytest.raises(ApiError) as refused:
        await connection.json("POST", MAPS, config_map())
    asked = webhooks.server.asked("hook")[0]
    expected = f'Internal error occurred: failed calling webhook "hook.example.com": {message}'
    assert (refused.value.code, refused.value.reason) == (500, "InternalError")
    assert str(refused.value.message).startswith(expected.replace("UID", asked["uid"]))


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        ([{"op": "add", "path": "/a/b", "value": 1}], 'add operation does not apply: doc is missing path: "/a/b"'),
        ([{"op": "test", "path": "/data", "value": 1}], "testing value /data failed: test failed"),
        ([{"op": "replace", "path": "/data", "value": "x"}], "json: cannot unmarshal string into Go struct field"),
        ([1], "received undecodable patch in webhook response: json: cannot unmarshal number into Go value"),
    ],
)
async def test_a_patch_that_does_not_apply_is_refused(
    connection: Connection, webhooks: Webhooks, operations: list[Any], message: str
) -> None:
    await webhooks.add(lambda request: patch(*operations), mutating=True)
    with pytest.raises(ApiError, match=re.escape(message)) as refused:
        await connection.json("POST", MAPS, config_map())
    assert refused.value.code == 500


async def test_failures_can_be_ignored_but_refusals_cannot(connection: Connection, webhooks: Webhooks) -> None:
    await webhooks.add(lambda request: web.Response(status=500), failurePolicy="Ignore")
    await connection.json("POST", MAPS, config_map())
    await webhooks.add(deny(message="no"), name="denies", failurePolicy="Ignore")
    with pytest.raises(ApiError, match="denied the request: no"):
        await connection.json("POST", MAPS, config_map("other"))


async def test_nobody_listening_is_told_as_by_go(connection: Connection, webhooks: Webhooks) -> None:
    await webhooks.add(allow, clientConfig={"url": "https://127.0.0.1:1/x"}, timeoutSeconds=5)
    with pytest.raises(ApiError) as refused:
        await connection.json("POST", MAPS, config_map())
    assert str(refused.value.message).endswith(
        'failed to call webhook: Post "https://127.0.0.1:1/x?timeout=5s": dial tcp 127.0.0.1:1: connect: '
        "connection refused"
    )


async def test_a_certificate_that_is_not_trusted_is_told_as_by_go(connection: Connection, webhooks: Webhooks) -> None:
    await webhooks.add(allow, clientConfig={"url": f"{webhooks.server.url}/hook"})
    with pytest.raises(ApiError, match="x509: certificate signed by unknown authority"):
        await connection.json("POST", MAPS, config_map())


async def test_a_webhook_that_takes_too_long_has_failed(connection: Connection, webhooks: Webhooks) -> None:
    async def never(request: Object) -> Object:
        await asyncio.Event().wait()
        return ALLOW

    await webhooks.add(never, timeoutSeconds=1)
    with pytest.raises(ApiError, match=r'Post "https://127.0.0.1:\d+/hook\?timeout=1s": context deadline exceeded'):
        await connection.json("POST", MAPS, config_map())


async def test_a_request_has_no_more_time_than_its_client_gives_it(connection: Connection, webhooks: Webhooks) -> None:
    async def never(request: Object) -> Object:
        await asyncio.Event().wait()
        return ALLOW

    await webhooks.add(never, failurePolicy="Ignore")
    with pytest.raises(ApiError, match="Timeout: request did not complete within requested timeout") as refused:
        await connection.json("POST", f"{MAPS}?timeout=500ms", config_map())
    assert refused.value.code == 504
    assert [call.query for call in webhooks.server.calls] == ["timeout=1s"]


async def test_a_webhook_with_side_effects_only_otherwise_is_called_in_a_dry_run(
    connection: Connection, webhooks: Webhooks
) -> None:
    await webhooks.add(allow, sideEffects="NoneOnDryRun")
    await connection.json("POST", f"{MAPS}?dryRun=All", config_map())
    assert [request["dryRun"] for request in webhooks.server.asked("hook")] == [True]


async def test_warnings_reach_the_client_with_a_refusal_too(
    session: aiohttp.ClientSession, connection: Connection, webhooks: Webhooks
) -> None:
    decision = {"allowed": True, "warnings": ["mind", "the gap"]}
    await webhooks.add(lambda request: decision)
    async with session.post(MAPS, json=config_map()) as response:
        assert response.headers.getall("Warning") == ['299 - "mind"', '299 - "the gap"']
    decision = {"allowed": False, "warnings": ["no"]}
    async with session.post(MAPS, json=config_map("other")) as response:
        assert (response.status, response.headers.getall("Warning")) == (400, ['299 - "no"'])


async def test_match_conditions_decide_who_is_called(connection: Connection, webhooks: Webhooks) -> None:
    condition = {"name": "labelled", "expression": "object.data.a == '1' && request.userInfo.username != 'x'"}
    await webhooks.add(allow, matchConditions=[condition])
    await connection.json("POST", MAPS, config_map("one", a="1"))
    await connection.json("POST", MAPS, config_map("two", a="2"))
    assert [request["name"] for request in webhooks.server.asked("hook")] == ["one"]
    with pytest.raises(ApiError, match="resulted in error: no such key: data") as refused:
        await connection.json("POST", MAPS, {"metadata": {"name": "none"}})
    assert refused.value.code == 403


async def test_other_requests_are_answered_while_a_write_waits(
    connection: Connection, webhooks: Webhooks, until: Any
) -> None:
    gate = asyncio.Event()

    async def wait(request: Object) -> Object:
        await gate.wait()
        return ALLOW

    await webhooks.add(wait, objectSelector={"matchLabels": {"slow": "yes"}})
    slow = {"metadata": {"name": "slow", "labels": {"slow": "yes"}}}
    waiting = asyncio.create_task(connection.json("POST", MAPS, slow))
    await until(lambda: webhooks.server.calls)
    await connection.json("POST", MAPS, config_map("quick"))
    assert [item["metadata"]["name"] for item in (await connection.json("GET", MAPS))["items"]] == ["quick"]
    gate.set()
    assert (await waiting)["metadata"]["name"] == "slow"


async def test_an_update_is_reviewed_again_if_another_one_comes_first(
    connection: Connection, webhooks: Webhooks, until: Any
) -> None:
    gates = [asyncio.Event(), asyncio.Event()]

    async def wait(request: Object) -> Object:
        if request["object"]["data"].get("mine"):
            await gates[len([r for r in webhooks.server.asked("hook") if r["object"]["data"].get("mine")]) - 1].wait()
        return ALLOW

    await connection.json("POST", MAPS, config_map(theirs="0"))
    await webhooks.add(wait)
    waiting = asyncio.create_task(connection.json("PATCH", f"{MAPS}/m", {"data": {"mine": "1"}}, content_type=MERGE))
    await until(lambda: webhooks.server.calls)
    await connection.json("PATCH", f"{MAPS}/m", {"data": {"theirs": "1"}}, content_type=MERGE)
    for gate in gates:
        gate.set()
    assert (await waiting)["data"] == {"mine": "1", "theirs": "1"}
    seen = [(r["oldObject"]["data"], r["object"]["data"]) for r in webhooks.server.asked("hook")]
    assert seen == [
        ({"theirs": "0"}, {"theirs": "0", "mine": "1"}),
        ({"theirs": "0"}, {"theirs": "1"}),
        ({"theirs": "1"}, {"theirs": "1", "mine": "1"}),
    ]


async def test_an_update_of_a_version_that_is_gone_meanwhile_conflicts(
    connection: Connection, webhooks: Webhooks, until: Any
) -> None:
    stored = await connection.json("POST", MAPS, config_map(a="0"))
    gate = asyncio.Event()

    async def wait(request: Object) -> Object:
        if request["object"]["data"]["a"] == "mine":
            await gate.wait()
        return ALLOW

    await webhooks.add(wait)
    waiting = asyncio.create_task(connection.json("PUT", f"{MAPS}/m", {**stored, "data": {"a": "mine"}}))
    await until(lambda: webhooks.server.calls)
    await connection.json("PATCH", f"{MAPS}/m", {"data": {"a": "theirs"}}, content_type=MERGE)
    gate.set()
    with pytest.raises(ApiError, match="the object has been modified"):
        await waiting


async def _waiting_until_left(webhooks: Webhooks) -> asyncio.Event:
    """Add a webhook that does not answer; the event is set once its call has ended all the same."""
    left = asyncio.Event()

    async def wait(request: Object) -> Object:
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        return ALLOW

    await webhooks.add(wait)
    return left


async def test_a_client_that_leaves_ends_the_call(
    session: aiohttp.ClientSession, webhooks: Webhooks, until: Any
) -> None:
    left = await _waiting_until_left(webhooks)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(session.post(MAPS, json=config_map()), 0.5)
    async with asyncio.timeout(10):
        await left.wait()


async def test_a_server_that_stops_ends_the_call(
    api_server: Server, session: aiohttp.ClientSession, webhooks: Webhooks, until: Any
) -> None:
    left = await _waiting_until_left(webhooks)
    waiting = asyncio.create_task(session.post(MAPS, json=config_map()))
    await until(lambda: webhooks.server.calls)
    async with asyncio.timeout(10):
        await api_server.stop()
        await left.wait()
        with pytest.raises(aiohttp.ClientError):
            await waiting


async def test_each_object_of_a_collection_is_reviewed_on_its_own(connection: Connection, webhooks: Webhooks) -> None:
    for name in "abc":
        await connection.json("POST", MAPS, config_map(name, a=name))
    await webhooks.add(lambda request: {"allowed": _value(request["oldObject"]) != "b"}, rules=rule("*", "", "DELETE"))
    with pytest.raises(ApiError, match="denied the request"):
        await connection.json("DELETE", MAPS)
    left = [item["metadata"]["name"] for item in (await connection.json("GET", MAPS))["items"]]
    assert left == ["b", "c"]
    requests = webhooks.server.asked("hook")
    assert [_value(request["oldObject"]) for request in requests] == ["a", "b"]
    assert "name" not in requests[0]


async def test_a_scale_is_reviewed_as_a_scale(connection: Connection, webhooks: Webhooks) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    await connection.json("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    five = {"op": "replace", "path": "/spec/replicas", "value": 5}
    await webhooks.add(lambda request: patch(five), mutating=True, rules=rule("*/scale", "apps"))
    await webhooks.add(allow, name="seen", rules=rule("deployments/scale", "apps"))
    scaled = await connection.json("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 3}}, content_type=MERGE)
    assert scaled["spec"]["replicas"] == 5
    (before,), (seen,) = webhooks.server.asked("hook"), webhooks.server.asked("seen")
    assert before["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert before["subResource"] == before["requestSubResource"] == "scale"
    replicas = [obj["spec"]["replicas"] for obj in (before["object"], seen["object"], seen["oldObject"])]
    assert replicas == [3, 5, 1]


async def test_a_binding_can_be_refused(connection: Connection, webhooks: Webhooks) -> None:
    pods = "/api/v1/namespaces/default/pods"
    await connection.json("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    await connection.json(
        "POST", pods, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    )
    await webhooks.add(deny(message="stay"), rules=rule("pods/binding"))
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    with pytest.raises(ApiError, match="denied the request: stay"):
        await connection.json("POST", f"{pods}/p/binding", binding)
    (seen,) = webhooks.server.asked("hook")
    assert seen["kind"] == {"group": "", "version": "v1", "kind": "Binding"}
    assert (seen["object"]["target"], seen["namespace"]) == ({"kind": "Node", "name": "n"}, "default")
    elsewhere = {"op": "replace", "path": "/target/name", "value": "other"}
    webhooks.server.decisions["hook"] = allow
    await webhooks.add(lambda request: patch(elsewhere), name="moves", mutating=True, rules=rule("pods/*"))
    await connection.json("POST", f"{pods}/p/binding", binding)
    assert (await connection.json("GET", f"{pods}/p"))["spec"]["nodeName"] == "other"


def service(**fields: Any) -> Object:
    return {"metadata": {"name": "svc", **fields}, "spec": {"ports": [{"port": 443}]}}


def of_service(server: HookServer) -> Object:
    return {"service": {"namespace": "default", "name": "svc", "path": "/hook"}, "caBundle": server.ca}


async def test_a_service_is_where_its_annotation_says(connection: Connection, webhooks: Webhooks) -> None:
    server = webhooks.server
    await webhooks.add(allow, clientConfig=of_service(server))
    with pytest.raises(
        ApiError, match=r'Post "https://svc.default.svc:443/hook\?timeout=10s": service "svc" not found'
    ):
        await connection.json("POST", MAPS, config_map())
    await connection.json("POST", SERVICES, service(annotations={"drakit.dev/address": f"127.0.0.1:{server.port}"}))
    await connection.json("POST", MAPS, config_map())
    (call,) = server.calls
    assert (call.host, call.query) == ("svc.default.svc:443", "timeout=10s")


async def test_a_certificate_must_be_for_the_name_of_the_service(connection: Connection, webhooks: Webhooks) -> None:
    other = service(annotations={"drakit.dev/address": f"127.0.0.1:{webhooks.server.port}"})
    other["metadata"]["name"] = "other"
    await connection.json("POST", SERVICES, other)
    target = of_service(webhooks.server)
    await webhooks.add(allow, clientConfig={**target, "service": {**target["service"], "name": "other"}})
    with pytest.raises(ApiError, match=r"certificate is not valid for other\.default\.svc"):
        await connection.json("POST", MAPS, config_map())


async def test_a_service_without_endpoints_here_cannot_be_called(connection: Connection, webhooks: Webhooks) -> None:
    await connection.json("POST", SERVICES, service())
    await webhooks.add(allow, clientConfig=of_service(webhooks.server))
    endpoints = {
        "metadata": {"name": "svc-1", "labels": {"kubernetes.io/service-name": "svc"}},
        "addressType": "IPv4",
        "ports": [{"name": "", "port": 8443}],
        "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": True}}],
    }
    await connection.json("POST", SLICES, endpoints)
    with pytest.raises(ApiError, match=r'no endpoints available for service "svc" \(annotate it with drakit.dev/addr'):
        await connection.json("POST", MAPS, config_map())


async def test_owners_that_a_webhook_repeats_are_kept_once(session: aiohttp.ClientSession, webhooks: Webhooks) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
    added = {"op": "add", "path": "/metadata/ownerReferences", "value": [owner, owner]}
    spoilt = {"op": "add", "path": "/metadata/managedFields", "value": [{"manager": "x"}]}
    await webhooks.add(lambda request: patch(added, spoilt), mutating=True)
    async with session.post(MAPS, json=config_map(a="1")) as response:
        stored, warnings = await response.json(), response.headers.getall("Warning")
    assert stored["metadata"]["ownerReferences"] == [owner]
    assert [entry["operation"] for entry in stored["metadata"]["managedFields"]] == ["Update"]
    assert "duplicate entries after mutating admission happens" in warnings[0]
    assert "operation must be `Apply` or `Update`" in warnings[1]
