"""Requests of other users than the administrator, who impersonates them."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any
from urllib.parse import urlsplit

import yaml

from drakit_client.resources import Resource
from e2e.attacks.victim import Victim

_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
_SECONDS = 30.0


class Users:
    """Asks a victim's API server in the name of anybody."""

    def __init__(self, victim: Victim) -> None:
        self._victim = victim
        (cluster,) = yaml.safe_load(victim.cluster.kubeconfig.read_text())["clusters"]
        self._server = urlsplit(cluster["cluster"]["server"])

    def may(self, user: str, *rules: dict[str, list[str]]) -> None:
        """Give a user a cluster role of its own."""
        name = f"attacks-{user}"
        self._victim.api.create(_of("ClusterRole", name, rules=list(rules)), resource=_ROLES)
        group = _ROLES.group
        subject = {"apiGroup": group, "kind": "User", "name": user}
        role = {"apiGroup": group, "kind": "ClusterRole", "name": name}
        self._victim.api.create(_of("ClusterRoleBinding", name, roleRef=role, subjects=[subject]), resource=_BINDINGS)

    def ask(self, user: str, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """The code and the object of the answer; ``headers`` have underscores for dashes."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"Content-Type": "application/json", "Impersonate-User": user, **sent}
        sent["Authorization"] = f"Bearer {self._victim.cluster.spec.token}"
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(self._server.netloc, timeout=_SECONDS, context=tls)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()


def _of(kind: str, name: str, **content: Any) -> dict[str, Any]:
    return {"apiVersion": f"{_ROLES.group}/v1", "kind": kind, "metadata": {"name": name}, **content}
