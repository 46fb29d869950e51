"""The rules of ValidatingWebhookConfiguration and MutatingWebhookConfiguration.

After validateValidatingWebhookConfiguration and validateMutatingWebhookConfiguration in
k8s.io/kubernetes/pkg/apis/admissionregistration/validation/validation.go. What was stored before a rule came into being
stays valid: an update is spared the rules that the old object breaks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from drakit_api import formats
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors, duplicate, invalid, not_supported, required
from drakit_api.validation.items import each
from drakit_embedded.apiserver.registry.admission_kinds.expressions import match_conditions
from drakit_embedded.apiserver.registry.admission_kinds.resource_rules import MATCH_POLICIES, rule
from drakit_embedded.apiserver.registry.admission_kinds.webhook_clients import client_config
from drakit_embedded.apiserver.registry.selector_rules import label_selector
from drakit_embedded.apiserver.scheme.kinds import REVIEWS
from drakit_embedded.apiserver.statuses import qualified

FAILURE_POLICIES = ("Fail", "Ignore")
REINVOCATION_POLICIES = ("IfNeeded", "Never")
_WITHOUT_EFFECTS = ("None", "NoneOnDryRun")
_SIDE_EFFECTS = (*_WITHOUT_EFFECTS, "Some", "Unknown")
# Versions of AdmissionReview that the release before understands.
_REVIEW_VERSIONS = ("v1", "v1beta1")
_LONGEST = 30
_SELECTORS = ("namespaceSelector", "objectSelector")
_REVIEW_GROUPS = ("authentication.k8s.io", "authorization.k8s.io")


@dataclass(frozen=True, slots=True)
class _Strictness:
    """Which of the younger rules hold, and whether conditions need to be looked at."""

    side_effects: bool = True
    review_versions: bool = True
    unique_names: bool = True
    label_values: bool = True
    conditions: bool = True


def on_create(obj: Object) -> Errors:
    """Check a new configuration."""
    return _configuration(obj, _Strictness())


def on_update(new: Object, old: Object) -> Errors:
    """Check a configuration that replaces another one."""
    hooks, before = new.get("webhooks") or [], old.get("webhooks") or []
    names = [hook.get("name") for hook in before]
    strictness = _Strictness(
        side_effects=all(hook.get("sideEffects") in _WITHOUT_EFFECTS for hook in before),
        review_versions=all(_is_reviewed(hook) for hook in before),
        unique_names=len(set(names)) == len(names),
        label_values=not any(True for hook in before for _ in _selectors(hook, "", values=True)),
        conditions=[hook.get("matchConditions") for hook in hooks] != [hook.get("matchConditions") for hook in before],
    )
    return _configuration(new, strictness)


def warnings(obj: Object) -> Sequence[str]:
    """Warn of rules that name what no webhook sees: reviews of what users may do (validation/warnings.go)."""
    return [
        f"webhooks[{index}].rules[{number}]: {resource} is excluded from admission webhooks; "
        "this rule will have no effect"
        for index, hook in enumerate(obj.get("webhooks") or ())
        for number, each_rule in enumerate(hook.get("rules") or ())
        for resource in _excluded(each_rule)
    ]


def _excluded(value: Object) -> Iterator[str]:
    groups, resources = value.get("apiGroups") or (), value.get("resources") or ()
    if "*" in groups or "*" in resources:
        return
    for group in dict.fromkeys(groups):
        if group in _REVIEW_GROUPS:
            yield from (qualified(each, group) for each in dict.fromkeys(resources) if _is_review(group, each))


def _is_review(group: str, resource: str) -> bool:
    of_authentication = resource in ("selfsubjectreviews", "tokenreviews")
    return resource in REVIEWS and resource != "bindings" and of_authentication == (group == _REVIEW_GROUPS[0])


def _configuration(obj: Object, strictness: _Strictness) -> Errors:
    seen = set()
    for index, hook in enumerate(obj.get("webhooks") or ()):
        path, name = f"webhooks[{index}]", hook.get("name")
        yield from _webhook(hook, strictness, path)
        versions = hook.get("admissionReviewVersions") or []
        yield from _review_versions(versions, f"{path}.admissionReviewVersions", strictness)
        if strictness.unique_names and name and name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)


def _webhook(hook: Object, strictness: _Strictness, path: str) -> Errors:
    yield from _name(hook.get("name") or "", f"{path}.name")
    yield from each(hook.get("rules"), f"{path}.rules", rule)
    for field, supported in (("failurePolicy", FAILURE_POLICIES), ("matchPolicy", MATCH_POLICIES)):
        if hook.get(field) not in (None, *supported):
            yield not_supported(f"{path}.{field}", hook[field], supported)
    yield from _side_effects(hook.get("sideEffects"), strictness, f"{path}.sideEffects")
    timeout = hook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= _LONGEST:
        yield invalid(f"{path}.timeoutSeconds", timeout, f"the timeout value must be between 1 and {_LONGEST} seconds")
    yield from _selectors(hook, f"{path}.", values=strictness.label_values)
    if hook.get("reinvocationPolicy") not in (None, *REINVOCATION_POLICIES):
        yield not_supported(f"{path}.reinvocationPolicy", hook["reinvocationPolicy"], REINVOCATION_POLICIES)
    yield from client_config(hook.get("clientConfig") or {}, f"{path}.clientConfig")
    if strictness.conditions:
        yield from match_conditions(hook.get("matchConditions"), f"{path}.matchConditions", params=False)


def _name(name: str, path: str) -> Errors:
    """Check a name of at least three parts (IsFullyQualifiedName)."""
    if not name:
        yield required(path)
    elif problems := formats.dns_subdomain(name, "characters"):
        yield invalid(path, name, ",".join(problems))
    elif name.count(".") < 2:
        yield invalid(path, name, "should be a domain with at least three segments separated by dots")


def _side_effects(effects: str | None, strictness: _Strictness, path: str) -> Errors:
    allowed = _WITHOUT_EFFECTS if strictness.side_effects else _SIDE_EFFECTS
    if effects is None:
        yield required(path, f"must specify one of {', '.join(allowed)}")
    elif effects not in allowed:
        yield not_supported(path, effects, allowed)


def _selectors(hook: Object, prefix: str, *, values: bool) -> Errors:
    for field in _SELECTORS:
        if hook.get(field) is not None:
            yield from label_selector(hook[field], f"{prefix}{field}", values=values)


def _review_versions(versions: Sequence[str], path: str, strictness: _Strictness) -> Errors:
    accepted = ", ".join(_REVIEW_VERSIONS)
    if not versions:
        yield required(path, f"must specify one of {accepted}")
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid(f"{path}[{index}]", version, "duplicate version")
        else:
            yield from (invalid(f"{path}[{index}]", version, why) for why in formats.dns_1035_label(version))
    if strictness.review_versions and not any(version in _REVIEW_VERSIONS for version in versions):
        yield invalid(path, versions, f"must include at least one of {accepted}")


def _is_reviewed(hook: Object) -> bool:
    versions = hook.get("admissionReviewVersions") or ()
    return not versions or any(version in _REVIEW_VERSIONS for version in versions)
