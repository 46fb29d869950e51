"""kubectl as a user types it, against the embedded API server over TLS."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import pytest

pytestmark = [pytest.mark.kubectl, pytest.mark.slow]
Kubectl = Callable[..., Awaitable[str]]

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "busybox:1"}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: web}}
spec:
  containers: [{name: c, image: busybox, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
"""


async def test_manifests_are_applied_changed_shown_and_deleted(kubectl: Kubectl) -> None:
    created = await kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    assert created.splitlines() == [
        "deployment.apps/web created",
        "resourceclaimtemplate.resource.k8s.io/one-gpu created",
        "pod/p created",
    ]
    assert "unchanged" in await kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    changed = await kubectl("apply", "-f", "-", stdin=DEPLOYMENT.replace("replicas: 2", "replicas: 3"))
    assert "deployment.apps/web configured" in changed
    header, row = (await kubectl("get", "deploy")).splitlines()
    assert header.split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert row.split()[:4] == ["web", "0/3", "0", "0"]
    described = await kubectl("describe", "pod", "p")
    assert "Status:           Pending" in described
    assert "pod/p condition met" in await kubectl("wait", "--for=jsonpath={.status.phase}=Pending", "pod/p")
    deleted = await kubectl("delete", "-f", "-", stdin=DEPLOYMENT)
    assert deleted.count("deleted") == 3
    assert "No resources found" in await kubectl("get", "pods,deployments")


async def test_a_list_of_objects_is_created(kubectl: Kubectl) -> None:
    """Lists are what ``drakit driver slices`` prints; kubectl validates them by OpenAPI version 2, in protobuf."""
    listed = "apiVersion: v1\nkind: List\nitems:\n" + "".join(
        f"- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}\n" for name in ("a", "b")
    )
    assert await kubectl("create", "-f", "-", stdin=listed) == "configmap/a created\nconfigmap/b created\n"


async def test_a_kind_that_is_not_served_is_named(kubectl: Kubectl) -> None:
    for wrong, right in (("resource.k8s.io/v1", "resource.k8s.io/v9"), ("kind: Resource", "kind: Rescource")):
        output = await kubectl("apply", "-f", "-", stdin=DEPLOYMENT.replace(wrong, right), fails=True)
        assert 'no matches for kind "' in output
        assert "openapi" not in output


