"""The definition of ResourceSlicePatch, and what an API server would refuse of a patch by it.

A file of patches that no server has seen is judged by the same schema and the same rules as one that is sent to one.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from importlib import resources
from typing import Any

import yaml

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.decoding import DecodeError
from drakit_api.rules.validator import Validator as Rules
from drakit_api.structural import embedded, pruning
from drakit_api.structural.defaulting import drop_nulls
from drakit_api.structural.schema import Structural, structural
from drakit_api.structural.values import Validator as Values
from drakit_api.validation import metadata
from drakit_api.validation.errors import FieldError, invalid

GROUP, VERSION, KIND = "resource.drakit.dev", "v1alpha3", "ResourceSlicePatch"
API_VERSION = f"{GROUP}/{VERSION}"
_FILE = "manifest.yaml"
# After these faults, rules in CEL would meet values of a wrong type (k8s.io/apiextensions-apiserver v0.37.1
# pkg/registry/customresource/strategy.go, hasBlockingErr).
_BLOCKING = frozenset(
    {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"}
)


def text() -> str:
    """Return the manifest as it is written, with comments."""
    return resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")


def manifest() -> list[Object]:
    """Return the objects of the manifest: the definition first, then roles and their binding; new ones each time."""
    return copy.deepcopy(_objects())


def definition() -> Object:
    """Return the CustomResourceDefinition; a new one each time."""
    return copy.deepcopy(_objects()[0])


def faults(patch: Object) -> list[str]:
    """Say what an API server would refuse of a new patch, unknown fields included; nothing if it is valid.

    Expressions of selectors are not compiled, as the schema cannot do so.
    """
    return read(patch)[1]


def read(patch: Object) -> tuple[Object, list[str]]:
    """Return a new patch as an API server would store it, and what it would refuse, as ``faults``."""
    stored = copy.deepcopy(patch)
    if misplaced := list(_keys_that_are_no_texts(stored)):
        return stored, misplaced
    found = [error if isinstance(error, str) else str(error) for error in _judged(stored)]
    return stored, list(dict.fromkeys(found))


@functools.cache
def _objects() -> list[Object]:
    return list(yaml.safe_load_all(text()))


@functools.cache
def _schema() -> Structural:
    return structural(_objects()[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"])


@functools.cache
def _values() -> Values:
    return Values(_schema())


@functools.cache
def _rules() -> Rules:
    return Rules(_schema())


def _keys_that_are_no_texts(value: Any, path: str = "") -> Iterator[str]:
    """Find keys that YAML reads as something else: ``null`` without quotes is none, and ``yes`` is true."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _keys_that_are_no_texts(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str):
                yield from _keys_that_are_no_texts(item, f"{path}.{key}" if path else key)
            else:
                shown = "null" if key is None else str(key).lower()
                yield f'{path}: the name of a field must be a text; write "{shown}" in quotes'


def _judged(patch: Object) -> Iterator[str | FieldError]:
    """Look at a patch as an API server does when it is created: its form, its type, its metadata, then its values."""
    try:
        patch["metadata"], unknown = embedded.read_metadata(patch.get("metadata"))
    except DecodeError as error:
        yield str(error)
        return
    # The path of a request has no namespace, and so the object gets none.
    patch["metadata"].pop("namespace", None)
    unknown += pruning.prune(patch, _schema(), is_root=True)
    drop_nulls(patch, _schema())
    yield from (f"unknown field {quote(path)}" for path in unknown)
    wrong = [
        invalid(field, patch.get(field), f"must be {value}")
        for field, value in (("kind", KIND), ("apiVersion", API_VERSION))
        if patch.get(field) != value
    ]
    yield from wrong or metadata.on_create(patch["metadata"], namespaced=False, any_finalizer=True)
    malformed = _values().faults(patch)
    yield from malformed
    if not any(error.reason in _BLOCKING for error in malformed):
        yield from _rules().faults(patch)
