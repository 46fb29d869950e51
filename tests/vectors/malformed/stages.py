"""Steps that stories have in common: what must be there before something is asked, and what is removed afterwards."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
Step = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
PATHS = {
    "CustomResourceDefinition": DEFINITIONS,
    "ValidatingAdmissionPolicy": f"{_ADMISSION}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{_ADMISSION}/validatingadmissionpolicybindings",
    "MutatingAdmissionPolicy": f"{_ADMISSION}/mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": f"{_ADMISSION}/mutatingadmissionpolicybindings",
    "ValidatingWebhookConfiguration": f"{_ADMISSION}/validatingwebhookconfigurations",
    "MutatingWebhookConfiguration": f"{_ADMISSION}/mutatingwebhookconfigurations",
}
_CONFIG_MAPS = "/api/v1/namespaces/default/configmaps?dryRun=All"
_FORBIDDEN, _REFUSED = 422, 400


def post(document: Object, *, vital: bool = False) -> Step:
    """Create a document of a kind of ``PATHS``; if that is vital, nothing else follows where it is refused."""
    step = {"method": "POST", "path": PATHS[document["kind"]], "body": document}
    return {**step, "vital": True} if vital else step


def path_of(document: Object) -> str:
    """Return the path of a document of a kind of ``PATHS``."""
    return f"{PATHS[document['kind']]}/{document['metadata']['name']}"


def removed(*documents: Object) -> list[Step]:
    """Remove documents at the end, the last one first."""
    return [{"method": "DELETE", "path": path_of(document), "cleanup": True} for document in reversed(documents)]


def fetched(path: str, name: str) -> Step:
    """Read what is there, and remember it under a name."""
    return {"method": "GET", "path": path, "save": name}


def put(path: str, body: Object, name: str) -> Step:
    """Replace what was read under a name."""
    metadata = {**body.get("metadata", {}), "resourceVersion": f"${{{name}.metadata.resourceVersion}}"}
    return {"method": "PUT", "path": path, "body": {**body, "metadata": metadata}}


def defined(definition: Object) -> list[Step]:
    """Create a definition, and wait until its kind is served in all of its versions."""
    spec = definition["spec"]
    served = [version["name"] for version in spec["versions"] if version["served"]]
    lists = [f"/apis/{spec['group']}/{name}/{spec['names']['plural']}?limit=1" for name in served]
    return [
        post(definition, vital=True),
        established(definition),
        *({"wait": {"method": "GET", "path": path, "code": 200}} for path in lists),
    ]


def established(definition: Object) -> Step:
    """Wait until a definition is established."""
    match = [{"path": "status.conditions[type=Established].status", "value": "True"}]
    return {"wait": {"method": "GET", "path": path_of(definition), "match": match}}


def objects_path(definition: Object, version: str | None = None) -> str:
    """Return the path of the objects of a definition, in the first version that is served if none is given."""
    spec = definition["spec"]
    named = version or next(version["name"] for version in spec["versions"] if version["served"])
    scope = "namespaces/default/" if spec["scope"] == "Namespaced" else ""
    return f"/apis/{spec['group']}/{named}/{scope}{spec['names']['plural']}"


def policies_seen(name: str) -> tuple[list[Step], list[Step]]:
    """Wait until all policies that were created before are at work; also returns how to remove what that takes.

    A server sees policies and bindings in the order in which they come.
    """
    validating = _of("ValidatingAdmissionPolicy", name, **_rule(name), validations=[{"expression": "false"}])
    added = {"expression": '[JSONPatch{op: "add", path: "/data", value: {"probe": "yes"}}]'}
    mutation = {"patchType": "JSONPatch", "jsonPatch": added}
    mutating = _of("MutatingAdmissionPolicy", f"{name}-m", **_rule(f"{name}-m"), mutations=[mutation])
    mutating["spec"] |= {"failurePolicy": "Fail", "reinvocationPolicy": "Never"}
    bindings = [
        _of("ValidatingAdmissionPolicyBinding", name, policyName=name, validationActions=["Deny"]),
        _of("MutatingAdmissionPolicyBinding", f"{name}-m", policyName=f"{name}-m"),
    ]
    made = [validating, mutating, *bindings]
    waits = [
        _asked_until(name, {}, {"code": _FORBIDDEN}),
        _asked_until(f"{name}-m", {}, {"code": 201, "match": [{"path": "data.probe", "value": "yes"}]}),
    ]
    return [*map(post, made), *waits], removed(*made)


def webhooks_seen(name: str) -> tuple[list[Step], list[Step]]:
    """Wait until all webhook configurations that were created before are at work; the rest as above.

    The hooks ``probev`` and ``probem`` of the story refuse what they are asked.
    """
    made = []
    for kind, letter in (("ValidatingWebhookConfiguration", "v"), ("MutatingWebhookConfiguration", "m")):
        hook = webhook(f"probe{letter}", name, "", "configmaps", timeout=10)
        hook["objectSelector"] = {"matchLabels": {"probe": f"{name}-{letter}"}}
        made.append(configuration(kind, f"{name}-p{letter}", hook))
    labels = [{"probe": f"{name}-{letter}"} for letter in "vm"]
    waits = [_asked_until(f"{name}-probe", each, {"code": _REFUSED}) for each in labels]
    return [*map(post, made), *waits], removed(*made)


def webhook(hook: str, name: str, group: str, resource: str, *, timeout: int) -> Object:
    """Name a hook of the story for creates and updates of a resource."""
    return {
        "name": f"{hook}.{name}.example.com",
        "clientConfig": {"url": f"${{hook}}/{hook}", "caBundle": "${hookca}"},
        "rules": [
            {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [resource]}
        ],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": timeout,
    }


def configuration(kind: str, name: str, *webhooks: Object) -> Object:
    """Make a webhook configuration."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": list(webhooks),
    }


def _asked_until(name: str, labels: Object, condition: Object) -> Step:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}}
    return {"wait": {"method": "POST", "path": _CONFIG_MAPS, "body": body, "times": 2, **condition}}


def _of(kind: str, name: str, **spec: Any) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def _rule(name: str) -> Object:
    rule = {"apiGroups": [""], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["configmaps"]}
    return {"matchConstraints": {"resourceRules": [{**rule, "resourceNames": [name]}]}}