async def test_server_side_apply(kubectl: Kubectl) -> None:
    assert (await kubectl("apply", "--server-side", "-f", "-", stdin=DEPLOYMENT)).count("serverside-applied") == 3
    manifest = DEPLOYMENT.replace("replicas: 2", "replicas: 3")
    refused = await kubectl("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=manifest, fails=True)
    assert 'conflict with "kubectl": .spec.replicas' in refused
    forced = ("apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-")
    await kubectl(*forced, stdin=manifest)
    assert await kubectl("get", "deploy/web", "-o", "jsonpath={.spec.replicas}") == "3"


async def test_who_set_which_field_is_shown(kubectl: Kubectl) -> None:
    await kubectl("create", "configmap", "c", "--from-literal=x=y")
    await kubectl("patch", "configmap", "c", "--field-manager=me", "-p", '{"data":{"x":"z"}}')
    owners = "jsonpath={range .metadata.managedFields[*]}{.manager} {.operation} {.fieldsV1}{end}"
    assert await kubectl("get", "configmap", "c", "--show-managed-fields", "-o", owners) == (
        'kubectl-create Update {"f:data":{}}me Update {"f:data":{"f:x":{}}}'
    )
    assert "managedFields" not in await kubectl("get", "configmap", "c", "-o", "yaml")
    assert "fieldsV1:" in await kubectl("get", "configmap", "c", "-o", "yaml", "--show-managed-fields")


async def test_objects_are_labelled_annotated_patched_scaled_and_edited(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    await kubectl("label", "pod", "p", "a=b")
    await kubectl("annotate", "pod", "p", "c=d")
    await kubectl("patch", "pod", "p", "--type=json", "-p", '[{"op":"remove","path":"/metadata/labels/app"}]')
    assert await kubectl("get", "pod", "p", "-o", "jsonpath={.metadata.labels}") == '{"a":"b"}'
    assert "deployment.apps/web scaled" in await kubectl("scale", "deployment/web", "--replicas=7")
    assert await kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}/{.metadata.generation}") == "7/2"
    assert "No resources found" in await kubectl("get", "pods", "-l", "app=web")


async def test_objects_are_created_by_command(kubectl: Kubectl) -> None:
    """These commands send protobuf."""
    await kubectl("create", "namespace", "n")
    await kubectl("-n", "n", "create", "configmap", "c", "--from-literal=x=y")
    await kubectl("-n", "n", "create", "deployment", "d", "--image=busybox", "--replicas=2")
    await kubectl("-n", "n", "create", "secret", "generic", "s", "--from-literal=k=v")
    assert await kubectl("-n", "n", "get", "cm", "c", "-o", "jsonpath={.data}") == '{"x":"y"}'
    assert await kubectl("-n", "n", "get", "deploy", "d", "-o", "jsonpath={.spec.replicas}") == "2"
    assert await kubectl("-n", "n", "get", "secret", "s", "-o", "jsonpath={.data.k}") == "dg=="
    assert "yes" in await kubectl("auth", "can-i", "create", "pods")


async def test_a_mistake_is_explained(kubectl: Kubectl) -> None:
    misspelt = DEPLOYMENT.replace("deviceClassName:", "deviceClass:")
    output = await kubectl("apply", "-f", "-", stdin=misspelt, fails=True)
    assert 'unknown field "spec.spec.devices.requests[0].exactly.deviceClass"' in output
    assert 'pods "nobody" not found' in await kubectl("get", "pod", "nobody", fails=True)


async def test_events_are_listed_for_their_object(kubectl: Kubectl) -> None:
    event = """
apiVersion: v1
kind: Event
metadata: {name: p.1}
involvedObject: {apiVersion: v1, kind: Pod, name: p, namespace: default, uid: UID}
reason: FailedScheduling
message: no node fits
type: Warning
lastTimestamp: "2026-01-01T00:00:00Z"
"""
    await kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    uid = await kubectl("get", "pod", "p", "-o", "jsonpath={.metadata.uid}")
    await kubectl("create", "-f", "-", stdin=event.replace("UID", uid))
    shown = await kubectl("events", "--for", "pod/p")
    assert "FailedScheduling" in shown
    assert "no node fits" in shown
    assert "no node fits" in await kubectl("describe", "pod", "p")


async def test_kinds_are_known_by_their_short_names(kubectl: Kubectl) -> None:
    listed = await kubectl("api-resources", "--api-group=resource.k8s.io", "--no-headers")
    assert {line.split()[0] for line in listed.splitlines()} == {
        "deviceclasses",
        "devicetaintrules",
        "resourceclaims",
        "resourceclaimtemplates",
        "resourceslices",
    }
    for name in ("po", "deploy", "cm", "ns", "no", "rs", "ev", "sa"):
        await kubectl("get", name)


async def test_fields_are_explained(kubectl: Kubectl) -> None:
    explained = await kubectl("explain", "resourceclaims.spec.devices.requests.exactly")
    assert "deviceClassName\t<string>" in explained
    assert "selectors\t<[]DeviceSelector>" in explained
    assert "nodeName\t<string>" in await kubectl("explain", "resourceslice.spec")
    assert "resourceClaimName\t<string>" in await kubectl("explain", "pods.spec.resourceClaims")
    assert "maxSurge\t<IntOrString>" in await kubectl("explain", "deploy.spec.strategy.rollingUpdate")
    assert 'field "nope" does not exist' in await kubectl("explain", "pods.spec.nope", fails=True)


@pytest.mark.parametrize("form", ["plaintext", "plaintext-openapiv2"])
async def test_what_a_field_means_is_explained(kubectl: Kubectl, form: str) -> None:
    explained = " ".join((await kubectl("explain", "resourceslice.spec.driver", f"--output={form}")).split())
    assert "Driver identifies the DRA driver providing the capacity information" in explained


async def test_a_typo_is_refused_or_warned_about_as_asked(kubectl: Kubectl) -> None:
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndatta: {x: y}\n"
    refused = await kubectl("apply", "--validate=strict", "-f", "-", stdin=manifest, fails=True)
    assert 'strict decoding error: unknown field "datta"' in refused
    assert "configmap/a created" in await kubectl("apply", "--validate=warn", "-f", "-", stdin=manifest)


async def test_applying_again_merges_lists_by_their_keys(kubectl: Kubectl) -> None:
    """kubectl makes its patch by the schemas: what others added to a list stays, what the file no longer has goes."""
    two, one = (
        DEPLOYMENT.replace('"busybox:1"', f'"busybox:1", env: {env}')
        for env in ("[{name: A}, {name: C}]", "[{name: C}]")
    )
    await kubectl("apply", "-f", "-", stdin=two)
    await kubectl("set", "env", "deployment/web", "B=b")
    assert "warning" not in await kubectl("apply", "-f", "-", stdin=one)
    shown = await kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.template.spec.containers[*].env[*].name}")
    assert shown == "C B"


async def test_a_typo_in_a_pod_is_refused(kubectl: Kubectl) -> None:
    misspelt = DEPLOYMENT.replace("image: busybox,", "imagePullPolicie: Never, image: busybox,")
    output = await kubectl("apply", "-f", "-", stdin=misspelt, fails=True)
    assert 'unknown field "spec.containers[0].imagePullPolicie"' in output


