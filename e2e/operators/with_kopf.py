"""An operator by kopf: it says what is to happen, and kopf keeps finalizers, progress and events.

``kopf run --standalone --namespace NAMESPACE with_kopf.py`` with ``OPERATOR_GROUP`` in its environment.
"""

from __future__ import annotations

import os
from typing import Any

import kopf
from kubernetes import client, config

from e2e.operators.definition import template

PLACE = (os.environ["OPERATOR_GROUP"], "v1", "workspaces")


def _templates() -> Any:
    """Make a client, which takes dicts, too, though its types do not say so."""
    return client.ResourceV1Api()


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Connect, and keep what kopf remembers in annotations."""
    config.load_kube_config()
    settings.persistence.finalizer = f"{PLACE[0]}/operator"
    settings.posting.enabled = True


@kopf.on.create(*PLACE)
def create(spec: kopf.Spec, name: str, namespace: str | None, body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    """Make the template, which goes with its object, and say so."""
    wanted = template(f"{name}-gpus", dict(spec))
    kopf.adopt(wanted)
    made = _templates().create_namespaced_resource_claim_template(namespace, wanted)
    kopf.event(body, type="Normal", reason="Templated", message=f"made {made.metadata.name}")
    patch.status.update({"phase": "Ready", "template": made.metadata.name, "gpus": spec["gpus"]})


@kopf.on.update(*PLACE, field="spec.gpus")
def resize(spec: kopf.Spec, name: str, namespace: str | None, body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    """Make the template anew, as it cannot be changed."""
    api = _templates()
    api.delete_namespaced_resource_claim_template(f"{name}-gpus", namespace)
    wanted = template(f"{name}-gpus", dict(spec))
    kopf.adopt(wanted)
    api.create_namespaced_resource_claim_template(namespace, wanted)
    kopf.event(body, type="Normal", reason="Resized", message=f"for {spec['gpus']} GPUs")
    patch.status["gpus"] = spec["gpus"]


@kopf.on.delete(*PLACE)
def delete(name: str, namespace: str | None, **_: Any) -> None:
    """Leave a note that the object has ended, which only a finalizer makes sure of."""
    core: Any = client.CoreV1Api()
    core.create_namespaced_config_map(namespace, {"metadata": {"name": f"{name}-ended"}})
