"""Daemon sets with claims: what watches the devices of each node, beside those who use them."""

from __future__ import annotations

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import DAEMON_SETS, NAMESPACES, NODES, PODS, RESOURCE_CLAIMS
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.manifests import claim_template, pod, pod_spec
from e2e.hardware import StartGpus
from e2e.ledger import DevicesOf

pytestmark = [
    pytest.mark.capability("admin access", source="KEP-5018"),
    pytest.mark.needs_gates("DRAAdminAccess"),
]
_ADMIN = {"resource.kubernetes.io/admin-access": "true"}


def _daemon_set(name: str, template: str, node_name: str) -> Object:
    labels = {"app": name}
    spec = pod_spec(template=template, nodeSelector={"kubernetes.io/hostname": node_name})
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }


def test_a_daemon_set_watches_devices_and_takes_none(
    api: Api, gpus: StartGpus, devices_of: DevicesOf, node: str
) -> None:
    gpu = gpus(nodes=[node])
    api.patch(NAMESPACES, api.namespace, {"metadata": {"labels": _ADMIN}})
    hostname = api.get(NODES, node)["metadata"]["labels"]["kubernetes.io/hostname"]
    watched = gpu.partition("7g.40gb", adminAccess=True)
    api.create(claim_template("watching", watched), _daemon_set("monitor", "watching", hostname))
    seen = api.wait(DAEMON_SETS, "monitor", lambda item: item.get("status", {}).get("numberAvailable") == 1)
    assert (seen["status"]["desiredNumberScheduled"], seen["status"]["numberMisscheduled"]) == (1, 0)
    (monitor,) = [item for item in api.objects(PODS) if item["metadata"]["name"].startswith("monitor-")]
    assert monitor["spec"]["nodeName"] == node
    (status,) = monitor["status"]["resourceClaimStatuses"]
    claim = api.get(RESOURCE_CLAIMS, status["resourceClaimName"])
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    assert result["adminAccess"] is True
    assert result["device"] in api.environment(monitor["metadata"]["name"]).values()

    api.create(gpu.partitions("taken", "7g.40gb"), pod("user", "taken"))
    api.wait_running("user")
    assert devices_of("taken") == [result["device"]]
    api.delete(PODS, "user")
    api.wait_gone(PODS, ["user"])

    # Ended, it comes back.
    api.delete(PODS, monitor["metadata"]["name"])
    api.wait_gone(PODS, [monitor["metadata"]["name"]])
    api.wait(DAEMON_SETS, "monitor", lambda item: item["status"].get("numberAvailable") == 1)
