"""The definition of the operators' kinds, as a chart would bring it; each story has a group of its own."""

from __future__ import annotations

from typing import Any


def definition(group: str, kind: str) -> dict[str, Any]:
    """Define a kind of objects that want GPUs: with defaults, rules, a status, columns and a scale."""
    plural = f"{kind.lower()}s"
    text, number = {"type": "string"}, {"type": "integer"}
    spec = {
        "type": "object",
        "required": ["deviceClass"],
        "properties": {
            "deviceClass": {**text, "maxLength": 63},
            "gpus": {**number, "minimum": 1, "maximum": 8, "default": 1},
        },
        "x-kubernetes-validations": [
            {"rule": "self.deviceClass == oldSelf.deviceClass", "message": "deviceClass is immutable"},
        ],
    }
    status = {
        "type": "object",
        "properties": {"phase": text, "template": text, "gpus": number},
        "x-kubernetes-preserve-unknown-fields": True,
    }
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": status}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "Phase", "type": "string", "jsonPath": ".status.phase"}],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [version],
        },
    }


def template(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Make the ResourceClaimTemplate that an object wants."""
    exactly = {"deviceClassName": spec["deviceClass"], "count": spec["gpus"]}
    devices = {"requests": [{"name": "gpus", "exactly": exactly}]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": {"devices": devices}},
    }
