"""Binding and eviction of pods (k8s.io/kubernetes/pkg/registry/core/pod/storage/{storage,eviction}.go)."""

from __future__ import annotations

from typing import Any

import msgspec

from drakit_api.core import conditions
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.registry.pods import scheduled_condition
from drakit_embedded.apiserver.scheme import metadata
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.storage.store import Key
from drakit_embedded.apiserver.wire import bodies
from drakit_embedded.apiserver.writing import deletes, preconditions, writes
from drakit_embedded.apiserver.writing.intent import Intent

SUCCESS: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


class _MetadataShape(msgspec.Struct):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resourceVersion: str | None = None
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None


class _TargetShape(msgspec.Struct):
    kind: str | None = None
    name: str | None = None


class BindingShape(msgspec.Struct):
    """core/v1 Binding."""

    metadata: _MetadataShape = msgspec.field(default_factory=_MetadataShape)
    target: _TargetShape | None = None


class EvictionShape(msgspec.Struct):
    """policy/v1 Eviction."""

    metadata: _MetadataShape = msgspec.field(default_factory=_MetadataShape)
    deleteOptions: dict[str, Any] | None = None


def bind(api: Api, served: Served, key: Key, obj: Object, intent: Intent) -> None:
    """Assign a pod to a node, once; 409 if it has one, is being deleted, or is still gated."""
    binding = bodies.shaped(obj, BindingShape, "Binding")
    statuses.check_namespace(binding.metadata.namespace, key[0])
    name = key[1]
    _admit(api, served, key, "binding", obj, intent)
    binding = bodies.shaped(obj, BindingShape, "Binding")
    if (binding.metadata.name or "") != name:
        raise statuses.bad_request("name in URL does not match name in Binding object")
    if not name:
        raise statuses.bad_request("Name parameter required.")
    target = binding.target or _TargetShape()
    node = target.name
    if target.kind not in (None, "", "Node"):
        raise _invalid(f'target.kind: Unsupported value: {quote(target.kind)}: supported values: "Node", "<empty>"')
    if not node:
        raise _invalid("target.name: Required value")

    def assign(pod: Object) -> Object:
        wanted = binding.metadata
        preconditions.check_update(served.kind, pod, uid=wanted.uid, version=wanted.resourceVersion)
        _check_bindable(pod, name)
        pod["spec"]["nodeName"] = node
        meta, status = pod["metadata"], pod.setdefault("status", {})
        for field, added in (("annotations", binding.metadata.annotations), ("labels", binding.metadata.labels)):
            if added:
                meta[field] = {**(meta.get(field) or {}), **added}
        status.pop("nominatedNodeName", None)
        status["conditions"] = [*conditions.without(status.get("conditions"), "PodScheduled"), scheduled_condition()]
        return pod

    writes.update(api, served, key, assign, Intent(dry_run=intent.dry_run, admitted=True), subresource="binding")


def _admit(api: Api, served: Served, key: Key, subresource: str, obj: Object, intent: Intent) -> None:
    """Run both chains on what was sent, which webhooks and policies may change."""
    obj["metadata"] = {**(obj.get("metadata") or {}), "namespace": key[0]}
    request = intent.attributes("CREATE", served.kind, key, obj, subresource=subresource)
    api.admission.admit(request, api)
    api.admission.validate(request, api)


def _invalid(why: str) -> StatusError:
    """Build the refusal of a binding: upstream returns a plain error here, which becomes a 500."""
    return StatusError(500, "", why)


def _check_bindable(pod: Object, name: str) -> None:
    meta, spec = pod["metadata"], pod["spec"]
    why = ""
    if meta.get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        why = f"pod {name} is already assigned to node {quote(spec['nodeName'])}"
    elif spec.get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why:
        raise statuses.conflict("pods/binding", "", name, why)


def evict(api: Api, served: Served, key: Key, obj: Object, intent: Intent) -> None:
    """Delete a pod with a reason that says so; disruption budgets are not kept here, so every eviction is granted."""
    eviction = bodies.shaped(obj, EvictionShape, "Eviction")
    statuses.check_namespace(eviction.metadata.namespace, key[0])
    _admit(api, served, key, "eviction", obj, intent)
    eviction = bodies.shaped(obj, EvictionShape, "Eviction")
    options = bodies.shaped(eviction.deleteOptions or {}, deletes.Options, "DeleteOptions")
    if eviction.metadata.name != key[1]:
        raise statuses.bad_request("name in URL does not match name in Eviction object")
    options.dryRun = _dry_run(options, intent)
    asked = options.preconditions or deletes.PreconditionsShape()

    def mark(pod: Object) -> Object:
        preconditions.check_deletion(served.kind, pod, uid=asked.uid or None, version=asked.resourceVersion or None)
        status = pod.setdefault("status", {})
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": metadata.timestamp(),
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        others = [c for c in status.get("conditions") or [] if c.get("type") != "DisruptionTarget"]
        status["conditions"] = [*others, condition]
        return pod

    if not options.dryRun:
        marked = writes.update(api, served, key, mark, Intent(admitted=True), subresource="eviction").record
        if asked.resourceVersion is not None:
            # The version was checked before the object was changed here.
            asked.resourceVersion = str(marked.version)
    deletes.delete(api, served, key, options, Intent(admitted=True))


def _dry_run(options: deletes.Options, intent: Intent) -> list[str]:
    """Combine the ``dryRun`` of query and body, which may not contradict each other (propagateDryRun)."""
    of_query, of_body = ["All"] if intent.dry_run else [], options.dryRun or []
    if of_query and of_body and of_query != of_body:
        shown = f"[{' '.join(of_query)}] and [{' '.join(of_body)}]"
        raise StatusError(500, "", f"Non-matching dry-run options in request and content: {shown}")
    return of_body or of_query
