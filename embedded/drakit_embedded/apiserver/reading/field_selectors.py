"""Field selectors, parsed once per request into predicates over the fields that a kind publishes.

After k8s.io/apimachinery/pkg/fields/selector.go. Which fields there are is the kind's business (its strategy's
``fields``), and so is what is said of others (``AddFieldLabelConversionFunc`` of each API group).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from drakit_api.golang.gostrings import quote
from drakit_embedded.apiserver.reading.selectors import Requirement
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import bad_request
from drakit_embedded.apiserver.storage.store import Topic

_OPERATORS = ("!=", "==", "=")
_GENERAL = ("metadata.name", "metadata.namespace")
# Few watches select the same value: of thousands of kubelets' watches, a change concerns one or two.
_NARROW = ("metadata.name", "spec.nodeName")


class Term(NamedTuple):
    """One comparison of a selector."""

    field: str
    equal: bool
    value: str


def requirements(terms: Sequence[Term], known: Mapping[str, str], kind: Kind) -> tuple[Requirement, ...]:
    """Resolve terms to requirements that must all hold.

    ``known`` maps the names of fields to the path under which a record has the value of each.

    Raises:
        StatusError: 400 for a field that the kind does not publish.
    """
    return tuple(_requirement(term, known, kind) for term in terms)


def _requirement(term: Term, known: Mapping[str, str], kind: Kind) -> Requirement:
    path, value = known.get(term.field), term.value
    if path is None:
        raise bad_request(_unknown_field(term.field, known, kind))
    if term.equal:
        return lambda fields: fields.get(path, "") == value
    return lambda fields: fields.get(path, "") != value


def topic(terms: Sequence[Term], known: Mapping[str, str]) -> Topic | None:
    """Find a term that few objects satisfy, such as a pod's node, by which events can be filtered early."""
    for term in terms:
        path = known.get(term.field)
        if term.equal and path in _NARROW:
            return Topic(path, term.value)
    return None


def _unknown_field(name: str, known: Mapping[str, str], kind: Kind) -> str:
    """Word the refusal of an unknown field as its API group does (``AddFieldLabelConversionFunc``)."""
    if set(known) == set(_GENERAL) and kind.definition is None:
        # The default conversion, which kinds without fields of their own use.
        return f"{quote(name)} is not a known field selector: only {', '.join(map(quote, _GENERAL))}"
    if kind.group == "resource.k8s.io":
        return f"field label not supported for {kind.api_version}, Kind={kind.kind}: {name}"
    if kind.group == "batch":
        return f"field label {quote(name)} not supported for {kind.kind}"
    return f"field label not supported: {name}"


@lru_cache(maxsize=256)
def parse(text: str) -> tuple[Term, ...]:
    """Parse a selector into its comparisons, in the order in which they are evaluated.

    Raises:
        StatusError: 400 if it is malformed.
    """
    return tuple(_term(part, text) for part in sorted(_split(text)) if part)


def _split(text: str) -> list[str]:
    """Split at commas that are not escaped by a backslash."""
    parts, start, escaped = [], 0, False
    for index, character in enumerate(text):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == ",":
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]


def _term(part: str, text: str) -> Term:
    for index in range(len(part)):
        for operator in _OPERATORS:
            if part.startswith(operator, index):
                value = _unescape(part[index + len(operator) :])
                return Term(part[:index], operator != "!=", value)
    raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")


def _unescape(value: str) -> str:
    plain, escaped = [], False
    for character in value:
        if escaped and character not in "\\,=":
            raise bad_request(f"invalid field selector: invalid escape sequence: \\{character}")
        if not escaped and character in ",=":
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(character)}")
        escaped = character == "\\" and not escaped
        if not escaped:
            plain.append(character)
    if escaped:
        raise bad_request("invalid field selector: invalid escape sequence: \\")
    return "".join(plain)
