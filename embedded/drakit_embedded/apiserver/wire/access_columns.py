"""The columns of kinds that say who may do what: role bindings, quotas, disruption budgets, API services.

One entry a kind, as in ``columns``.
"""

from __future__ import annotations

from typing import Any

from drakit_api.core.conditions import condition_of
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.wire import columns
from drakit_embedded.apiserver.wire.columns import Cells

_NOT_SAID = "N/A"


def _age(obj: Object) -> str:
    return columns.age(obj["metadata"].get("creationTimestamp"))


def _binding(obj: Object) -> list[Any]:
    role = obj.get("roleRef") or {}
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in obj.get("subjects") or ():
        name = subject.get("name", "")
        if subject.get("kind") == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        subjects.setdefault(subject.get("kind", ""), []).append(name)
    shown = [", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount")]
    return [obj["metadata"]["name"], f"{role.get('kind', '')}/{role.get('name', '')}", _age(obj), *shown]


def _disruption_budget(obj: Object) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    limits = [str(spec[key]) if key in spec else _NOT_SAID for key in ("minAvailable", "maxUnavailable")]
    return [obj["metadata"]["name"], *limits, status.get("disruptionsAllowed", 0), _age(obj)]


def _quota(obj: Object) -> list[Any]:
    status = obj.get("status") or {}
    used = status.get("used") or {}
    shown: dict[bool, list[str]] = {False: [], True: []}
    for name, hard in sorted((status.get("hard") or {}).items()):
        shown[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{hard}")
    return [obj["metadata"]["name"], ", ".join(shown[False]), ", ".join(shown[True]), _age(obj)]


def _api_service(obj: Object) -> list[Any]:
    available = condition_of(obj, "Available").get("status", "Unknown")
    return [obj["metadata"]["name"], "Local", available, _age(obj)]


_BINDING = (("Name", "Role", "Age", "-Users", "-Groups", "-ServiceAccounts"), _binding)
PRINTERS: dict[tuple[str, str], tuple[tuple[str, ...], Cells]] = {
    ("", "resourcequotas"): (("Name", "Request", "Limit", "Age"), _quota),
    ("policy", "poddisruptionbudgets"): (
        ("Name", "Min Available", "Max Unavailable", "Allowed Disruptions#", "Age"),
        _disruption_budget,
    ),
    ("apiregistration.k8s.io", "apiservices"): (("Name", "Service", "Available", "Age"), _api_service),
    ("rbac.authorization.k8s.io", "rolebindings"): _BINDING,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _BINDING,
}
