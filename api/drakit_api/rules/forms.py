"""What must hold of a rule besides its expressions: message, reason and path.

Source: ``ValidateCustomResourceDefinitionOpenAPISchema`` of ``k8s.io/apiextensions-apiserver`` v0.37
``pkg/apis/apiextensions/validation/validation.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from drakit_api.rules.field_paths import FieldPathError, field_path
from drakit_api.structural.schema import Structural
from drakit_api.validation import errors
from drakit_api.validation.errors import FieldError

_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LINE_BREAK = re.compile("[\\n\\r]")
RULES = "x-kubernetes-validations"


def form_faults(schema: Structural, path: str) -> Iterator[FieldError]:
    """List what is wrong with the form of the rules of one level, which stands at ``path``."""
    for place, rule in enumerate(schema.source.get(RULES) or ()):
        at = f"{path}.{RULES}[{place}]"
        yield from _message_faults(rule, at)
        yield from _reason_faults(rule, at)
        yield from _path_faults(rule, schema, at)


def _message_faults(rule: Mapping[str, Any], at: str) -> Iterator[FieldError]:
    expression, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    if not expression:
        yield errors.required(f"{at}.rule", "rule is not specified")
    elif message and not message.strip():
        yield errors.invalid(f"{at}.message", message, "must be non-empty if specified")
    elif _LINE_BREAK.search(message.strip()):
        yield errors.invalid(f"{at}.message", message, "must not contain line breaks")
    elif _LINE_BREAK.search(expression) and not message.strip():
        yield errors.required(f"{at}.message", "message must be specified if rule contains line breaks")
    made = rule.get("messageExpression") or ""
    if made and not made.strip():
        yield errors.required(f"{at}.messageExpression", "messageExpression must be non-empty if specified")


def _reason_faults(rule: Mapping[str, Any], at: str) -> Iterator[FieldError]:
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        yield errors.not_supported(f"{at}.reason", reason, _REASONS)


def _path_faults(rule: Mapping[str, Any], schema: Structural, at: str) -> Iterator[FieldError]:
    path = rule.get("fieldPath") or ""
    if path and not path.strip():
        yield errors.invalid(f"{at}.fieldPath", path, "must be non-empty if specified")
    if _LINE_BREAK.search(path):
        yield errors.invalid(f"{at}.fieldPath", path, "must not contain line breaks")
    if path:
        try:
            field_path(path, schema)
        except FieldPathError:
            yield errors.invalid(f"{at}.fieldPath", path, "must be a valid path")
