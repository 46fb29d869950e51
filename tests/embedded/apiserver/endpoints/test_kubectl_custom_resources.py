"""kubectl with kinds that a CustomResourceDefinition brings, against the embedded API server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

pytestmark = [pytest.mark.kubectl, pytest.mark.slow]
Kubectl = Callable[..., Awaitable[str]]

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Phase, type: string, jsonPath: .status.phase, priority: 1}
    selectableFields: [{jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, description: How large it is.}
              replicas: {type: integer}
              parts:
                type: array
                items: {type: object, required: [name], properties: {name: {type: string}, count: {type: integer}}}
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
            x-kubernetes-validations: [{rule: "!has(self.size) || self.size < 100", message: it is too large}]
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties: {phase: {type: string}, replicas: {type: integer}}
"""
WIDGET = """
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
spec: {size: 3, replicas: 1, parts: [{name: a, count: 1}]}
"""


@pytest.fixture
async def defined(kubectl: Kubectl) -> Kubectl:
    """A server with the definition and one object of its kind."""
    await kubectl("create", "-f", "-", stdin=DEFINITION)
    await kubectl("wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=30s")
    assert await kubectl("apply", "-f", "-", stdin=WIDGET) == "widget.example.com/w created\n"
    return kubectl


async def test_objects_are_applied_and_shown(defined: Kubectl) -> None:
    assert "unchanged" in await defined("apply", "-f", "-", stdin=WIDGET)
    assert "configured" in await defined("apply", "-f", "-", stdin=WIDGET.replace("size: 3", "size: 4"))
    assert (await defined("get", "widgets")).split() == ["NAME", "SIZE", "w", "4"]
    assert "widget.example.com/w" in await defined("get", "all")
    described = await defined("describe", "wd", "w")
    assert "API Version:  example.com/v1" in described
    assert "Size:      4" in described
    assert await defined("get", "wd", "--field-selector=spec.size=4", "-o", "name") == "widget.example.com/w\n"
    assert "No resources found" in await defined("get", "wd", "--field-selector=spec.size=5")
    assert '"w" deleted' in await defined("delete", "wd", "w", "--timeout=30s")
    await defined("delete", "crd", "widgets.example.com", "--timeout=30s")
    assert "could not find the requested resource" in await defined("get", "wd", fails=True)


async def test_mistakes_are_refused(defined: Kubectl) -> None:
    for wrong, said in (
        ("size: 100", 'The Widget "w" is invalid: spec: Invalid value: it is too large'),
        ("size: large", 'spec.size in body must be of type integer: "string"'),
        ("sizes: 3", 'strict decoding error: unknown field "spec.sizes"'),
    ):
        refused = await defined("apply", "-f", "-", stdin=WIDGET.replace("size: 3", wrong), fails=True)
        assert said in refused
    refused = await defined("patch", "wd", "w", "-p", "{}", fails=True)
    assert "application/strategic-merge-patch+json is not supported by example.com/v1, Kind=Widget" in refused


async def test_server_side_apply_merges_lists_by_their_keys(defined: Kubectl) -> None:
    await defined("delete", "wd", "w", "--timeout=30s")
    await defined("create", "-f", "-", stdin=WIDGET)
    other = WIDGET.replace("size: 3", "size: 5").replace("name: a", "name: b")
    command = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    assert "using example.com/v1: .spec.size" in await defined(*command, stdin=other, fails=True)
    assert "serverside-applied" in await defined(*command, "--force-conflicts", stdin=other)
    parts = await defined("get", "wd", "w", "-o", "jsonpath={.spec.size}{range .spec.parts[*]} {.name}{end}")
    assert parts == "5 a b"


async def test_status_and_scale(defined: Kubectl) -> None:
    status = '{"status": {"phase": "Up", "conditions": [{"type": "Ready", "status": "True"}]}}'
    await defined("patch", "wd", "w", "--subresource=status", "--type=merge", "-p", status)
    assert "condition met" in await defined("wait", "--for=condition=Ready", "wd/w", "--timeout=30s")
    assert "condition met" in await defined("wait", "--for=jsonpath={.status.phase}=Up", "wd/w", "--timeout=30s")
    assert (await defined("get", "wd", "-o", "wide", "--no-headers")).split() == ["w", "3", "Up"]
    assert "scaled" in await defined("scale", "wd/w", "--replicas=7", "--current-replicas=1")
    shown = await defined("get", "wd", "w", "-o", "jsonpath={.spec.replicas}/{.metadata.generation}")
    assert shown == "7/2"


async def test_kinds_and_rights(defined: Kubectl) -> None:
    (kind,) = (await defined("api-resources", "--api-group=example.com", "--no-headers")).splitlines()
    assert kind.split() == ["widgets", "wd", "example.com/v1", "true", "Widget"]
    assert "example.com/v1" in (await defined("api-versions")).split()
    assert "size\t<integer>\n    How large it is." in await defined("explain", "widget.spec")
    assert "no" in await defined("auth", "can-i", "get", "wd", "--as=bob", fails=True)
    await defined("create", "role", "reader", "--verb=get,list", "--resource=widgets.example.com")
    await defined("create", "rolebinding", "bob", "--role=reader", "--user=bob")
    assert await defined("auth", "can-i", "get", "wd", "--as=bob") == "yes\n"
    assert "no" in await defined("auth", "can-i", "get", "wd", "--subresource=status", "--as=bob", fails=True)
    assert (await defined("get", "wd", "--as=bob", "-o", "name")) == "widget.example.com/w\n"
    assert 'cannot delete resource "widgets" in API group "example.com"' in await defined(
        "delete", "wd", "w", "--as=bob", fails=True
    )
