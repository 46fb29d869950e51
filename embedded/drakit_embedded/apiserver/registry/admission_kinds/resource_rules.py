"""Which writes a webhook, policy or binding is for: rules of resources and operations, and selectors around them.

After validateRuleWithOperations and validateMatchResources in
k8s.io/kubernetes/pkg/apis/admissionregistration/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drakit_api import formats
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors, FieldError, duplicate, invalid, not_supported, required
from drakit_api.validation.items import each
from drakit_embedded.apiserver.registry.selector_rules import label_selector

OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
# A policy cannot change what is deleted.
MUTABLE_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
MATCH_POLICIES = ("Equivalent", "Exact")
_SCOPES = ("*", "Cluster", "Namespaced")
_SELECTORS = ("namespaceSelector", "objectSelector")


def match_resources(resources: Object, path: str) -> Errors:
    """Check the resources that a policy or binding is for."""
    policy = resources.get("matchPolicy") or ""
    if policy not in MATCH_POLICIES:
        yield not_supported(f"{path}.matchPolicy", policy, MATCH_POLICIES)
    for field in _SELECTORS:
        yield from label_selector(resources.get(field) or {}, f"{path}.{field}")
    for field in ("resourceRules", "excludeResourceRules"):
        yield from each(resources.get(field), f"{path}.{field}", _named_rule)


def mutable_operations(resources: Object, path: str) -> Errors:
    """Check that a mutating policy or its binding names no operation that it cannot change."""
    for listed in resources.get("resourceRules") or ():
        for operation in listed.get("operations") or ():
            if operation not in MUTABLE_OPERATIONS:
                yield not_supported(f"{path}.resourceRules.operations", operation, MUTABLE_OPERATIONS)


def rule(value: Object, path: str) -> Errors:
    """Check a rule: operations, groups, versions, resources and scope."""
    operations = value.get("operations") or []
    if not operations:
        yield required(f"{path}.operations")
    yield from _alone(operations, f"{path}.operations", "operations")
    for index, operation in enumerate(operations):
        if operation not in OPERATIONS:
            yield not_supported(f"{path}.operations[{index}]", operation, OPERATIONS)
    groups, versions = value.get("apiGroups") or [], value.get("apiVersions") or []
    if not groups:
        yield required(f"{path}.apiGroups")
    yield from _alone(groups, f"{path}.apiGroups", "API groups")
    if not versions:
        yield required(f"{path}.apiVersions")
    yield from _alone(versions, f"{path}.apiVersions", "API versions")
    for index, version in enumerate(versions):
        if not version:
            yield required(f"{path}.apiVersions[{index}]")
    yield from _resources(value.get("resources") or [], f"{path}.resources")
    scope = value.get("scope")
    if scope is not None and scope not in _SCOPES:
        yield not_supported(f"{path}.scope", scope, _SCOPES)


def _named_rule(value: Object, path: str) -> Errors:
    """Check a rule that may name objects."""
    seen = set()
    for index, name in enumerate(value.get("resourceNames") or ()):
        field = f"{path}.resourceNames[{index}]"
        yield from (invalid(field, name, problem) for problem in formats.path_segment(name))
        if name in seen:
            yield duplicate(field, name)
        seen.add(name)
    yield from rule(value, path)


def _alone(values: Sequence[str], path: str, what: str) -> Errors:
    if len(values) > 1 and "*" in values:
        yield invalid(path, values, f"if '*' is present, must not specify other {what}")


def _resources(resources: Sequence[str], path: str) -> Errors:
    """Check plurals and subresources, such as ``pods/status``; ``*`` covers what must not be named beside it."""
    if not resources:
        yield required(path)
    yield from _covered(resources, path)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid(path, resources, "if '*/*' is present, must not specify other resources")
    # Upstream lets the last of them decide.
    plurals = [resource for resource in resources if resource and "/" not in resource]
    if "*" in plurals and plurals[-1] != "*":
        why = "if '*' is present, must not specify other resources without subresources"
        yield invalid(path, resources, why)


def _covered(resources: Sequence[str], path: str) -> Iterator[FieldError]:
    """Find what an earlier ``pods/*`` or ``*/status`` covers."""
    plurals, subresources = set(), set()
    for index, resource in enumerate(resources):
        field = f"{path}[{index}]"
        if not resource:
            yield required(field)
        plural, slash, subresource = resource.partition("/")
        if not slash:
            continue
        for pattern, is_present in (
            (f"{plural}/*", plural in plurals),
            (f"*/{subresource}", subresource in subresources),
        ):
            if is_present:
                yield invalid(field, resource, f"if '{pattern}' is present, must not specify {resource}")
        if subresource == "*":
            plurals.add(plural)
        if plural == "*":
            subresources.add(subresource)
