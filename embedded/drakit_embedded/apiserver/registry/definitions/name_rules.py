"""Names in a definition: of the kind, its group and its versions.

Source: ``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/apis/apiextensions/validation/validation.go``.
"""

from __future__ import annotations

from drakit_api import formats
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors, invalid, required

_MIXED = "may have mixed case, but should otherwise match: "


def group_faults(group: str, path: str) -> Errors:
    """Check the group: a domain with a dot."""
    if not group:
        yield required(path)
    elif problems := formats.dns_subdomain(group, "characters"):
        yield invalid(path, group, ",".join(problems))
    elif "." not in group:
        yield invalid(path, group, "should be a domain with at least one dot")


def label_faults(text: str, path: str) -> Errors:
    """Check a name that must be a DNS-1035 label."""
    if problems := formats.dns_1035_label(text):
        yield invalid(path, text, ",".join(problems))


def missing_names(names: Object, path: str) -> Errors:
    """Check that all names are there that a spec must have; singular and list kind have defaults."""
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield required(f"{path}.{field}")


def names_faults(names: Object, path: str) -> Errors:
    """Check the names that are there (``ValidateCustomResourceDefinitionNames``)."""
    for field in ("plural", "singular"):
        if names.get(field):
            yield from label_faults(names[field], f"{path}.{field}")
    for field in ("kind", "listKind"):
        problems = formats.dns_1035_label(names[field].lower()) if names.get(field) else ()
        if problems:
            yield invalid(f"{path}.{field}", names[field], _MIXED + ",".join(problems))
    for place, name in enumerate(names.get("shortNames") or ()):
        yield from label_faults(name, f"{path}.shortNames[{place}]")
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same")
    for place, name in enumerate(names.get("categories") or ()):
        yield from label_faults(name, f"{path}.categories[{place}]")
