"""An operator by the plain Kubernetes client: it lists, watches and writes all by itself.

``python -m e2e.operators.with_client NAMESPACE`` with ``OPERATOR_GROUP`` in its environment.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import Any

from kubernetes import client, config, watch

from e2e.operators.definition import template

Body = dict[str, Any]
GROUP = os.environ["OPERATOR_GROUP"]
PLURAL = "notebooks"
FINALIZER = f"{GROUP}/operator"
_NOT_FOUND, _GONE = 404, 410


class Operator:
    """Watches the objects of one namespace."""

    def __init__(self, namespace: str) -> None:
        config.load_kube_config()
        self._namespace = namespace
        self._place = (GROUP, "v1", namespace, PLURAL)
        # They take dicts, too, though their types do not say so.
        self._objects: Any = client.CustomObjectsApi()
        self._core: Any = client.CoreV1Api()
        self._resource: Any = client.ResourceV1Api()

    def run(self) -> None:
        """List and watch for ever."""
        while True:
            listed = self._objects.list_namespaced_custom_object(*self._place)
            for item in listed["items"]:
                self._reconcile(item)
            self._watch(listed["metadata"]["resourceVersion"])

    def _watch(self, version: str) -> None:
        try:
            for event in watch.Watch().stream(
                self._objects.list_namespaced_custom_object, *self._place, resource_version=version
            ):
                if event["type"] != "DELETED":
                    self._reconcile(event["object"])
        except client.ApiException as error:
            if error.status != _GONE:
                raise

    def _reconcile(self, item: Body) -> None:
        """Bring one object a step closer to what it wants; each write brings an event, and so the next step."""
        metadata, status = item["metadata"], item.get("status") or {}
        name = f"{metadata['name']}-gpus"
        if "deletionTimestamp" in metadata:
            if FINALIZER in metadata.get("finalizers", ()):
                self._end(item, name)
        elif FINALIZER not in metadata.get("finalizers", ()):
            self._patch(item, {"metadata": {"finalizers": [*metadata.get("finalizers", ()), FINALIZER]}})
        elif status.get("gpus") != item["spec"]["gpus"]:
            self._delete_template(name)
            self._resource.create_namespaced_resource_claim_template(self._namespace, template(name, item["spec"]))
            said = f"for {item['spec']['gpus']} GPUs" if status else f"made {name}"
            self._event(item, "Resized" if status else "Templated", said)
            status = {"phase": "Ready", "template": name, "gpus": item["spec"]["gpus"]}
            self._objects.patch_namespaced_custom_object_status(*self._place, metadata["name"], {"status": status})

    def _end(self, item: Body, name: str) -> None:
        """Undo what was made, and only then let the object go."""
        metadata = item["metadata"]
        self._delete_template(name)
        self._core.create_namespaced_config_map(self._namespace, {"metadata": {"name": f"{metadata['name']}-ended"}})
        left = [each for each in metadata["finalizers"] if each != FINALIZER]
        self._patch(item, {"metadata": {"finalizers": left, "resourceVersion": metadata["resourceVersion"]}})

    def _patch(self, item: Body, patch: Body) -> None:
        self._objects.patch_namespaced_custom_object(*self._place, item["metadata"]["name"], patch)

    def _delete_template(self, name: str) -> None:
        try:
            self._resource.delete_namespaced_resource_claim_template(name, self._namespace)
        except client.ApiException as error:
            if error.status != _NOT_FOUND:
                raise

    def _event(self, item: Body, reason: str, message: str) -> None:
        metadata, now = item["metadata"], datetime.now(UTC)
        about = {"apiVersion": item["apiVersion"], "kind": item["kind"], "name": metadata["name"]}
        event = {
            "metadata": {"generateName": f"{metadata['name']}-"},
            "involvedObject": {**about, "namespace": self._namespace, "uid": metadata["uid"]},
            "type": "Normal",
            "reason": reason,
            "message": message,
            "source": {"component": "notebooks"},
            "firstTimestamp": now.isoformat(),
            "lastTimestamp": now.isoformat(),
            "count": 1,
        }
        self._core.create_namespaced_event(self._namespace, event)


if __name__ == "__main__":
    Operator(sys.argv[1]).run()
