"""A definition as it is stored, to be changed by tests."""

from __future__ import annotations

import copy
from typing import Any

from drakit_api.kubernetes_objects import Object

_SCHEMA: Object = {"type": "object", "properties": {"spec": {"type": "object"}}}


def definition(schema: Object | None = None, **spec: Any) -> Object:
    """Make a definition of Widgets with one version; ``spec`` takes the place of parts of its spec."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema or _SCHEMA}}
    return copy.deepcopy(
        {
            "metadata": {"name": "widgets.example.com", "resourceVersion": "1"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [version],
                "conversion": {"strategy": "None"},
                **spec,
            },
            "status": {"storedVersions": ["v1"], "acceptedNames": {"plural": "", "kind": ""}},
        }
    )


def field(schema: Object) -> Object:
    """Make the schema of an object whose field ``a`` has a schema."""
    return {"type": "object", "properties": {"a": schema}}
