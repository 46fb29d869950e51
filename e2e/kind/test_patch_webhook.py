"""The webhook that refuses patches whose selectors do not compile, as a pod of a cluster that runs containers."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from drakit_allocator.webhook.configuration import IN_CLUSTER
from drakit_allocator.webhook.deployment import NAME, NAMESPACE
from drakit_api.kubernetes_objects import Object
from drakit_client.errors import ApiError
from drakit_client.resources import DEPLOYMENTS, PODS, RESOURCE_SLICE_PATCHES, VALIDATING_WEBHOOKS
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.testing.settings.values import backend
from e2e.patches.patching import install

pytestmark = [
    pytest.mark.capability("a webhook for selectors of patches", source="KEP-5027"),
    pytest.mark.timeout(300),
]

_SECONDS = 30.0


@pytest.fixture(autouse=True)
def _in_kind(request: pytest.FixtureRequest) -> None:
    if backend(request.config) != "kind":
        pytest.skip("the webhook is a pod in kind clusters only: --drakit-cluster kind")


@pytest.fixture
def webhook(api: Api, cluster: Cluster) -> Iterator[None]:
    """The pod, ready; afterwards the API server does not ask it any more, and it goes."""
    schedulers = api.objects(PODS, NAMESPACE, label_selector="app.kubernetes.io/name=drakit-scheduler")
    install(cluster, "--webhook", "--image", schedulers[0]["spec"]["containers"][0]["image"])
    api.wait(DEPLOYMENTS, NAME, _is_available, namespace=NAMESPACE, what="available")
    yield
    api.delete(VALIDATING_WEBHOOKS, IN_CLUSTER)
    api.delete(DEPLOYMENTS, NAME, namespace=NAMESPACE)


def _is_available(seen: Object) -> bool:
    return bool((seen.get("status") or {}).get("availableReplicas"))


def _selecting(name: str, expression: str) -> Object:
    devices = {"filter": {"driver": "nobody.example.com", "selectors": [{"cel": {"expression": expression}}]}}
    return {
        "apiVersion": RESOURCE_SLICE_PATCHES.api_version,
        "kind": RESOURCE_SLICE_PATCHES.kind,
        "metadata": {"name": name},
        "spec": {"devices": {**devices, "attributes": {"example.com/tier": {"string": "gold"}}}},
    }


@pytest.mark.usefixtures("webhook")
def test_a_selector_that_does_not_compile_is_refused_by_a_pod(api: Api) -> None:
    name = f"{api.namespace}.selecting"
    refusal = _refusal(api, _selecting(name, "devise.driver == 'x'"))
    assert "denied the request" in refusal
    assert re.search(r"selectors\[0\]\.cel\.expression.*undeclared reference", refusal)
    api.create(_selecting(name, "device.driver == 'x'"))
    api.delete(RESOURCE_SLICE_PATCHES, name)


def _refusal(api: Api, patch: Object) -> str:
    """Wait until a patch is refused: nodes learn where a Service leads a moment after its pod is ready."""
    name, deadline = patch["metadata"]["name"], time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        try:
            api.create(patch)
        except ApiError as error:
            return str(error)
        api.delete(RESOURCE_SLICE_PATCHES, name)
        api.wait_gone(RESOURCE_SLICE_PATCHES, [name])
    raise AssertionError(f"{name} has not been refused for {_SECONDS:g} s")
