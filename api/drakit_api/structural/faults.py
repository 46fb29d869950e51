"""What a value lacks for a schema: complaints in the words of kube-openapi, and how kube-apiserver reports them.

kube-openapi makes a text for each complaint, and reports each text once; kube-apiserver makes a field error of it,
which for some kinds of complaints has another text. Sources: ``k8s.io/kube-openapi``
``pkg/validation/errors/schema.go`` and ``pkg/validation/validate/{result,schema_messages}.go``;
``kubeOpenAPIResultToFieldErrors`` in ``k8s.io/apiextensions-apiserver`` v0.37.1
``pkg/apiserver/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from drakit_api.golang.gostrings import as_marshaled, formatted, marshaled, quote
from drakit_api.validation.errors import FieldError, invalid, not_supported_value, required, too_long, too_many
from drakit_api.validation.errors import type_invalid as type_error


class Fault(NamedTuple):
    """A complaint: its text, and the error that is reported, whose field is a path below the value or empty."""

    text: str
    error: FieldError


class Findings:
    """The complaints about a value, by their texts, and how many checks it passed.

    Of several schemas of which one must fit, the complaints of the one count that most checks were passed of.
    """

    __slots__ = ("errors", "matches")

    def __init__(self, faults: Iterable[Fault] = (), matches: int = 0) -> None:
        self.errors: dict[str, FieldError] = {}
        self.matches = matches
        self.add(*faults)

    def add(self, *faults: Fault) -> None:
        """Add complaints, unless they were made before."""
        for fault in faults:
            self.errors.setdefault(fault.text, fault.error)

    def merge(self, other: Findings) -> None:
        """Add what was found elsewhere."""
        for text, error in other.errors.items():
            self.errors.setdefault(text, error)
        self.matches += other.matches


def wrong_type(path: str, wanted: str, found: str) -> Fault:
    """Complain of a value of the wrong type, or of a text (``found``) that has not the format it should have."""
    text = f"{path} in body must be of type {wanted}: {quote(found)}"
    return Fault(text, type_error(_field(path), found, text))


def missing(path: str, name: str) -> Fault:
    """Complain of a required field that lacks."""
    where = f"{path}.{name}"
    return Fault(f"{where} in body is required", required(_field(where)))


def no_choice(path: str, value: Any, choices: list[Any]) -> Fault:
    """Complain of a value that is none of an enumeration."""
    shown = [choice if isinstance(choice, str) else marshaled(choice) for choice in choices]
    text = f"{path} in body should be one of {formatted(choices)}"
    return Fault(text, not_supported_value(_field(path), as_marshaled(value), shown))


def long_text(path: str, maximum: int) -> Fault:
    """Complain of a string with too many characters; kube-apiserver calls them bytes."""
    return Fault(f"{path} in body should be at most {maximum} chars long", too_long(_field(path), maximum))


def many(path: str, count: int, maximum: int, unit: str) -> Fault:
    """Complain of too many items or properties."""
    return Fault(f"{path} in body should have at most {maximum} {unit}", too_many(_field(path), count, maximum))


def bad(path: str, value: Any, complaint: str) -> Fault:
    """Complain of a value in any other way: ``complaint`` follows its path."""
    return stated(path, value, f"{path} in body {complaint}")


def stated(path: str, value: Any, text: str) -> Fault:
    """Complain of a value in a whole sentence."""
    return Fault(text, invalid(_field(path), "" if value is None else value, text))


def unplaced(text: str) -> Fault:
    """Complain without saying in the cause what it is about."""
    return Fault(text, invalid("", "", text))


def _field(path: str) -> str:
    return path.removeprefix(".")
