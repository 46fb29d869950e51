"""Warnings about schemas that are accepted and do not do what they seem to say.

Source: ``WarningsOnCreate`` and ``WarningsOnUpdate`` of ``k8s.io/apiextensions-apiserver`` v0.37.1
``pkg/registry/customresourcedefinition/strategy.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.structural.string_formats import is_recognized
from drakit_embedded.apiserver.registry.definitions.internal_form import internal


def warnings(crd: Object, old: Object | None = None) -> list[str]:
    """Return the warnings about a definition, without those that there were about the one that it replaces."""
    schemas, before = internal(crd["spec"]).schemas, internal(old["spec"]).schemas if old is not None else []
    known = {form for schema in before for form in _unknown_formats(schema)}
    formats = [form for schema in schemas for form in _unknown_formats(schema) if form not in known]
    was = {text for schema in before for text in _odd_sets(schema)}
    sets = {text for schema in schemas for text in _odd_sets(schema)}
    return [*(f"unrecognized format {quote(form)}" for form in formats), *sorted(sets - was)]


def _levels(schema: Object) -> Iterator[Object]:
    """Yield a schema and all below it."""
    yield schema
    items, additional = schema.get("items"), schema.get("additionalProperties")
    parts = [*items] if isinstance(items, list) else [items]
    for keyword in ("allOf", "anyOf", "oneOf"):
        parts += schema.get(keyword) or []
    for part in (*parts, schema.get("not"), *(schema.get("properties") or {}).values(), additional):
        if isinstance(part, dict):
            yield from _levels(part)


def _unknown_formats(schema: Object) -> Iterator[str]:
    for level in _levels(schema):
        form = level.get("format")
        if form and not is_recognized(form, level.get("type") or ""):
            yield form


def _odd_sets(schema: Object) -> Iterator[str]:
    for level in _levels(schema):
        items = level.get("items")
        if level.get("x-kubernetes-list-type") == "set" and isinstance(items, dict):
            kind = items.get("type")
            if kind in ("object", "array"):
                said = f"x-kubernetes-list-type: set for items of type {quote(kind)} is not supported by"
                yield f"{said} server-side apply or CEL validation rules"