TABLES = {
    "role bindings": (
        ("create", "rolebinding", "rb", "--role=r", "--serviceaccount=default:bob", "--user=eve"),
        ("get", "rolebinding", "-o", "wide"),
        "rb Role/r eve default/bob",
    ),
    "disruption budgets": (
        ("create", "pdb", "pd", "--selector=a=b", "--min-available=1"),
        ("get", "pdb"),
        "pd 1 N/A 0",
    ),
    "services": (
        ("create", "service", "clusterip", "s", "--tcp=80", "--clusterip=10.96.0.9"),
        ("get", "svc", "s"),
        "s ClusterIP 10.96.0.9 <none> 80/TCP",
    ),
    "node ports": (
        ("create", "service", "nodeport", "s", "--tcp=80", "--node-port=30001"),
        ("get", "svc", "s", "-o", "custom-columns=NAME:.metadata.name,PORT:.spec.ports[0].nodePort,AGE:.kind"),
        "s 30001 Service",
    ),
    "the service of the API server": (
        ("create", "namespace", "other"),
        ("get", "svc"),
        "kubernetes ClusterIP 10.96.0.1 <none> 443/TCP",
    ),
    "its address": (
        ("create", "namespace", "other"),
        ("get", "ipaddresses"),
        "10.96.0.1 services/default/kubernetes",
    ),
    "its range": (("create", "namespace", "other"), ("get", "servicecidrs"), "kubernetes 10.96.0.0/16"),
    "scales": (
        ("create", "deployment", "d", "--image=x", "--replicas=3"),
        ("get", "deploy", "d", "--subresource=scale"),
        "d 3 0",
    ),
}


@pytest.mark.parametrize(("create", "get", "row"), TABLES.values(), ids=TABLES)
async def test_kinds_have_the_columns_of_their_printers(
    kubectl: Kubectl, create: tuple[str, ...], get: tuple[str, ...], row: str
) -> None:
    await kubectl(*create)
    header, shown = (await kubectl(*get)).splitlines()
    assert ("AGE" in header.split()) is ("ipaddresses" not in get)
    ageless = [word for word in shown.split() if not re.fullmatch(r"\d+s", word)]
    assert " ".join(ageless) == row


async def test_a_slice_of_many_nodes_names_none(kubectl: Kubectl) -> None:
    shared = """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: shared}
spec: {driver: d.example.com, allNodes: true, pool: {name: p, generation: 1, resourceSliceCount: 1}}
"""
    await kubectl("apply", "-f", "-", stdin=shared)
    shown = await kubectl("get", "resourceslices", "--no-headers")
    assert shown.split()[:3] == ["shared", "d.example.com", "p"]


async def test_a_taint_rule_is_shown_by_its_taint(kubectl: Kubectl) -> None:
    rule = """
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: broken}
spec: {deviceSelector: {driver: d.example.com}, taint: {key: example.com/broken, value: "1", effect: NoExecute}}
"""
    await kubectl("apply", "-f", "-", stdin=rule)
    header, row = (await kubectl("get", "devicetaintrules")).splitlines()
    assert header.split() == ["NAME", "KEY", "VALUE", "EFFECT", "TIMEADDED", "AGE"]
    assert row.split()[:4] == ["broken", "example.com/broken", "1", "NoExecute"]


async def test_a_deprecated_kind_is_said_to_be(kubectl: Kubectl) -> None:
    assert "Warning: v1 Endpoints is deprecated in v1.33+" in await kubectl("get", "endpoints")


async def test_a_service_has_its_defaults(kubectl: Kubectl) -> None:
    await kubectl("create", "service", "clusterip", "s", "--tcp=80", "--clusterip=None")
    described = await kubectl("describe", "service", "s")
    for line in (
        "Type:                     ClusterIP",
        "TargetPort:               80/TCP",
        "Session Affinity:         None",
    ):
        assert line in described


async def test_rights_are_listed(kubectl: Kubectl) -> None:
    listed = (await kubectl("auth", "can-i", "--list", "--no-headers")).splitlines()
    assert [line.split() for line in listed if line.startswith("*.*")] == [["*.*", "[]", "[]", "[*]"]]


async def test_a_token_lasts_ten_minutes_at_least(kubectl: Kubectl) -> None:
    await kubectl("create", "serviceaccount", "bob")
    refused = await kubectl("create", "token", "bob", "--duration=1m", fails=True)
    assert "spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes" in refused
    assert await kubectl("create", "token", "bob", "-o", "jsonpath={.spec.expirationSeconds}") == "3600"


async def test_the_servers_health_is_told_at_length(kubectl: Kubectl) -> None:
    first, *_, last = (await kubectl("get", "--raw", "/readyz?verbose")).splitlines()
    assert (first, last) == ("[+]ping ok", "readyz check passed")
