"""What a pod tells schedulers besides its affinity: tolerations, spreading, gates.

After ValidateTolerations, validateTopologySpreadConstraints and validateSchedulingGates in
k8s.io/kubernetes/pkg/apis/core/validation/validation.go; without operators of tolerations that alpha gates bring.
"""

from __future__ import annotations

from drakit_api import formats
from drakit_api.kubernetes_objects import Object
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, duplicate, invalid, invalid_constant, not_supported, required
from drakit_embedded.apiserver.registry.podspec.affinity_rules import label_keys
from drakit_embedded.apiserver.registry.selector_rules import label_selector

_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NODE_POLICIES = ("Honor", "Ignore")
_OPERATORS = ("Equal", "Exists")
_COMPARISONS = ("Lt", "Gt")
_EVERYTHING = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'


def tolerations(spec: Object, path: str) -> Errors:
    """Validate ``spec.tolerations``."""
    for index, toleration in enumerate(spec["tolerations"]):
        yield from _toleration(toleration, f"{path}.tolerations[{index}]")


def _toleration(toleration: Object, path: str) -> Errors:
    operator, value = toleration.get("operator") or "", toleration.get("value") or ""
    key, effect = toleration.get("key") or "", toleration.get("effect") or ""
    if key:
        yield from names.label_key(key, f"{path}.key")
    elif operator != "Exists":
        yield invalid_constant(f"{path}.operator", operator, _EVERYTHING)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield invalid_constant(f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator in ("", "Equal"):
        if problems := formats.label_value(value):
            yield invalid(f"{path}.operator", value, ";".join(problems))
    elif operator == "Exists":
        if value:
            yield invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    elif operator in _COMPARISONS:
        yield not_supported(f"{path}.operator", operator, (*_OPERATORS, *_COMPARISONS))
    else:
        yield not_supported(f"{path}.operator", operator, _OPERATORS)
    if effect not in ("", *_EFFECTS):
        yield not_supported(f"{path}.effect", effect, _EFFECTS)


def spread(spec: Object, path: str) -> Errors:
    """Validate ``spec.topologySpreadConstraints``."""
    constraints = spec["topologySpreadConstraints"]
    for index, constraint in enumerate(constraints):
        yield from _constraint(constraint, f"{path}.topologySpreadConstraints[{index}]", constraints[index + 1 :])


def _constraint(constraint: Object, path: str, following: list[Object]) -> Errors:
    skew, when = constraint.get("maxSkew") or 0, constraint.get("whenUnsatisfiable") or ""
    key, selector = constraint.get("topologyKey") or "", constraint.get("labelSelector")
    if skew <= 0:
        yield invalid(f"{path}.maxSkew", skew, "must be greater than zero")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    if when not in _ACTIONS:
        yield not_supported(f"{path}.whenUnsatisfiable", when, _ACTIONS)
    kinds = [(other.get("topologyKey") or "", other.get("whenUnsatisfiable") or "") for other in following]
    if (key, when) in kinds:
        yield duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {when}}}")
    if (domains := constraint.get("minDomains")) is not None:
        yield from _domains(domains, when, f"{path}.minDomains")
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if (policy := constraint.get(field)) is not None and policy not in _NODE_POLICIES:
            yield not_supported(f"{path}.{field}", policy, _NODE_POLICIES)
    yield from label_keys(constraint, path)
    if selector is not None:
        yield from label_selector(selector, f"{path}.labelSelector")


def _domains(domains: int, when: str, path: str) -> Errors:
    if domains <= 0:
        yield invalid(path, domains, "must be greater than zero")
    if when != "DoNotSchedule":
        yield invalid(path, domains, f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}")


def readiness_gates(spec: Object, path: str) -> Errors:
    """Validate ``spec.readinessGates``."""
    for index, gate in enumerate(spec["readinessGates"]):
        yield from names.label_key(gate.get("conditionType") or "", f"{path}.readinessGates[{index}].conditionType")


def scheduling_gates(spec: Object, path: str) -> Errors:
    """Validate ``spec.schedulingGates``."""
    seen: set[str] = set()
    for index, gate in enumerate(spec["schedulingGates"]):
        at, name = f"{path}.schedulingGates[{index}]", gate.get("name") or ""
        yield from names.label_key(name, at)
        if name in seen:
            yield duplicate(at, name)
        seen.add(name)
