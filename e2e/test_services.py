"""Charts with Services install: these have addresses, and the pods that they select stand behind them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import DEPLOYMENTS, ENDPOINT_SLICES, PODS, SERVICES
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.clusters.manifests import deployment, pod
from drakit_kind.processes.command_output import output

pytestmark = pytest.mark.capability("services: addresses and endpoints", source="for charts with Services")

_SECONDS = 120
_SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}]
"""


def _ready(parts: list[Object]) -> set[str]:
    """The addresses of the endpoints in slices that are ready."""
    endpoints = [endpoint for part in parts for endpoint in part.get("endpoints") or ()]
    return {endpoint["addresses"][0] for endpoint in endpoints if endpoint["conditions"]["ready"]}


def test_a_service_leads_to_the_pods_that_it_selects(api: Api) -> None:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}
    made = api.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec})
    assert made["spec"]["clusterIP"] not in ("", "None")
    api.create(pod("one", labels={"app": "web"}), pod("other", labels={"app": "other"}))
    api.wait_running("one", "other")
    address = api.get(PODS, "one")["status"]["podIP"]
    of_web = "kubernetes.io/service-name=web"
    api.wait_all(
        ENDPOINT_SLICES, lambda parts: _ready(parts) == {address}, label_selector=of_web, what="the pod's address"
    )


def test_a_chart_with_a_service_is_installed_and_waited_for(api: Api, cluster: Cluster, tmp_path: Path) -> None:
    helm = shutil.which("helm")
    if helm is None:
        pytest.skip("there is no helm in PATH")
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 0.1.0\n")
    (tmp_path / "templates" / "service.yaml").write_text(_SERVICE)
    (tmp_path / "templates" / "deployment.yaml").write_text(json.dumps(deployment("web")))
    command = [helm, "--kubeconfig", str(cluster.kubeconfig), "--namespace", api.namespace]
    output([*command, "install", "web", str(tmp_path), "--wait", "--timeout", f"{_SECONDS}s"], timeout=_SECONDS)
    assert api.get(DEPLOYMENTS, "web")["status"]["availableReplicas"] == 1
    assert api.get(SERVICES, "web")["spec"]["clusterIP"] not in ("", "None")
    output([*command, "uninstall", "web", "--wait"], timeout=_SECONDS)
