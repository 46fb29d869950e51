"""What must hold of a CustomResourceDefinition as a whole: metadata, spec and status, when created and when updated.

Source: ``ValidateCustomResourceDefinition`` and ``ValidateCustomResourceDefinitionUpdate`` of
``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/apis/apiextensions/validation/validation.go``.
"""

from __future__ import annotations

from drakit_api import formats
from drakit_api.golang.goerrors import aggregated
from drakit_api.kubernetes_objects import Object
from drakit_api.validation import metadata
from drakit_api.validation.errors import Errors, FieldError, invalid
from drakit_embedded.apiserver.registry.definitions import name_rules
from drakit_embedded.apiserver.registry.definitions.approval import approval_faults
from drakit_embedded.apiserver.registry.definitions.internal_form import schema_of
from drakit_embedded.apiserver.registry.definitions.spec_rules import Allowance, allowance, spec_faults
from drakit_embedded.apiserver.registry.definitions.structurality import conversion_problem, structural_faults
from drakit_embedded.apiserver.scheme.definition_states import is_true


def on_create(crd: Object) -> list[FieldError]:
    """Check a new definition."""

    def name_format(name: str) -> list[str]:
        names = crd["spec"].get("names") or {}
        wanted = f"{names.get('plural') or ''}.{crd['spec'].get('group') or ''}"
        problems = list(metadata.object_name(name))
        return problems if name == wanted else [*problems, 'must be spec.names.plural+"."+spec.group']

    found = metadata.on_create(crd["metadata"], namespaced=False, name_format=name_format, any_finalizer=True)
    return [*found, *spec_faults(crd["spec"], Allowance()), *_status_faults(crd), *_other_faults(crd, None)]


def on_update(new: Object, old: Object) -> list[FieldError]:
    """Check a definition that replaces another one."""
    return [
        *_metadata_faults(new["metadata"], old["metadata"]),
        *spec_faults(new["spec"], allowance(new, old)),
        *_immutable_faults(new, old),
        *_status_faults(new),
        *_other_faults(new, old),
    ]


def on_status_update(new: Object, old: Object) -> list[FieldError]:
    """Check a definition whose status is replaced (``ValidateUpdateCustomResourceDefinitionStatus``)."""
    return [*_metadata_faults(new["metadata"], old["metadata"]), *_accepted_faults(new)]


def _metadata_faults(meta: Object, was: Object) -> Errors:
    """Check changed metadata as all kinds of registries do, and then once more as that of definitions does."""
    if meta != was:
        yield from metadata.on_create(meta, namespaced=False, name_format=formats.path_segment, any_finalizer=True)
        yield from metadata.on_update(meta, was, any_finalizer=True)
        yield from metadata.on_update(meta, was, any_finalizer=True)


def _immutable_faults(new: Object, old: Object) -> Errors:
    """Check what objects are stored by; scope and kind may change until the definition is in force."""
    spec, before = new["spec"], old["spec"]
    names, named = spec.get("names") or {}, before.get("names") or {}
    pairs = {
        "scope": (spec.get("scope"), before.get("scope")),
        "names.kind": (names.get("kind"), named.get("kind")),
        "group": (spec.get("group"), before.get("group")),
        "names.plural": (names.get("plural"), named.get("plural")),
    }
    for field, (value, was) in pairs.items():
        if value != was and (field in ("group", "names.plural") or is_true(old, "Established")):
            yield invalid(f"spec.{field}", value or "", "field is immutable")


def _accepted_faults(crd: Object) -> Errors:
    yield from name_rules.names_faults((crd.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")


def _status_faults(crd: Object) -> Errors:
    yield from _accepted_faults(crd)
    stored, path = (crd.get("status") or {}).get("storedVersions"), "status.storedVersions"
    if not stored:
        yield invalid(path, stored, "must have at least one stored version")
        return
    versions = crd["spec"].get("versions") or []
    for version in versions:
        if version.get("storage") and version.get("name") not in stored:
            yield invalid(path, stored, f"must have the storage version {version.get('name') or ''}")
    known = {version.get("name") for version in versions}
    for name, place in {name: place for place, name in enumerate(stored) if name not in known}.items():
        detail = (
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
            f"until a storage migration ensures no data remains persisted in {name} and removes {name} from "
            "status.storedVersions"
        )
        yield invalid(f"{path}[{place}]", name, detail)


def _other_faults(crd: Object, old: Object | None) -> Errors:
    yield from approval_faults(crd, old)
    if crd["spec"].get("preserveUnknownFields") and not (old is not None and old["spec"].get("preserveUnknownFields")):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        yield invalid("spec.preserveUnknownFields", True, detail)


def non_structural_violations(crd: Object) -> tuple[str, str] | None:
    """Return reason and message of the condition NonStructuralSchema; None if all schemas are structural.

    Source: ``calculateCondition`` of ``pkg/controller/nonstructuralschema/nonstructuralschema_controller.go``.
    """
    found: list[FieldError] = []
    if crd["spec"].get("preserveUnknownFields"):
        found.append(invalid("spec.preserveUnknownFields", True, "must be false"))
    for place, version in enumerate(crd["spec"].get("versions") or ()):
        schema = schema_of(version)
        if schema is None:
            continue
        if problem := conversion_problem(schema):
            return "StructuralError", f"failed to check validation schema for version {version['name']}: {problem}"
        found += structural_faults(schema, f"spec.versions[{place}].schema.openAPIV3Schema")
    return ("Violations", aggregated(map(str, found))) if found else None
