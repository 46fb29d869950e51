"""What validation finds: errors, each with its field, in the words that kube-apiserver prints.

Sources, ``k8s.io/apimachinery`` v0.37.1: ``pkg/util/validation/field/errors.go`` (kinds of errors and their texts) and
``pkg/api/errors/errors.go`` (the ``Status`` made of them).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from drakit_api.formats import byte_length
from drakit_api.golang.goerrors import aggregated
from drakit_api.golang.gostrings import formatted, quote, to_json

REQUIRED = "FieldValueRequired"
INVALID = "FieldValueInvalid"
DUPLICATE = "FieldValueDuplicate"
NOT_SUPPORTED = "FieldValueNotSupported"
NOT_FOUND = "FieldValueNotFound"
FORBIDDEN = "FieldValueForbidden"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"
INTERNAL = "InternalError"
# A value of another type than its schema wants; the message is that of an invalid one.
TYPE_INVALID = "FieldValueTypeInvalid"

_TITLES = {
    REQUIRED: "Required value",
    INVALID: "Invalid value",
    DUPLICATE: "Duplicate value",
    NOT_SUPPORTED: "Unsupported value",
    NOT_FOUND: "Not found",
    FORBIDDEN: "Forbidden",
    TOO_LONG: "Too long",
    TOO_MANY: "Too many",
    INTERNAL: "Internal error",
    TYPE_INVALID: "Invalid value",
}

Errors = Iterable["FieldError"]


@dataclass(frozen=True, slots=True)
class FieldError:
    """One cause of an ``Invalid`` answer: ``reason`` as in ``metav1.CauseType``, path of the field, message."""

    reason: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def required(path: str, detail: str = "") -> FieldError:
    """Report that a required value is missing."""
    return _error(REQUIRED, path, "", detail)


def invalid(path: str, value: Any, detail: str) -> FieldError:
    """Report a malformed value, which the message shows: strings quoted, other things as JSON."""
    return _error(INVALID, path, _shown(value), detail)


def invalid_constant(path: str, value: str | None, detail: str) -> FieldError:
    """Report a malformed value that in Go is a pointer, or a string of a type of its own: it is shown as JSON."""
    return _error(INVALID, path, to_json(value), detail)


def type_invalid(path: str, value: Any, detail: str) -> FieldError:
    """Report a value that is not of the type that its schema wants."""
    return _error(TYPE_INVALID, path, _shown(value), detail)


def duplicate(path: str, value: Any) -> FieldError:
    """Report a value that must be unique and occurred before."""
    return _error(DUPLICATE, path, _shown(value), "")


def not_supported(path: str, value: Any, supported: Sequence[str]) -> FieldError:
    """Report a value outside of an enumeration."""
    return _error(NOT_SUPPORTED, path, to_json(value), "supported values: " + ", ".join(map(quote, supported)))


def not_supported_value(path: str, value: Any, supported: Sequence[str]) -> FieldError:
    """Report a value of any type that is not in an enumeration, and shown as an invalid one is."""
    return _error(NOT_SUPPORTED, path, _shown(value), "supported values: " + ", ".join(map(quote, supported)))


def one_of(value: str, supported: Sequence[str], path: str, detail: str = "") -> Errors:
    """Check that a required value is one of an enumeration; ``detail`` is said where it is missing."""
    if not value:
        yield required(path, detail)
    elif value not in supported:
        yield not_supported(path, value, supported)


def not_found(path: str, value: Any, detail: str = "") -> FieldError:
    """Report a reference to something that does not exist."""
    return _error(NOT_FOUND, path, _shown(value), detail)


def forbidden(path: str, detail: str) -> FieldError:
    """Report a well-formed value that is not permitted here."""
    return _error(FORBIDDEN, path, "", detail)


def too_long(path: str, maximum: int, unit: str = "bytes") -> FieldError:
    """Report a string of more than ``maximum`` bytes (or characters); the message does not repeat it."""
    if maximum < 0:
        return _error(TOO_LONG, path, "", "value is too long")
    return _error(
        TOO_LONG, path, "", f"may not be more than {maximum} {unit.removesuffix('s') if maximum == 1 else unit}"
    )


def at_most(text: str, maximum: int, path: str) -> Errors:
    """Check that a text has at most ``maximum`` bytes."""
    if byte_length(text) > maximum:
        yield too_long(path, maximum)


def too_many(path: str, count: int, maximum: int) -> FieldError:
    """Report a list or map with too many items."""
    detail = f"must have at most {maximum} item{'s' * (maximum != 1)}" if maximum >= 0 else "has too many items"
    return _error(TOO_MANY, path, str(count), detail)


def internal(path: str, detail: str) -> FieldError:
    """Report something that is not the user's fault."""
    return _error(INTERNAL, path, "", detail)


def in_order(handwritten: Iterable[FieldError], declared: Iterable[FieldError]) -> list[FieldError]:
    """Order errors as kube-apiserver lists them: handwritten rules without repetition, then the declared ones."""
    return [*dict.fromkeys(handwritten), *declared]


def invalid_status(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> dict[str, Any]:
    """Make the ``Status`` that answers an invalid object, with one cause for each error."""
    listed = aggregated(map(str, errors))
    qualified = f"{kind}.{group}" if group else kind
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"{qualified} {quote(name)} is invalid" + (f": {listed}" if listed else ""),
        "reason": "Invalid",
        "details": {
            "name": name,
            "group": group,
            "kind": kind,
            "causes": [{"reason": error.reason, "message": error.message, "field": error.field} for error in errors],
        },
        "code": 422,
    }


def _error(reason: str, path: str, shown: str, detail: str) -> FieldError:
    return FieldError(reason, path, ": ".join(filter(None, (_TITLES[reason], shown, detail))))


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return quote(value)
    return formatted(value) if isinstance(value, float) else to_json(value)
