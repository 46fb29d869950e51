"""ValidatingAdmissionPolicy: which writes it refuses, and in which words."""

from __future__ import annotations

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from tests.embedded.apiserver.admission.policies import GROUP, MAPS, Cluster, config_map

SERVICES, NODES = "/api/v1/namespaces/default/services", "/api/v1/nodes"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MAP_KIND = {"apiVersion": "v1", "kind": "ConfigMap"}


@pytest.fixture
def cluster(session: aiohttp.ClientSession) -> Cluster:
    return Cluster(session)


async def test_what_is_false_is_refused_and_what_is_true_is_stored(cluster: Cluster) -> None:
    await cluster.validating("p", {"expression": "object.data.a == 'x'", "message": "a must be x"})
    answer = await cluster.create(a="y")
    denied = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: a must be x"
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'configmaps "m" is forbidden: {denied}',
        "reason": "Invalid",
        "details": {"name": "m", "kind": "configmaps", "causes": [{"message": denied}]},
        "code": 422,
    }
    assert (await cluster.create(a="x")).code == 201


@pytest.mark.parametrize(
    ("validation", "code", "message"),
    [
        ({"expression": " false "}, 422, "failed expression: false"),
        ({"expression": "false", "message": " no "}, 422, "no"),
        ({"expression": "false", "reason": "Forbidden"}, 403, "failed expression: false"),
        ({"expression": "false", "reason": "RequestEntityTooLarge"}, 413, "failed expression: false"),
        ({"expression": "false", "message": "no", "messageExpression": "'of ' + object.metadata.name"}, 422, "of m"),
        ({"expression": "false", "message": "no", "messageExpression": "string(object.zed)"}, 422, "no"),
        ({"expression": "false", "message": "no", "messageExpression": "'a\\nb'"}, 422, "no"),
        ({"expression": "false", "message": "no", "messageExpression": "' '"}, 422, "no"),
        ({"expression": "object.zed == 1"}, 422, "expression 'object.zed == 1' resulted in error: no such key: zed"),
    ],
)  # fmt: skip
async def test_a_refusal_has_reason_and_message(cluster: Cluster, validation: Object, code: int, message: str) -> None:
    await cluster.validating("p", validation)
    answer = await cluster.create()
    assert (answer.code, answer.denial) == (code, message)


@pytest.mark.parametrize(
    "spec",
    [
        {"validations": [{"expression": "object.zed == 1"}]},
        {"validations": [{"expression": "variables.v == 1"}], "variables": [{"name": "v", "expression": "object.zed"}]},
        {"matchConditions": [{"name": "c", "expression": "object.zed == 1"}], "validations": [{"expression": "false"}]},
        {"auditAnnotations": [{"key": "k", "valueExpression": "string(object.zed)"}]},
        {"paramKind": {"apiVersion": "nope.example.com/v1", "kind": "Zed"}, "validations": [{"expression": "true"}]},
    ],
)
async def test_failures_refuse_unless_they_are_to_be_ignored(cluster: Cluster, spec: Object) -> None:
    await cluster.validating("p", failurePolicy="Ignore", **spec)
    assert (await cluster.create("ignored")).code == 201
    await cluster.validating("q", failurePolicy="Fail", **spec)
    assert (await cluster.create()).code == 422


async def test_a_failed_audit_annotation_is_refused_whatever_the_actions(cluster: Cluster) -> None:
    annotation = {"key": "k", "valueExpression": "string(object.zed)"}
    await cluster.validating("p", auditAnnotations=[annotation], binding={"validationActions": ["Audit"]})
    denial = (await cluster.create()).denial
    assert denial == "expression 'string(object.zed)' resulted in error: no such key: zed"


async def test_a_binding_may_only_warn(cluster: Cluster) -> None:
    actions = {"validationActions": ["Warn", "Audit"]}
    await cluster.validating("p", {"expression": "false", "message": "no"}, binding=actions)
    answer = await cluster.create()
    assert answer.code == 201
    assert answer.warnings == ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': no"]


