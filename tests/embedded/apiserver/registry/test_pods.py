"""Pods: what the server fills in, refuses and binds, and where their logs come from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, Conflict, Invalid, NotFound
from drakit_embedded import certificates
from drakit_embedded.apiserver import KubeletAccess, Server, ServerConfig
from drakit_embedded.apiserver.registry.pods import STRATEGIES


def pod(**spec: Any) -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "busybox"}], **spec}}


async def create(connection: Connection, body: Object) -> Object:
    return await connection.create(resources.PODS, body, "default")


async def bind(connection: Connection, node: str = "n", **metadata: Any) -> Object:
    binding = {"metadata": {"name": "p", **metadata}, "target": {"kind": "Node", "name": node}}
    return await connection.create(resources.PODS, binding, "default", name="p", subresource="binding")


async def test_a_new_pod_has_its_defaults(connection: Connection) -> None:
    made = await create(connection, pod())
    spec = made["spec"]
    assert {key: spec[key] for key in ("restartPolicy", "dnsPolicy", "terminationGracePeriodSeconds")} == {
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "terminationGracePeriodSeconds": 30,
    }
    assert (spec["schedulerName"], spec["serviceAccountName"], spec["enableServiceLinks"], spec["priority"]) == (
        "default-scheduler",
        "default",
        True,
        0,
    )
    assert spec["containers"][0]["imagePullPolicy"] == "Always"
    assert {(t["key"], t["tolerationSeconds"]) for t in spec["tolerations"]} == {
        ("node.kubernetes.io/not-ready", 300),
        ("node.kubernetes.io/unreachable", 300),
    }
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made["metadata"]["generation"] == 1


async def test_label_keys_become_part_of_their_selectors(connection: Connection) -> None:
    """kube-scheduler knows nothing of them: kube-apiserver merges them when the pod is created."""
    app = {"matchLabels": {"app": "a"}}
    term = {"labelSelector": app, "topologyKey": "rack", "matchLabelKeys": ["release", "none"]}
    other = {**term, "matchLabelKeys": [], "mismatchLabelKeys": ["release"]}
    weighted = [{"weight": 1, "podAffinityTerm": term}]
    required, preferred = (f"{kind}DuringSchedulingIgnoredDuringExecution" for kind in ("required", "preferred"))
    spread = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **term}
    body = pod(
        affinity={"podAffinity": {required: [term], preferred: weighted}, "podAntiAffinity": {required: [other]}},
        topologySpreadConstraints=[spread],
    )
    body["metadata"]["labels"] = {"release": "1"}
    made = (await create(connection, body))["spec"]
    merged = {**app, "matchExpressions": [{"key": "release", "operator": "In", "values": ["1"]}]}
    affinity = made["affinity"]
    assert affinity["podAffinity"][required][0]["labelSelector"] == merged
    assert affinity["podAffinity"][preferred][0]["podAffinityTerm"]["labelSelector"] == merged
    assert affinity["podAntiAffinity"][required][0]["labelSelector"] == {
        **app,
        "matchExpressions": [{"key": "release", "operator": "NotIn", "values": ["1"]}],
    }
    assert made["topologySpreadConstraints"][0]["labelSelector"] == merged


_REQUIRED, _PREFERRED = (f"{kind}DuringSchedulingIgnoredDuringExecution" for kind in ("required", "preferred"))


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"affinity": {"podAffinity": {_REQUIRED: [{}]}}}, f"spec.affinity.podAffinity.{_REQUIRED}[0].topologyKey"),
        (
            {"affinity": {"podAntiAffinity": {_PREFERRED: [{"weight": 1}]}}},
            f"spec.affinity.podAntiAffinity.{_PREFERRED}[0].podAffinityTerm.topologyKey",
        ),
        (
            {"affinity": {"podAffinity": {_PREFERRED: [{"weight": 101, "podAffinityTerm": {"topologyKey": "a"}}]}}},
            f"spec.affinity.podAffinity.{_PREFERRED}[0].weight",
        ),
        (
            {"topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]},
            "spec.topologySpreadConstraints[0].topologyKey",
        ),
        (
            {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}]},
            "spec.topologySpreadConstraints[0].maxSkew",
        ),
        (
            {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "a"}]},
            "spec.topologySpreadConstraints[0].whenUnsatisfiable",
        ),
    ],
    ids=["affinity", "preferred", "weight", "spread", "skew", "action"],
)
async def test_terms_that_no_scheduler_can_follow_are_refused(connection: Connection, spec: Object, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        await create(connection, pod(**spec))
    assert field in {cause["field"] for cause in refused.value.causes}


@pytest.mark.parametrize(
    ("image", "policy"),
    [("busybox", "Always"), ("busybox:latest", "Always"), ("busybox:1.2", "IfNotPresent"), ("h:5000/b", "Always")],
)
async def test_the_pull_policy_follows_the_tag(connection: Connection, image: str, policy: str) -> None:
    made = await create(connection, pod(containers=[{"name": "c", "image": image}]))
    assert made["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("resources_of", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
        ({"claims": [{"name": "g"}]}, "BestEffort"),
    ],
)
async def test_quality_of_service(connection: Connection, resources_of: Object, quality: str) -> None:
    claims = [{"name": "g", "resourceClaimName": "x"}]
    body = pod(containers=[{"name": "c", "image": "i", "resources": resources_of}], resourceClaims=claims)
    assert (await create(connection, body))["status"]["qosClass"] == quality


CLAIM = {"name": "g", "resourceClaimName": "x"}
INVALID = [
    pytest.param({"containers": []}, "spec.containers", "Required value", id="no container"),
    pytest.param({"containers": [{"name": "c"}]}, "spec.containers[0].image", "Required value", id="no image"),
    pytest.param(
        {"containers": [{"name": "c", "image": "i"}] * 2}, "spec.containers[1].name", "Duplicate value", id="name twice"
    ),
    pytest.param({"restartPolicy": "Perhaps"}, "spec.restartPolicy", "Unsupported value", id="restart policy"),
    pytest.param({"resourceClaims": [{"name": "g"}]}, "spec.resourceClaims[0]", "must specify one of", id="no source"),
    pytest.param(
        {"resourceClaims": [{**CLAIM, "resourceClaimTemplateName": "y"}]},
        "spec.resourceClaims[0]",
        "at most one of",
        id="two sources",
    ),
    pytest.param(
        {"resourceClaims": [CLAIM, CLAIM]}, "spec.resourceClaims[1].name", "Duplicate value", id="claim twice"
    ),
    pytest.param(
        {"resourceClaims": [{**CLAIM, "name": "G"}]}, "spec.resourceClaims[0].name", "RFC 1123 label", id="claim name"
    ),
    pytest.param(
        {"containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "h"}]}}]},
        "spec.containers[0].resources.claims[0]",
        'Not found: "h": must be one of the names in pod.spec.resourceClaims which is empty',
        id="undeclared claim",
    ),
    pytest.param(
        {
            "resourceClaims": [CLAIM],
            "containers": [
                {"name": "c", "image": "i", "resources": {"claims": [{"name": "g"}, {"name": "g", "request": "r"}]}}
            ],
        },
        "spec.containers[0].resources.claims[1]",
        'Duplicate value: "g"',
        id="whole claim and a request of it",
    ),
]


@pytest.mark.parametrize(("spec", "field", "message"), INVALID)
async def test_a_bad_pod_is_refused_by_field(connection: Connection, spec: Object, field: str, message: str) -> None:
    with pytest.raises(Invalid) as refused:
        await create(connection, pod(**spec))
    assert [cause["field"] for cause in refused.value.causes] == [field]
    assert message in refused.value.message


async def test_a_container_may_use_two_requests_of_a_claim(connection: Connection) -> None:
    used = [{"name": "g", "request": "a"}, {"name": "g", "request": "b"}]
    body = pod(resourceClaims=[CLAIM], containers=[{"name": "c", "image": "i", "resources": {"claims": used}}])
    assert (await create(connection, body))["spec"]["containers"][0]["resources"]["claims"] == used


async def test_the_spec_of_a_pod_stays_except_for_images(connection: Connection) -> None:
    made = await create(connection, pod())
    made["spec"]["containers"][0]["image"] = "other"
    changed = await connection.replace(resources.PODS, made, "default")
    assert changed["spec"]["containers"][0]["image"] == "other"
    changed["spec"]["nodeName"] = "n"
    with pytest.raises(Invalid, match="pod updates may not change fields other than"):
        await connection.replace(resources.PODS, changed, "default")


async def test_a_binding_assigns_once(connection: Connection) -> None:
    made = await create(connection, pod())
    await bind(connection, uid=made["metadata"]["uid"], annotations={"why": "it fits"})
    bound = await connection.get(resources.PODS, "p", "default")
    assert bound["spec"]["nodeName"] == "n"
    assert bound["metadata"]["annotations"] == {"why": "it fits"}
    assert [(c["type"], c["status"]) for c in bound["status"]["conditions"]] == [("PodScheduled", "True")]
    with pytest.raises(Conflict, match='pod p is already assigned to node "n"'):
        await bind(connection, "m")


async def test_a_binding_for_another_pod_of_that_name_is_refused(connection: Connection) -> None:
    await create(connection, pod())
    with pytest.raises(Conflict, match="Precondition failed: UID in precondition"):
        await bind(connection, uid="another")


async def test_a_gated_pod_is_not_bound(connection: Connection) -> None:
    made = await create(connection, pod(schedulingGates=[{"name": "example.com/wait"}]))
    assert made["status"]["conditions"][0]["reason"] == "SchedulingGated"
    with pytest.raises(Conflict, match=r"non-empty \.spec\.schedulingGates"):
        await bind(connection)


async def test_a_priority_class_gives_its_number(connection: Connection) -> None:
    with pytest.raises(ApiError, match="no PriorityClass with name high was found"):
        await create(connection, pod(priorityClassName="high"))
    await connection.json(
        "POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 7}
    )
    assert (await create(connection, pod(priorityClassName="high")))["spec"]["priority"] == 7


async def test_every_cluster_has_the_classes_of_system_pods(connection: Connection) -> None:
    made = await create(connection, pod(priorityClassName="system-node-critical"))
    assert made["spec"]["priority"] == 2_000_001_000


async def test_a_pod_finds_the_token_of_its_account(connection: Connection) -> None:
    path = "/var/run/secrets/kubernetes.io/serviceaccount"
    own = {"name": "own", "mountPath": path}
    body = pod(initContainers=[{"name": "i", "image": "x", "volumeMounts": [own]}], volumes=[{"name": "own"}])
    spec = (await create(connection, body))["spec"]
    assert spec["initContainers"][0]["volumeMounts"] == [own]
    mounts, volume = spec["containers"][0]["volumeMounts"], spec["volumes"][1]
    assert mounts == [{"name": volume["name"], "readOnly": True, "mountPath": path}]
    assert volume["name"].startswith("kube-api-access-")
    sources = [next(iter(source)) for source in volume["projected"]["sources"]]
    assert sources == ["serviceAccountToken", "configMap", "downwardAPI"]


@pytest.mark.parametrize(
    ("pods_wish", "accounts_wish", "mounted"), [(False, True, 0), (None, False, 0), (True, False, 1)]
)
async def test_a_token_is_not_mounted_where_it_is_not_wanted(
    connection: Connection, pods_wish: bool | None, accounts_wish: bool, mounted: int
) -> None:
    account = {"metadata": {"name": "bob"}, "automountServiceAccountToken": accounts_wish}
    secret = {"imagePullSecrets": [{"name": "registry"}]}
    await connection.create(resources.SERVICE_ACCOUNTS, {**account, **secret}, "default")
    body = pod(serviceAccountName="bob", automountServiceAccountToken=pods_wish)
    spec = (await create(connection, body))["spec"]
    assert len(spec.get("volumes") or ()) == mounted
    assert spec["imagePullSecrets"] == [{"name": "registry"}]


async def test_a_pod_of_an_unknown_account_is_refused(connection: Connection) -> None:
    with pytest.raises(ApiError) as refused:
        await create(connection, pod(serviceAccountName="nope"))
    assert (refused.value.code, refused.value.message) == (
        403,
        'pods "p" is forbidden: error looking up service account default/nope: serviceaccount "nope" not found',
    )


async def test_volumes_and_probes_have_their_defaults(connection: Connection) -> None:
    token = {"serviceAccountToken": {"path": "t"}}
    label = {"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}
    container = {"name": "c", "image": "x", "livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 3}}
    volumes = [
        {"name": "none"},
        {"name": "of-an-object", "secret": {"secretName": "s"}},
        {"name": "projected", "projected": {"sources": [token, {"downwardAPI": {"items": [label]}}]}},
        {"name": "of-the-host", "hostPath": {"path": "/h"}},
    ]
    made = (await create(connection, pod(containers=[container], volumes=volumes)))["spec"]
    assert made["containers"][0]["livenessProbe"] == {
        "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 3,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    empty, secret, projected, host = made["volumes"][:4]
    assert empty["emptyDir"] == {}
    assert secret["secret"]["defaultMode"] == projected["projected"]["defaultMode"] == 0o644
    tokens, labels = projected["projected"]["sources"]
    assert tokens["serviceAccountToken"]["expirationSeconds"] == 3600
    assert labels["downwardAPI"]["items"][0]["fieldRef"]["apiVersion"] == "v1"
    assert host["hostPath"]["type"] == ""


WRONG = {
    "a port out of range": (
        {"containers": [{"name": "c", "image": "x", "ports": [{"containerPort": 99999}]}]},
        "spec.containers[0].ports[0].containerPort: Invalid value: 99999: must be between 1 and 65535, inclusive",
    ),
    "no such pull policy": (
        {"containers": [{"name": "c", "image": "x", "imagePullPolicy": "Sometimes"}]},
        'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", '
        '"IfNotPresent", "Never"',
    ),
    "no such volume": (
        {"containers": [{"name": "c", "image": "x", "volumeMounts": [{"name": "v", "mountPath": "/a"}]}]},
        'spec.containers[0].volumeMounts[0].name: Not found: "v"',
    ),
    "more requested than allowed": (
        {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": 2}, "limits": {"cpu": 1}}}]},
        'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ),
    "a toleration that contradicts itself": (
        {"tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]},
        "spec.tolerations[0].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'",
    ),
}


@pytest.mark.parametrize(("spec", "message"), WRONG.values(), ids=WRONG)
async def test_a_mistake_in_a_pod_is_named(connection: Connection, spec: Object, message: str) -> None:
    with pytest.raises(Invalid) as refused:
        await create(connection, pod(**spec))
    assert refused.value.message == f'Pod "p" is invalid: {message}'


async def test_containers_of_a_pod_stay(connection: Connection) -> None:
    made = await create(connection, pod())
    made["spec"]["containers"] = []
    with pytest.raises(Invalid) as refused:
        await connection.replace(resources.PODS, made, "default")
    assert refused.value.message == (
        'Pod "p" is invalid: [spec.containers: Required value, spec.containers: Forbidden: pod updates may not add or '
        "remove containers]"
    )


async def test_a_status_write_keeps_what_the_kubelet_must_not_lose(connection: Connection) -> None:
    await create(connection, pod(resourceClaims=[{"name": "g", "resourceClaimTemplateName": "g"}]))
    statuses = [{"name": "g", "resourceClaimName": "p-g-x"}]
    await connection.patch(
        resources.PODS, "p", {"status": {"resourceClaimStatuses": statuses}}, "default", subresource="status"
    )
    made = await connection.get(resources.PODS, "p", "default")
    made["status"] = {"phase": "Running"}
    kept = (await connection.replace_status(resources.PODS, made, "default"))["status"]
    assert kept == {"phase": "Running", "qosClass": "BestEffort", "resourceClaimStatuses": statuses}


@pytest.fixture
async def kubelet(tmp_path: Path) -> AsyncIterator[int]:
    """The https port of a kubelet that says what it was asked for."""

    async def logs(request: web.Request) -> web.Response:
        refusal = request.query.get("sinceSeconds")
        if refusal is not None:
            return web.Response(status=int(refusal), text=f"as {request.headers.get('Authorization')}")
        if request.headers.get("Authorization") != "Bearer kubelet-token":
            return web.Response(status=401)
        return web.Response(text=f"{request.path} {request.query_string}\n")

    app = web.Application()
    app.router.add_get("/containerLogs/{tail:.*}", logs)
    runner = web.AppRunner(app)
    await runner.setup()
    context, certificate = certificates.self_signed("127.0.0.1", None)
    (tmp_path / "kubelet.crt").write_bytes(certificate)
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    yield runner.addresses[0][1]
    await runner.cleanup()


async def test_logs_come_from_the_kubelet_of_the_pods_node(kubelet: int, tmp_path: Path) -> None:
    access = KubeletAccess(authority=tmp_path / "kubelet.crt", token="kubelet-token")
    config = ServerConfig(token="t", kubelets=access)
    async with Server(config) as server, Connection(server.url, token="t") as connection:
        await create(connection, pod())
        path = "/api/v1/namespaces/default/pods/p/log"
        assert await connection.request("GET", path) == b""
        await bind(connection)
        with pytest.raises(NotFound, match='pods "n" not found'):
            await connection.request("GET", path)
        endpoint = {"kubeletEndpoint": {"Port": kubelet}}
        status = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": endpoint}
        await connection.create(resources.NODES, {"metadata": {"name": "n"}, "status": status})
        text = await connection.request("GET", path, params={"tailLines": "5"})
        assert text == b"/containerLogs/default/p/c tailLines=5\n"
        with pytest.raises(ApiError, match="container x is not valid for pod p"):
            await connection.request("GET", path, params={"container": "x"})
        far = {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}}
        await connection.patch(resources.NODES, "n", far, subresource="status", patch_type="merge")
        with pytest.raises(ApiError, match="not on this machine"):
            await connection.request("GET", path)


@pytest.mark.parametrize(
    ("code", "reason", "message"),
    [
        (400, "BadRequest", "as None"),
        (401, "Unauthorized", "the server has asked for the client to provide credentials ( pods/log p)"),
        (403, "Forbidden", "as None ( pods/log p)"),
        (404, "NotFound", "the server could not find the requested resource ( pods/log p)"),
        (500, "InternalError", "Internal error occurred: as None"),
        (503, "ServiceUnavailable", "the server is currently unable to handle the request ( pods/log p)"),
        (
            502,
            "InternalError",
            'an error on the server ("as None") has prevented the request from succeeding ( pods/log p)',
        ),
    ],
)
async def test_what_a_kubelet_refuses_is_told_as_kube_apiserver_does(
    kubelet: int, code: int, reason: str, message: str
) -> None:
    """Without a token for kubelets none is sent, least of all the clients' own: nobody verifies who listens there."""
    async with Server(ServerConfig(token="t")) as server, Connection(server.url, token="t") as connection:
        endpoint = {"kubeletEndpoint": {"Port": kubelet}}
        status = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": endpoint}
        await connection.create(resources.NODES, {"metadata": {"name": "n"}, "status": status})
        await create(connection, pod())
        await bind(connection)
        path = "/api/v1/namespaces/default/pods/p/log"
        with pytest.raises(ApiError) as refused:
            await connection.request("GET", path, params={"sinceSeconds": str(code)})
        assert (refused.value.code, refused.value.reason, refused.value.message) == (code, reason, message)


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ({"phase": "Pending"}, ["p", "0/1", "Pending", "0"]),
        (
            {"phase": "Running", "containerStatuses": [{"ready": True, "restartCount": 2, "state": {"running": {}}}]},
            ["p", "1/1", "Running", "2"],
        ),
        (
            {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]},
            ["p", "0/1", "ContainerCreating", "0"],
        ),
        (
            {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]},
            ["p", "0/1", "ExitCode:3", "0"],
        ),
        ({"phase": "Failed", "reason": "Evicted"}, ["p", "0/1", "Evicted", "0"]),
    ],
    ids=lambda value: value[2] if isinstance(value, list) else "",
)
async def test_the_table_of_a_pod(
    connection: Connection, session: aiohttp.ClientSession, state: Object, shown: list[str]
) -> None:
    made = await create(connection, pod())
    await connection.replace_status(resources.PODS, {**made, "status": state}, "default")
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    async with session.get("/api/v1/pods", headers={"Accept": accept}) as response:
        table = await response.json()
    assert table["kind"] == "Table"
    assert [column["name"] for column in table["columnDefinitions"]][:5] == [
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
    ]
    assert table["rows"][0]["cells"][:4] == shown
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize(
    ("off", "before", "after"),
    [
        ([], [], [{"resourceID": "x", "health": "Unhealthy", "message": "hot"}]),
        (["ResourceHealthStatusMessage"], [], [{"resourceID": "x", "health": "Unhealthy"}]),
        (["ResourceHealthStatus", "ResourceHealthStatusMessage"], [], None),
        (
            ["ResourceHealthStatus", "ResourceHealthStatusMessage"],
            [{"resourceID": "x", "health": "Healthy"}],
            [{"resourceID": "x", "health": "Unhealthy"}],
        ),
    ],
    ids=["on", "messages off", "off", "off and in use"],
)
def test_the_health_of_devices_is_dropped_where_its_gate_is_off(
    off: list[str], before: list[Object], after: list[Object] | None
) -> None:
    def reported(devices: list[Object]) -> Object:
        claims = {"allocatedResourcesStatus": [{"name": "claim:gpu", "resources": devices}]} if devices else {}
        return {"metadata": {}, "status": {"containerStatuses": [{"name": "c", **claims}]}}

    class Gates:
        gates = FeatureGates(overrides=dict.fromkeys(off, False))

    new = reported([{"resourceID": "x", "health": "Unhealthy", "message": "hot"}])
    prepare = STRATEGIES["", "pods"].prepare_status
    assert prepare is not None
    prepare(new, reported(before), Gates())  # type: ignore[arg-type]
    (status,) = new["status"]["containerStatuses"]
    assert (status.get("allocatedResourcesStatus") or [{}])[0].get("resources") == after
