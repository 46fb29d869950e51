"""Whether the spec of a definition describes a kind that can be served.

Source: ``validateCustomResourceDefinitionSpec`` of ``k8s.io/apiextensions-apiserver`` v0.37.1
``pkg/apis/apiextensions/validation/validation.go``. What it lets pass as older servers did, no definition here has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from drakit_api.kubernetes_objects import Object
from drakit_api.rules import definition as rules
from drakit_api.structural.schema import structural
from drakit_api.validation.errors import Errors, FieldError, invalid, invalid_constant, one_of, required
from drakit_embedded.apiserver.registry.definitions import name_rules, version_rules
from drakit_embedded.apiserver.registry.definitions.conversion_rules import (
    conversion_faults,
    has_known_review,
    is_bundle,
)
from drakit_embedded.apiserver.registry.definitions.default_rules import default_faults
from drakit_embedded.apiserver.registry.definitions.internal_form import (
    InternalSpec,
    internal,
    printed_versions,
    schema_of,
)
from drakit_embedded.apiserver.registry.definitions.schema_rules import SchemaCheck, root_faults
from drakit_embedded.apiserver.registry.definitions.structurality import conversion_problem, structural_faults
from drakit_embedded.apiserver.scheme.definition_states import is_true

_PATH = "spec"
_SCOPES = ("Cluster", "Namespaced")


@dataclass(frozen=True, slots=True)
class Allowance:
    """What an update may leave as it is, although a new definition could not have it."""

    any_review: bool = False
    any_bundle: bool = True
    # Versions with too many selectable fields; "" stands for what all versions have in common.
    any_number: frozenset[str] = frozenset()
    unchanged: frozenset[str] = frozenset()
    stored: rules.Stored = field(default_factory=rules.Stored)


def allowance(new: Object, old: Object) -> Allowance:
    """Compare a definition with the one that it replaces (``ValidateCustomResourceDefinitionUpdate``)."""
    webhook = (old["spec"].get("conversion") or {}).get("webhook") or {}
    bundle = (webhook.get("clientConfig") or {}).get("caBundle")
    now, before = internal(new["spec"]), internal(old["spec"])
    names = [each["name"] for each in now.versions]
    there = {each["name"] for each in before.versions}
    return Allowance(
        any_review=not has_known_review(webhook.get("conversionReviewVersions") or []),
        any_bundle=not is_true(old, "Established") or bool(bundle and not is_bundle(bundle)),
        any_number=frozenset(_too_many_as_before(now, before)),
        unchanged=frozenset(
            name for name in names if name in there and now.schema_of_version(name) == before.schema_of_version(name)
        ),
        stored=rules.stored_expressions(map(structural, before.schemas)),
    )


def _too_many_as_before(now: InternalSpec, before: InternalSpec) -> Iterator[str]:
    old = {"": before.common, **{each["name"]: each for each in before.versions}}
    for name, each in (("", now.common), *((each["name"], each) for each in now.versions)):
        fields = (old.get(name) or {}).get("selectableFields") or []
        if len(fields) > version_rules.MOST_SELECTABLE and each.get("selectableFields") == fields:
            yield name


def spec_faults(source: Object, allowed: Allowance) -> Errors:
    """Check the spec of a definition, in upstream's order."""
    spec = internal(source)
    yield from name_rules.group_faults(source.get("group") or "", f"{_PATH}.group")
    yield from one_of(source.get("scope") or "", _SCOPES, f"{_PATH}.scope")
    yield from _missing_schemas(spec)
    yield from _unpruned_faults(spec)
    for place, version in enumerate(spec.versions):
        yield from _version_faults(spec, place, version, allowed)
    yield from _versions_faults(spec)
    names = source.get("names") or {}
    yield from name_rules.missing_names(names, f"{_PATH}.names")
    yield from name_rules.names_faults(names, f"{_PATH}.names")
    yield from _common_faults(spec, allowed)
    conversion = source.get("conversion")
    if conversion is None:
        return
    if conversion.get("strategy") != "None" and source.get("preserveUnknownFields"):
        detail = "must be None if spec.preserveUnknownFields is true"
        yield invalid_constant(f"{_PATH}.conversion.strategy", conversion.get("strategy") or "", detail)
    yield from conversion_faults(
        conversion, f"{_PATH}.conversion", any_review=allowed.any_review, any_bundle=allowed.any_bundle
    )


def _missing_schemas(spec: InternalSpec) -> Errors:
    if schema_of(spec.common) is None:
        for place, version in enumerate(spec.versions):
            if schema_of(version) is None:
                yield required(f"{_PATH}.versions[{place}].schema.openAPIV3Schema")


