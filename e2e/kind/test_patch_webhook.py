"""The webhook that refuses patches whose selectors do not compile, as a pod of a cluster that runs containers."""

from __future__ import annotations

import re
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

# For the pod to start; less than the command may take (e2e/patches/patching.py).
_SECONDS = "90"


@pytest.fixture(autouse=True)
def _in_kind(request: pytest.FixtureRequest) -> None:
    if backend(request.config) != "kind":
        pytest.skip("the webhook is a pod in kind clusters only: --drakit-cluster kind")


@pytest.fixture
def webhook(api: Api, cluster: Cluster) -> Iterator[None]:
    """The pod, asked of each patch; afterwards the API server does not ask it any more, and it goes."""
    schedulers = api.objects(PODS, NAMESPACE, label_selector="app.kubernetes.io/name=drakit-scheduler")
    image = schedulers[0]["spec"]["containers"][0]["image"]
    try:
        install(cluster, "--webhook", "--image", image, "--timeout", _SECONDS)
        yield
    finally:
        api.delete(VALIDATING_WEBHOOKS, IN_CLUSTER)
        api.delete(DEPLOYMENTS, NAME, namespace=NAMESPACE)


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
    with pytest.raises(ApiError) as refused:
        api.create(_selecting(name, "devise.driver == 'x'"))
    assert "denied the request" in str(refused.value)
    assert re.search(r"selectors\[0\]\.cel\.expression.*undeclared reference", str(refused.value))
    api.create(_selecting(name, "device.driver == 'x'"))
    api.delete(RESOURCE_SLICE_PATCHES, name)
