"""Questions that are answered and not stored: who am I, whose is this token, may somebody do this.

After k8s.io/kubernetes/pkg/registry/{authentication,authorization}, and pkg/apis/authorization/validation.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.authorization.access import Access, exact_fields
from drakit_embedded.apiserver.authorization.rbac_rules import Rule
from drakit_embedded.apiserver.endpoints.call import Call
from drakit_embedded.apiserver.identity.account_tokens import ISSUER
from drakit_embedded.apiserver.identity.users import User
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.scheme import metadata
from drakit_embedded.apiserver.statuses import Cause
from drakit_embedded.apiserver.wire import bodies
from drakit_embedded.apiserver.writing import podverbs
from drakit_embedded.apiserver.writing.intent import Intent

_OWN_FIELDS = ("resourceAttributes", "nonResourceAttributes")
_ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


class FieldRequirement(msgspec.Struct):
    """metav1.FieldSelectorRequirement."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class SelectorAttributes(msgspec.Struct):
    """authorization/v1 FieldSelectorAttributes and LabelSelectorAttributes."""

    rawSelector: str = ""
    requirements: list[FieldRequirement] | None = None

    def exact(self) -> tuple[tuple[str, str], ...]:
        """List the terms that compare a field with one value, as ``(field, value)``."""
        found = [
            (requirement.key, requirement.values[0])
            for requirement in self.requirements or ()
            if requirement.operator == "In" and requirement.values and len(requirement.values) == 1
        ]
        return (*exact_fields(self.rawSelector), *found)


class ResourceAttributes(msgspec.Struct):
    """authorization/v1 ResourceAttributes."""

    namespace: str = ""
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    fieldSelector: SelectorAttributes | None = None
    labelSelector: SelectorAttributes | None = None


class NonResourceAttributes(msgspec.Struct):
    """authorization/v1 NonResourceAttributes."""

    path: str = ""
    verb: str = ""


class AccessSpec(msgspec.Struct):
    """authorization/v1 SubjectAccessReviewSpec; for a SelfSubjectAccessReview, without the user."""

    resourceAttributes: ResourceAttributes | None = None
    nonResourceAttributes: NonResourceAttributes | None = None
    user: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None
    uid: str = ""

    def access(self, user: User) -> Access:
        """Build the access that the review asks about."""
        wanted, path = self.resourceAttributes, self.nonResourceAttributes
        if wanted is None:
            assert path is not None
            return Access(user, path.verb, path=path.path or "/")
        fields = wanted.fieldSelector.exact() if wanted.fieldSelector is not None else ()
        return Access(
            user,
            wanted.verb,
            wanted.group,
            wanted.resource,
            wanted.subresource,
            wanted.namespace,
            wanted.name,
            fields=fields,
        )

    def subject(self) -> User:
        """Build the user whose access the review is about."""
        extra = {key.lower(): tuple(values) for key, values in (self.extra or {}).items()}
        return User(self.user, self.uid, tuple(self.groups or ()), extra)


class TokenSpec(msgspec.Struct):
    """authentication/v1 TokenReviewSpec."""

    token: str = ""
    audiences: list[str] | None = None


class RulesSpec(msgspec.Struct):
    """authorization/v1 SelfSubjectRulesReviewSpec."""

    namespace: str = ""


async def review(api: Api, served: Served, call: Call, intent: Intent) -> Object:
    """Fill in ``status`` of the review in the body; a Binding posted to the old collection is carried out."""
    kind = served.kind
    obj = bodies.typed(await call.raw_object(kind.kind), kind)
    meta = obj.get("metadata")
    obj["metadata"] = meta = meta if isinstance(meta, dict) else {}
    meta.pop("creationTimestamp", None)
    if kind.plural == "bindings":
        return await _bind(api, call, obj, intent)
    spec: object = obj.get("spec") or {}
    if kind.plural == "selfsubjectreviews":
        meta, spec = {"creationTimestamp": metadata.timestamp()}, None
        status = {"userInfo": call.user.info()}
    elif kind.plural == "tokenreviews":
        status = _token(api, spec)
    elif kind.plural == "selfsubjectrulesreviews":
        meta, status = {}, _rules(api, spec, call.user)
        spec = {}
    else:
        status = _access(api, call, meta, spec)
        if kind.plural == "selfsubjectaccessreviews" and isinstance(spec, dict):
            spec = {key: value for key, value in spec.items() if key in _OWN_FIELDS}
    answer = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}
    return {**answer, **({"spec": spec} if spec is not None else {}), "status": status}


