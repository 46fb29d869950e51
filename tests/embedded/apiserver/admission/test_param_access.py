"""Who may write policies and bindings that have params: only who can read these."""

from __future__ import annotations

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from tests.embedded.apiserver.admission.policies import GROUP, Cluster

RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
RBAC = "/apis/rbac.authorization.k8s.io/v1"
USER = {"Impersonate-User": "jane", "Impersonate-Group": "writers"}
SHOWN = "&{jane  [writers system:authenticated] map[]}"


@pytest.fixture
async def cluster(session: aiohttp.ClientSession) -> Cluster:
    """A cluster in which Jane may write policies and read ConfigMaps of one namespace."""
    made = Cluster(session)
    rules = [
        {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["hers"], "verbs": ["get"]},
    ]
    await made.make(f"{RBAC}/clusterroles", {"metadata": {"name": "writer"}, "rules": rules})
    binding = {
        "metadata": {"name": "jane"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "writer"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
    }
    await made.make(f"{RBAC}/clusterrolebindings", binding)
    return made


def policy(kind: str = "ConfigMap", api_version: str = "v1") -> Object:
    spec = {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}]}
    return {"metadata": {"name": "p"}, "spec": {**spec, "paramKind": {"apiVersion": api_version, "kind": kind}}}


def binding(**reference: object) -> Object:
    given = {"parameterNotFoundAction": "Deny", **reference}
    return {
        "metadata": {"name": "b"},
        "spec": {"policyName": "p", "validationActions": ["Deny"], "paramRef": given},
    }


async def test_a_policy_needs_all_objects_of_its_kind_to_be_readable(cluster: Cluster) -> None:
    answer = await cluster.ask("POST", f"{GROUP}/validatingadmissionpolicies", policy(), **USER)
    assert answer.code == 422
    [cause] = answer.body["details"]["causes"]
    assert (cause["field"], cause["reason"]) == ("spec.paramKind", "FieldValueForbidden")
    assert cause["message"] == (
        f'Forbidden: user {SHOWN} must have "get" permission on all objects of the referenced paramKind '
        "(kind=ConfigMap, apiVersion=v1)"
    )
    await cluster.make(f"{GROUP}/validatingadmissionpolicies", policy())
    patch = {"spec": {"validations": [{"expression": "false"}]}}
    unchanged = await cluster.ask("PATCH", f"{GROUP}/validatingadmissionpolicies/p", patch, **USER)
    assert unchanged.code == 200


@pytest.mark.parametrize(
    ("kind", "reference", "message"),
    [
        ("ConfigMap", {"name": "hers", "namespace": "default"}, ""),
        ("ConfigMap", {"name": "x", "namespace": "default"},
         f'user {SHOWN} does not have "get" permission on the object referenced by paramRef'),
        ("ConfigMap", {"selector": {}},
         f'user {SHOWN} does not have "list" permission on the object referenced by paramRef'),
        ("Nope", {"name": "x"},
         "unable to resolve paramKind &{v1 Nope} to determine minimum required permissions "
         f'and user {SHOWN} does not have "get" permission for all groups, versions and resources'),
        ("", {"name": "x"},
         "unable to get policy p to determine minimum required permissions and user "
         f'{SHOWN} does not have "get" permission for all groups, versions and resources'),
    ],
)  # fmt: skip
async def test_a_binding_needs_its_params_to_be_readable(
    cluster: Cluster, kind: str, reference: Object, message: str
) -> None:
    if kind:
        await cluster.make(f"{GROUP}/validatingadmissionpolicies", policy(kind))
    answer = await cluster.ask("POST", f"{GROUP}/validatingadmissionpolicybindings", binding(**reference), **USER)
    found = [cause["message"] for cause in (answer.body.get("details") or {}).get("causes") or ()]
    assert (answer.code, found) == ((422, [f"Forbidden: {message}"]) if message else (201, []))