def _unpruned_faults(spec: InternalSpec) -> Errors:
    """Check that only what is pruned gets defaults."""
    if spec.spec.get("preserveUnknownFields") and any(map(_has_defaults, spec.schemas)):
        detail = "must be false in order to use defaults in the schema"
        yield invalid(f"{_PATH}.preserveUnknownFields", True, detail)


def _has_defaults(schema: Object) -> bool:
    # Nothing else in a schema is called so but a field.
    parts = [schema.get("items"), schema.get("additionalProperties"), schema.get("not")]
    parts += [*(schema.get("properties") or {}).values()]
    for keyword in ("allOf", "anyOf", "oneOf"):
        parts += schema.get(keyword) or []
    return "default" in schema or any(_has_defaults(part) for part in parts if isinstance(part, dict))


def _version_faults(spec: InternalSpec, place: int, version: Object, allowed: Allowance) -> Errors:
    path, name = f"{_PATH}.versions[{place}]", version.get("name") or ""
    yield from name_rules.label_faults(name, f"{path}.name")
    yield from version_rules.deprecation_faults(version, f"{path}.deprecationWarning")
    has_status = spec.subresources_of(name).get("status") is not None
    schema = schema_of(version)
    if schema is not None:
        at = f"{path}.schema"
        yield from schema_faults(schema, at, allowed, has_status=has_status, is_unchanged=name in allowed.unchanged)
    yield from version_rules.subresource_faults(version.get("subresources"), f"{path}.subresources")
    yield from version_rules.column_faults(version.get("additionalPrinterColumns"), f"{path}.additionalPrinterColumns")
    if fields := version.get("selectableFields"):
        at = f"{path}.selectableFields"
        if schema is None:
            # So it says, and means the opposite.
            detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
            yield invalid(at, "", detail)
        else:
            yield from version_rules.selectable_faults(
                fields, structural(schema), at, any_number=name in allowed.any_number
            )


def _versions_faults(spec: InternalSpec) -> Errors:
    path, names = f"{_PATH}.versions", [version.get("name") or "" for version in spec.versions]
    if len(set(names)) < len(names):
        yield invalid(path, printed_versions(spec), "must contain unique version names")
    if sum(bool(version.get("storage")) for version in spec.versions) != 1:
        yield invalid(path, printed_versions(spec), "must have exactly one version marked as storage version")
    # The internal form has a version beside the versions, which is the first of them.
    if names and names[0]:
        yield from name_rules.label_faults(names[0], f"{_PATH}.version")


def _common_faults(spec: InternalSpec, allowed: Allowance) -> Errors:
    """Check what all versions have in common."""
    common, schema = spec.common, schema_of(spec.common)
    if schema is not None:
        has_status = any(spec.subresources_of(each["name"]).get("status") is not None for each in spec.versions)
        is_unchanged = spec.versions[0]["name"] in allowed.unchanged
        at = f"{_PATH}.validation"
        yield from schema_faults(schema, at, allowed, has_status=has_status, is_unchanged=is_unchanged)
    yield from version_rules.subresource_faults(common.get("subresources"), f"{_PATH}.subresources")
    yield from version_rules.column_faults(common.get("additionalPrinterColumns"), f"{_PATH}.additionalPrinterColumns")
    if fields := common.get("selectableFields"):
        path = f"{_PATH}.selectableFields"
        if "schema" not in common:
            yield invalid(path, "", "may only be set when validations.schema is included")
        else:
            yield from version_rules.selectable_faults(
                fields, structural(schema or {}), path, any_number="" in allowed.any_number
            )


def schema_faults(
    schema: Object, path: str, allowed: Allowance, *, has_status: bool, is_unchanged: bool
) -> list[FieldError]:
    """Check the schema of a version (``validateCustomResourceDefinitionValidation``); ``path`` is what it stands in."""
    path = f"{path}.openAPIV3Schema"
    found = list(root_faults(schema, path, has_status=has_status))
    problem, read = conversion_problem(schema), structural(schema)
    skeleton: list[FieldError] = []
    if problem is None:
        skeleton = structural_faults(schema, path) or default_faults(read, path)
    found += skeleton
    check = SchemaCheck()
    check.run(schema, path)
    found += check.found
    if not found and problem is not None:
        found.append(invalid(path, "", problem))
    elif problem is None and not skeleton:
        found += rules.faults(read, path, stored=allowed.stored, is_unchanged=is_unchanged, flawed=check.flawed)
    return found