async def _bind(api: Api, call: Call, obj: Object, intent: Intent) -> Object:
    """POST to the old collection of bindings, where no UID is asked for (WipeObjectMetaSystemFields)."""
    pods = api.catalog.find("", "v1", "pods")
    if pods is not None:
        obj["metadata"].pop("uid", None)
        name = obj["metadata"].get("name")
        key = call.target.namespace or "", name if isinstance(name, str) else ""
        await call.write(lambda: podverbs.bind(api, pods, key, obj, intent))
    return podverbs.SUCCESS


def _token(api: Api, spec: object) -> Object:
    wanted = bodies.shaped(spec, TokenSpec, "spec")
    if not wanted.token:
        raise statuses.bad_request("token is required for TokenReview in authentication")
    found = api.authenticator.review(wanted.token, wanted.audiences or (ISSUER,))
    if found.user is None:
        return {"user": {}, "error": found.error}
    return {"authenticated": True, "user": found.user.info(), "audiences": list(found.audiences)}


def _rules(api: Api, spec: object, user: User) -> Object:
    namespace = bodies.shaped(spec, RulesSpec, "spec").namespace
    if not namespace:
        raise statuses.bad_request("no namespace on request")
    rules, error = api.authorizer.rules(user, namespace)
    status: Object = {
        "resourceRules": [_resource_rule(rule) for rule in rules if rule.resources],
        "nonResourceRules": [
            {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.urls)} for rule in rules if rule.urls
        ],
        "incomplete": user.node is not None,
    }
    return {**status, "evaluationError": error} if error else status


def _resource_rule(rule: Rule) -> Object:
    shown: Object = {"verbs": list(rule.verbs), "apiGroups": list(rule.groups), "resources": list(rule.resources)}
    return {**shown, "resourceNames": list(rule.names)} if rule.names else shown


def _access(api: Api, call: Call, meta: Object, spec: object) -> Object:
    wanted = bodies.shaped(spec, AccessSpec, "spec")
    plural = call.served.kind.plural
    local = plural == "localsubjectaccessreviews"
    if local:
        meta.setdefault("namespace", call.target.namespace)
    own = plural == "selfsubjectaccessreviews"
    if faults := _faults(wanted, meta, own=own, local=local):
        raise statuses.invalid("", call.served.kind.group, "", faults)
    decision = api.authorizer.decide(wanted.access(call.user if own else wanted.subject()))
    status: Object = {"allowed": decision.allowed}
    return {**status, "reason": decision.reason} if decision.reason else status


def _faults(wanted: AccessSpec, meta: Object, *, own: bool, local: bool) -> list[Cause]:
    resource, path = wanted.resourceAttributes, wanted.nonResourceAttributes
    faults = []
    if (resource is None) == (path is None):
        faults.append(_invalid("spec", _go(path), _ONE_OF))
    if not own and not wanted.user and not wanted.groups:
        faults.append(_invalid("spec.user", wanted.user, "at least one of user or group must be specified"))
    if resource is not None:
        faults += _selector_faults(resource.fieldSelector, "spec.resourceAttributes.fieldSelector")
        faults += _selector_faults(resource.labelSelector, "spec.resourceAttributes.labelSelector")
    if any(key not in ("managedFields", "namespace") if local else key != "managedFields" for key in meta):
        faults.append(_invalid("metadata", meta, "must be empty except for namespace" if local else "must be empty"))
    if local and resource is not None and resource.namespace != meta.get("namespace"):
        field = "spec.resourceAttributes.namespace"
        faults.append(_invalid(field, resource.namespace, "must match metadata.namespace"))
    if local and path is not None:
        faults.append(_invalid("spec.nonResourceAttributes", _go(path), "disallowed on this kind of request"))
    return faults


def _selector_faults(selector: SelectorAttributes | None, path: str) -> list[Cause]:
    if selector is None:
        return []
    if selector.rawSelector and selector.requirements:
        message = "may not specified at the same time as requirements"
        return [_invalid(f"{path}.rawSelector", selector.rawSelector, message)]
    if not selector.rawSelector and not selector.requirements:
        message = f"Required value: when {path} is specified, requirements or rawSelector is required"
        return [Cause("FieldValueRequired", f"{path}.requirements", message)]
    return []


def _go(path: NonResourceAttributes | None) -> Object | None:
    """Convert to the internal Go type, which has no JSON names, for messages."""
    return {"Path": path.path, "Verb": path.verb} if path is not None else None


def _invalid(field: str, value: Any, why: str) -> Cause:
    shown = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Cause("FieldValueInvalid", field, f"Invalid value: {shown}: {why}")
