"""What a version says beside its schema: columns, subresources, selectable fields, deprecation.

Source: ``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/apis/apiextensions/validation/validation.go``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from drakit_api.formats import byte_length
from drakit_api.kubernetes_objects import Object
from drakit_api.rules.field_paths import FieldPathError, field_path
from drakit_api.structural.schema import Structural
from drakit_api.validation.errors import Errors, duplicate, invalid, invalid_constant, required, too_many

_COLUMN_TYPES = "boolean,date,integer,number,string"
_COLUMN_FORMATS = "byte,date,date-time,double,float,int32,int64,password"
_WARNING_BYTES = 256
MOST_SELECTABLE = 8
_SELECTABLE_TYPES = ("string", "boolean", "integer")


def deprecation_faults(version: Object, path: str) -> Errors:
    """Check the warning of a deprecated version."""
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    yield from (invalid_constant(path, warning, problem) for problem in _warning_problems(version, warning))


def _warning_problems(version: Object, warning: str) -> Sequence[str]:
    if not version.get("deprecated"):
        return ["can only be set for deprecated versions"]
    found = []
    if byte_length(warning) > _WARNING_BYTES:
        found.append("must be <= 256 characters long")
    if not warning:
        found.append("must not be an empty string")
    for place, character in enumerate(warning):
        # To Go, the space of ASCII is the only one that can be printed.
        if character != " " and (unicodedata.category(character)[0] in "CZ"):
            at = byte_length(warning[:place])
            found.append(f"must only contain printable UTF-8 characters; non-printable character found at index {at}")
            break
    return found


def column_faults(columns: Sequence[Object] | None, path: str) -> Errors:
    """Check the columns of tables (``ValidateCustomResourceColumnDefinition``)."""
    for place, column in enumerate(columns or ()):
        at = f"{path}[{place}]"
        if not column.get("name"):
            yield required(f"{at}.name")
        kind, form = column.get("type") or "", column.get("format") or ""
        if not kind:
            yield required(f"{at}.type", f"must be one of {_COLUMN_TYPES}")
        elif kind not in _COLUMN_TYPES.split(","):
            yield invalid(f"{at}.type", kind, f"must be one of {_COLUMN_TYPES}")
        if form and form not in _COLUMN_FORMATS.split(","):
            yield invalid(f"{at}.format", form, f"must be one of {_COLUMN_FORMATS}")
        if not column.get("jsonPath"):
            yield required(f"{at}.JSONPath")
        else:
            yield from _path_faults(column["jsonPath"], f"{at}.JSONPath")


def subresource_faults(subresources: Object | None, path: str) -> Errors:
    """Check where a scale is found (``ValidateCustomResourceDefinitionSubresources``)."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return
    for name, root in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        if not scale.get(name):
            yield required(f"{path}.scale.{name}")
        else:
            detail = f"should be a json path under {root}"
            yield from _path_below(scale[name], f"{path}.scale.{name}", (f"{root}.",), detail)
    if selector := scale.get("labelSelectorPath"):
        detail = "should be a json path under either .spec or .status"
        yield from _path_below(selector, f"{path}.scale.labelSelectorPath", (".spec.", ".status."), detail)


def _path_below(text: str, path: str, roots: tuple[str, ...], detail: str) -> Errors:
    malformed = list(_path_faults(text, path))
    yield from malformed
    if not malformed and not text.startswith(roots):
        yield invalid(path, text, detail)


def _path_faults(text: str, path: str) -> Errors:
    """Check a path of names after dots (``validateSimpleJSONPath``)."""
    if not text.startswith("."):
        yield invalid(path, text, "must be a simple json path starting with .")


def selectable_faults(fields: Sequence[Object], schema: Structural, path: str, *, any_number: bool) -> Errors:
    """Check the fields that selectors can use (``ValidateCustomResourceSelectableFields``).

    ``any_number``: the definition had too many of them already.
    """
    seen: set[str] = set()
    for place, field in enumerate(fields):
        at, text = f"{path}[{place}].jsonPath", field.get("jsonPath") or ""
        if not text:
            yield required(at)
            continue
        try:
            found = field_path(text, schema, brackets=False)
        except FieldPathError as error:
            yield invalid(at, text, f"is an invalid path: {error}")
            continue
        if found.text.partition(".")[0] == "metadata":
            yield invalid(at, text, "must not point to fields in metadata")
        if found.schema.type not in _SELECTABLE_TYPES:
            detail = "must point to a field of type string, boolean or integer."
            yield invalid(at, text, f"{detail} Enum string fields and strings with formats are allowed.")
        if found.text in seen:
            yield duplicate(at, text)
        seen.add(found.text)
    if len(seen) > MOST_SELECTABLE and not any_number:
        yield too_many(path, len(seen), MOST_SELECTABLE)
