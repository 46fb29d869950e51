"""Which writes webhooks and policies are for: rules, selectors, equivalent resources."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission.attributes import Attributes, Operation
from drakit_embedded.apiserver.admission.matching import criteria
from drakit_embedded.apiserver.admission.matching.configured import Configured
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.identity.users import ADMIN
from drakit_embedded.apiserver.registry.catalog import Catalog
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.storage.store import Store

OLDER = {"resource.k8s.io/v1beta1": "true", "resource.k8s.io/v1beta2": "true"}
HOOKS = "validatingwebhookconfigurations.admissionregistration.k8s.io"


@pytest.fixture
def api() -> Api:
    store = Store()
    gates = FeatureGates()
    made = Api(store, Catalog(store, gates, OLDER), gates)
    store.put(store.named("namespaces"), ("", "prod"), {"metadata": {"name": "prod", "labels": {"env": "prod"}}})
    store.put(store.named("namespaces"), ("", "dev"), {"metadata": {"name": "dev"}})
    return made


def write(api: Api, path: str, operation: Operation = "CREATE", name: str = "x", **fields: Any) -> Attributes:
    """A write of ``group/version/[namespace:]plural[/subresource]``."""
    group, version, plural, *subresource = path.split("/")
    namespace, _, plural = plural.rpartition(":")
    served = api.catalog.find(group, version, plural)
    assert served is not None
    obj = fields.pop("object", {"metadata": {"name": name}} if operation in ("CREATE", "UPDATE") else None)
    return Attributes(
        ADMIN, operation, served.kind, namespace, name, obj, subresource=subresource[0] if subresource else "", **fields
    )


def rule(resources: str, groups: str = "*", versions: str = "*", operations: str = "*", **fields: Any) -> Object:
    return {
        "apiGroups": groups.split(","),
        "apiVersions": versions.split(","),
        "operations": operations.split(","),
        "resources": resources.split(","),
        **fields,
    }


@pytest.mark.parametrize(
    ("given", "path", "operation", "expected"),
    [
        (rule("pods"), "/v1/dev:pods", "CREATE", True),
        (rule("pods"), "/v1/dev:pods/eviction", "CREATE", False),
        (rule("pods/*"), "/v1/dev:pods/eviction", "CREATE", True),
        (rule("pods/*"), "/v1/dev:pods", "CREATE", True),
        (rule("pods/eviction"), "/v1/dev:pods/eviction", "CREATE", True),
        (rule("pods/eviction"), "/v1/dev:pods", "CREATE", False),
        (rule("*"), "/v1/dev:configmaps", "CREATE", True),
        (rule("*"), "/v1/dev:pods/status", "UPDATE", False),
        (rule("*/*"), "/v1/dev:pods/status", "UPDATE", True),
        (rule("*/*"), "/v1/dev:pods", "UPDATE", True),
        (rule("*/scale"), "apps/v1/dev:deployments/scale", "UPDATE", True),
        (rule("*/scale"), "apps/v1/dev:deployments", "UPDATE", False),
        (rule("deployments", groups=""), "apps/v1/dev:deployments", "CREATE", False),
        (rule("deployments", groups=",apps"), "apps/v1/dev:deployments", "CREATE", True),
        (rule("pods", versions="v1beta1"), "/v1/dev:pods", "CREATE", False),
        (rule("pods", operations="UPDATE,DELETE"), "/v1/dev:pods", "CREATE", False),
        (rule("pods", operations="UPDATE,DELETE"), "/v1/dev:pods", "DELETE", True),
        (rule("pods", scope="Namespaced"), "/v1/dev:pods", "CREATE", True),
        (rule("pods", scope="Cluster"), "/v1/dev:pods", "CREATE", False),
        (rule("*", scope="*"), "/v1/nodes", "CREATE", True),
        (rule("*", scope="Cluster"), "/v1/nodes", "CREATE", True),
        (rule("*", scope="Namespaced"), "/v1/nodes", "CREATE", False),
        (rule("*", scope="Cluster"), "/v1/namespaces", "UPDATE", True),
        (rule("*", scope="Namespaced"), "/v1/namespaces", "UPDATE", False),
    ],
)
def test_a_rule_covers_what_all_of_its_parts_name(
    api: Api, given: Object, path: str, operation: Operation, expected: bool
) -> None:
    attributes = write(api, path, operation)
    assert (criteria.of_webhook({"rules": [given]}).match(attributes, api) is not None) is expected


@pytest.mark.parametrize(
    ("resources", "name", "expected"),
    [
        ({}, "a", True),
        ({"resourceRules": [rule("configmaps", resourceNames=["a"])]}, "a", True),
        ({"resourceRules": [rule("configmaps", resourceNames=["a"])]}, "b", False),
        ({"excludeResourceRules": [rule("configmaps", resourceNames=["a"])]}, "a", False),
        ({"excludeResourceRules": [rule("configmaps", resourceNames=["a"])]}, "b", True),
        ({"resourceRules": [rule("*")], "excludeResourceRules": [rule("configmaps")]}, "a", False),
        ({"resourceRules": [rule("secrets")]}, "a", False),
    ],
)
def test_a_policy_may_name_objects_and_leave_some_out(api: Api, resources: Object, name: str, expected: bool) -> None:
    attributes = write(api, "/v1/dev:configmaps", name=name)
    assert (criteria.of_resources(resources).match(attributes, api) is not None) is expected


@pytest.mark.parametrize(
    ("path", "fields", "expected"),
    [
        ("/v1/prod:pods", {}, True),
        ("/v1/dev:pods", {}, False),
        ("/v1/nodes", {}, True),
        ("/v1/namespaces", {"name": "new", "object": {"metadata": {"labels": {"env": "prod"}}}}, True),
        ("/v1/namespaces", {"name": "prod", "operation": "UPDATE", "object": {"metadata": {}}}, False),
        ("/v1/namespaces", {"name": "prod", "operation": "DELETE"}, True),
        ("/v1/namespaces", {"name": "dev", "operation": "DELETE"}, False),
        ("/v1/namespaces/status", {"name": "prod", "operation": "UPDATE", "object": {"metadata": {}}}, True),
    ],
)
def test_a_namespace_selector_reads_the_labels_of_the_namespace(
    api: Api, path: str, fields: Object, expected: bool
) -> None:
    hook = {"rules": [rule("*/*")], "namespaceSelector": {"matchLabels": {"env": "prod"}}}
    assert (criteria.of_webhook(hook).match(write(api, path, **fields), api) is not None) is expected


def test_an_unknown_namespace_is_reported_only_by_what_concerns_the_write_otherwise(api: Api) -> None:
    selector = {"namespaceSelector": {"matchLabels": {"env": "prod"}}}
    attributes = write(api, "/v1/gone:pods")
    with pytest.raises(StatusError, match='namespaces "gone" not found') as refused:
        criteria.of_webhook({"rules": [rule("pods")], **selector}).match(attributes, api)
    assert refused.value.code == 404
    assert criteria.of_webhook({"rules": [rule("secrets")], **selector}).match(attributes, api) is None
    other = {"objectSelector": {"matchLabels": {"a": "b"}}}
    assert criteria.of_webhook({"rules": [rule("pods")], **selector, **other}).match(attributes, api) is None


@pytest.mark.parametrize(
    ("new", "old", "operation", "expected"),
    [
        ("1", None, "CREATE", True),
        ("2", None, "CREATE", False),
        ("2", "1", "UPDATE", True),
        ("1", "2", "UPDATE", True),
        ("2", "2", "UPDATE", False),
        (None, "1", "DELETE", True),
    ],
)
def test_an_object_selector_reads_the_new_or_the_old_labels(
    api: Api, new: str | None, old: str | None, operation: Operation, expected: bool
) -> None:
    states = [{"metadata": {"labels": {"level": level}}} if level else None for level in (new, old)]
    attributes = write(api, "/v1/dev:pods", operation, object=states[0], old=states[1])
    hook = {"rules": [rule("pods")], "objectSelector": {"matchLabels": {"level": "1"}}}
    assert (criteria.of_webhook(hook).match(attributes, api) is not None) is expected


def test_options_have_no_labels_that_a_selector_could_miss(api: Api) -> None:
    attributes = write(api, "/v1/dev:pods/exec", "CONNECT", object={"kind": "PodExecOptions"})
    unlabelled = {"matchExpressions": [{"key": "level", "operator": "DoesNotExist"}]}
    hook = {"rules": [rule("pods/exec")]}
    assert criteria.of_webhook(hook).match(attributes, api) is not None
    assert criteria.of_webhook({**hook, "objectSelector": unlabelled}).match(attributes, api) is None


@pytest.mark.parametrize(
    ("given", "policy", "path", "expected"),
    [
        (rule("resourceclaims", versions="v1beta1"), "Equivalent", "resource.k8s.io/v1/dev:resourceclaims", "v1beta1"),
        (rule("resourceclaims", versions="v1beta1"), "Exact", "resource.k8s.io/v1/dev:resourceclaims", None),
        (rule("resourceclaims"), "Equivalent", "resource.k8s.io/v1beta2/dev:resourceclaims", "v1beta2"),
        (rule("events", groups=""), "Equivalent", "events.k8s.io/v1/dev:events", "v1"),
        (rule("events", groups=""), "Exact", "events.k8s.io/v1/dev:events", None),
        (rule("pods", versions="v2"), "Equivalent", "/v1/dev:pods", None),
    ],
)
def test_a_rule_for_another_version_covers_an_equivalent_resource(
    api: Api, given: Object, policy: str, path: str, expected: str | None
) -> None:
    found = criteria.of_webhook({"rules": [given], "matchPolicy": policy}).match(write(api, path), api)
    assert (found and found.api_version.rpartition("/")[2]) == expected


class Hook:
    def __init__(self, source: Object) -> None:
        self.name, self.criteria = source["name"], criteria.of_webhook(source)


def test_configured_hooks_are_in_order_and_in_force_at_once(api: Api) -> None:
    collection = api.store.named(HOOKS)
    configured = Configured(collection, lambda obj: [Hook(hook) for hook in obj["webhooks"]])
    pods, nodes = write(api, "/v1/dev:pods").kind, write(api, "/v1/nodes").kind
    assert configured.of(pods, api) == ()

    def put(name: str, *hooks: Object) -> None:
        api.store.put(collection, ("", name), {"metadata": {"name": name}, "webhooks": list(hooks)})

    put("b", {"name": "b1", "rules": [rule("pods")]}, {"name": "b2", "rules": [rule("*/*")]})
    put("a", {"name": "a1", "rules": [rule("nodes")]})
    before = configured.of(nodes, api)
    assert [hook.name for hook in before] == ["a1", "b2"]
    assert [hook.name for hook in configured.of(pods, api)] == ["b1", "b2"]
    put("b", {"name": "b3", "rules": [rule("*", groups="apps")]})
    assert configured.of(nodes, api) == (before[0],)
    assert configured.of(pods, api) == ()


@pytest.mark.parametrize(
    "path",
    [
        "admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        "admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
        "authorization.k8s.io/v1/subjectaccessreviews",
    ],
)
def test_nothing_is_called_for_its_own_configuration_and_for_reviews(api: Api, path: str) -> None:
    collection = api.store.named(HOOKS)
    configured = Configured(collection, lambda obj: [Hook(hook) for hook in obj["webhooks"]])
    hooks = [{"name": "all", "rules": [rule("*/*")]}]
    api.store.put(collection, ("", "all"), {"metadata": {"name": "all"}, "webhooks": hooks})
    assert configured.of(write(api, path).kind, api) == ()
    assert configured.of(write(api, "/v1/dev:bindings").kind, api)