async def test_a_policy_is_in_force_while_it_is_bound(cluster: Cluster) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "false"}]}
    await cluster.make(f"{GROUP}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    assert (await cluster.create("before")).code == 201
    await cluster.bind("p", phase="validating", validationActions=["Deny"])
    assert (await cluster.create("during")).denial == "failed expression: false"
    patch = {"spec": {"validations": [{"expression": "object.metadata.name == 'x'"}]}}
    await cluster.ask("PATCH", f"{GROUP}/validatingadmissionpolicies/p", patch)
    assert (await cluster.create("during")).denial == "failed expression: object.metadata.name == 'x'"
    await cluster.ask("DELETE", f"{GROUP}/validatingadmissionpolicybindings/p")
    assert (await cluster.create("after")).code == 201


async def test_variables_are_evaluated_when_they_are_read(cluster: Cluster) -> None:
    variables = [
        {"name": "never", "expression": "object.zed"},
        {"name": "a", "expression": "object.data.a"},
        {"name": "b", "expression": "variables.a + '!'"},
    ]
    await cluster.validating("p", {"expression": "variables.b == 'x!'"}, variables=variables)
    assert (await cluster.create(a="x")).code == 201
    assert (await cluster.create("n", b="x")).denial == (
        "expression 'variables.b == 'x!'' resulted in error: composited variable \"b\" fails to evaluate: "
        'composited variable "a" fails to evaluate: no such key: a'
    )


@pytest.mark.parametrize(
    ("reference", "denial"),
    [
        ({"name": "limits"}, "at most 3"),
        ({"name": "limits", "namespace": "kube-system"}, "at most 1"),
        ({"selector": {"matchLabels": {"of": "p"}}}, "at most 3"),
        ({"selector": {}}, "at most 3"),
        ({"name": "none"},
         "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"),
        ({"name": "none", "parameterNotFoundAction": "Allow"}, ""),
        ({"selector": {"matchLabels": {"of": "q"}}, "parameterNotFoundAction": "Allow"}, ""),
    ],
)  # fmt: skip
async def test_a_binding_brings_params(cluster: Cluster, reference: Object, denial: str) -> None:
    limits = config_map("limits", most="3")
    await cluster.make(MAPS, {**limits, "metadata": {"name": "limits", "labels": {"of": "p"}}})
    await cluster.make("/api/v1/namespaces/kube-system/configmaps", config_map("limits", most="1"))
    await cluster.validating(
        "p",
        {
            "expression": "object.spec.ports.size() <= int(params.data.most)",
            "messageExpression": "'at most ' + string(params.data.most)",
        },
        paramKind=MAP_KIND,
        on={"resources": ["services"]},
        binding={"paramRef": {"parameterNotFoundAction": "Deny", **reference}},
    )
    ports = [{"name": f"p{port}", "port": port} for port in range(1, 5)]
    answer = await cluster.ask("POST", SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": ports}})
    assert (answer.code, answer.denial) == (422 if denial else 201, denial)


async def test_params_may_be_custom_resources(cluster: Cluster) -> None:
    names = {"plural": "limits", "singular": "limit", "kind": "Limit", "listKind": "LimitList"}
    schema = {"type": "object", "properties": {"most": {"type": "integer"}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
    await cluster.make(DEFINITIONS, {"metadata": {"name": "limits.example.com"}, "spec": definition})
    limit = {"apiVersion": "example.com/v1", "kind": "Limit", "metadata": {"name": "l"}, "most": 2}
    await cluster.make("/apis/example.com/v1/limits", limit)
    binding = {"paramRef": {"name": "l", "parameterNotFoundAction": "Deny"}}
    kind = {"apiVersion": "example.com/v1", "kind": "Limit"}
    await cluster.validating("p", {"expression": "object.data.size() <= params.most"}, paramKind=kind, binding=binding)
    assert (await cluster.create(a="", b="")).code == 201
    assert (
        await cluster.create("n", a="", b="", c="")
    ).denial == "failed expression: object.data.size() <= params.most"


async def test_params_of_a_namespace_need_one(cluster: Cluster) -> None:
    reference = {"name": "x", "parameterNotFoundAction": "Allow"}
    on, binding = {"resources": ["nodes"]}, {"paramRef": reference}
    await cluster.validating("p", {"expression": "true"}, paramKind=MAP_KIND, on=on, binding=binding)
    answer = await cluster.ask("POST", NODES, {"metadata": {"name": "n"}})
    why = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
    assert answer.denial == f"failed to configure binding: {why}"


@pytest.mark.parametrize(
    "expression",
    [
        "request.operation == 'CREATE' && !has(request.subResource) && request.name == 'm'",
        "request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps'",
        "request.userInfo.username == 'drakit-admin' && !has(request.userInfo.extra)",
        "request.dryRun == false && request.namespace == 'default'",
        "namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == 'default'",
        "namespaceObject.status.phase == 'Active' && object.metadata.uid != ''",
        "oldObject == null && object.kind == 'ConfigMap' && object.apiVersion == 'v1'",
        "authorizer.group('').resource('pods').namespace('x').check('delete').allowed()",
        "!authorizer.serviceAccount('default', 'x').group('').resource('pods').check('list').allowed()",
        "authorizer.requestResource.check('get').allowed()",
    ],
)
async def test_expressions_see_the_request(cluster: Cluster, expression: str) -> None:
    await cluster.validating("p", {"expression": expression})
    assert (await cluster.create()).code == 201
    await cluster.validating("q", {"expression": f"!({expression})"})
    assert (await cluster.create()).code in (409, 422)


async def test_a_deletion_has_only_an_old_object(cluster: Cluster) -> None:
    expression = "object == null && oldObject.data.keep == 'no'"
    await cluster.validating("p", {"expression": expression}, on={"operations": ["DELETE"]})
    for name, keep in (("m", "yes"), ("n", "no")):
        await cluster.make(MAPS, config_map(name, keep=keep))
    assert (await cluster.ask("DELETE", f"{MAPS}/m")).denial == f"failed expression: {expression}"
    assert (await cluster.ask("DELETE", f"{MAPS}/n")).code == 200


async def test_expressions_share_a_budget(cluster: Cluster) -> None:
    # Searching one long text in another is charged by the product of the lengths.
    await cluster.validating("p", *[{"expression": "object.data.a.contains(object.data.a)"}] * 15)
    why = "validation failed due to running out of cost budget, no further validation rules will be run"
    assert (await cluster.create(a="x" * 9_000)).denial == why
    assert (await cluster.create(a="x" * 5_000)).code == 201


async def test_webhooks_are_guarded_and_policies_are_not(cluster: Cluster) -> None:
    on = {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"]}
    await cluster.validating("p", {"expression": "false"}, on=on)
    hooks = f"{GROUP}/validatingwebhookconfigurations"
    assert (await cluster.ask("POST", hooks, {"metadata": {"name": "h"}})).denial == "failed expression: false"
    await cluster.validating("q", {"expression": "true"})


async def test_a_drivers_policy_keeps_each_node_to_its_own_slices(cluster: Cluster) -> None:
    """The policy of the chart of dra-example-driver."""
    account = "system:serviceaccount:default:driver"
    await cluster.validating(
        "slices",
        {
            "expression": "variables.userNodeName != ''",
            "message": "no node association found for user, this user must run in a pod on a node",
        },
        {
            "expression": "variables.userNodeName == variables.objectNodeName",
            "messageExpression": '"this user running on node \'"+variables.userNodeName+"\' may not modify " + '
            "(variables.objectNodeName == '' ? 'cluster resourceslices' : "
            '"resourceslices on node \'"+variables.objectNodeName+"\'")',
        },
        on={
            "apiGroups": ["resource.k8s.io"],
            "operations": ["CREATE", "UPDATE", "DELETE"],
            "resources": ["resourceslices"],
        },
        matchConditions=[{"name": "isRestrictedUser", "expression": f"request.userInfo.username == '{account}'"}],
        variables=[
            {
                "name": "userNodeName",
                "expression": "request.userInfo.?extra[?'authentication.kubernetes.io/node-name'][?0].orValue('')",
            },
            {
                "name": "objectNodeName",
                "expression": "(request.operation == 'DELETE' ? oldObject : object).spec.?nodeName.orValue('')",
            },
        ],
    )
    anywhere = {"Impersonate-User": account, "Impersonate-Group": "system:masters"}
    driver = {**anywhere, "Impersonate-Extra-Authentication.kubernetes.io%2Fnode-Name": "n1"}
    on_node, only = "resourceslices on node 'n2'", "this user running on node 'n1' may not modify "
    assert (await cluster.ask("POST", SLICES, resource_slice("admins", nodeName="n2"))).code == 201
    assert (await cluster.ask("POST", SLICES, resource_slice("own", nodeName="n1"), **driver)).code == 201
    refused = {
        f"{only}{on_node}": [("POST", SLICES, resource_slice("other", nodeName="n2"), driver),
                             ("DELETE", f"{SLICES}/admins", {}, driver)],
        f"{only}cluster resourceslices": [("POST", SLICES, resource_slice("all", allNodes=True), driver)],
        "no node association found for user, this user must run in a pod on a node": [
            ("POST", SLICES, resource_slice("own2", nodeName="n1"), anywhere)
        ],
    }  # fmt: skip
    for denial, requests in refused.items():
        for method, path, body, headers in requests:
            assert (await cluster.ask(method, path, body, **headers)).denial == denial


def resource_slice(name: str, **spec: object) -> Object:
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    return {
        "metadata": {"name": name},
        "spec": {"driver": "gpu.example.com", "pool": pool, "devices": [{"name": "d"}], **spec},
    }
