"""Label selectors and node selectors, compiled once and matched many times.

Every filter that compares labels (node affinity, pod affinity, topology spread, the node selector of an allocation)
uses the same two small languages. They are compiled when a pod or a claim is first seen, because matching runs for
each node and each pod that is already placed.

Sources: k8s.io/apimachinery ``pkg/labels/selector.go`` and k8s.io/component-helpers
``scheduling/corev1/nodeaffinity/nodeaffinity.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Labels = Mapping[str, str]
Matcher = Callable[[Labels], bool]


def everything(labels: Labels) -> bool:
    """The empty selector ``{}``."""
    return True


def nothing(labels: Labels) -> bool:
    """The absent selector, and every selector that cannot be parsed."""
    return False


def label_selector(selector: Mapping[str, Any] | None) -> Matcher:
    """Compile a ``metav1.LabelSelector``: absent matches nothing, empty matches everything."""
    if selector is None:
        return nothing
    expressions = [
        {"key": key, "operator": "In", "values": [value]} for key, value in (selector.get("matchLabels") or {}).items()
    ]
    expressions += selector.get("matchExpressions") or []
    return all_of([_requirement(expression) for expression in expressions])


def all_of(matchers: list[Matcher]) -> Matcher:
    """The conjunction; of nothing at all it is ``everything``."""
    if not matchers:
        return everything
    if len(matchers) == 1:
        return matchers[0]
    return lambda labels: all(matcher(labels) for matcher in matchers)


def _requirement(expression: Mapping[str, Any]) -> Matcher:
    # What an API server refuses may still be stored, by one that was more lenient; such a requirement matches nothing.
    key: str = expression.get("key") or ""
    operator: str = expression.get("operator") or ""
    values = expression.get("values") or []
    if operator == "In":
        wanted = frozenset(values)
        return lambda labels: labels.get(key) in wanted
    if operator == "NotIn":
        unwanted = frozenset(values)
        return lambda labels: labels.get(key) not in unwanted
    if operator == "Exists":
        return lambda labels: key in labels
    if operator == "DoesNotExist":
        return lambda labels: key not in labels
    if operator in ("Gt", "Lt"):
        return _comparison(key, operator, values)
    return nothing


def _comparison(key: str, operator: str, values: list[str]) -> Matcher:
    if len(values) != 1 or (limit := _integer(values[0])) is None:
        return nothing
    bound = limit

    def matches(labels: Labels) -> bool:
        value = _integer(labels.get(key, ""))
        return value is not None and (value > bound if operator == "Gt" else value < bound)

    return matches


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """One term of a node selector: its expressions on labels, and the node names that its fields allow or exclude."""

    labels: Matcher
    names: frozenset[str] | None
    excluded: frozenset[str]

    def matches(self, name: str, labels: Labels) -> bool:
        """Whether a node of that name and labels satisfies all requirements."""
        if self.names is not None and name not in self.names:
            return False
        return name not in self.excluded and self.labels(labels)


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """A ``core/v1 NodeSelector``: terms are alternatives, a term without requirements matches nothing.

    ``names`` are the only nodes that can match, where every term names some by ``metadata.name``; else None.
    """

    terms: tuple[NodeTerm, ...]
    names: frozenset[str] | None = None

    def matches(self, name: str, labels: Labels) -> bool:
        """Whether any term matches the node."""
        return any(term.matches(name, labels) for term in self.terms)


def node_selector(selector: Mapping[str, Any] | None) -> NodeSelector | None:
    """Compile a ``core/v1 NodeSelector``; None when there is none, which restricts nothing."""
    if selector is None:
        return None
    given = selector.get("nodeSelectorTerms") or []
    terms = (node_term(term) for term in given)
    return NodeSelector(tuple(term for term in terms if term is not None), _all_named(given))


def _all_named(terms: Sequence[Mapping[str, Any]]) -> frozenset[str] | None:
    """Terms as they are given: one that matches nothing but names no node leaves all nodes to be looked at."""
    union: frozenset[str] | None = None
    for term in terms:
        named = [
            frozenset(field.get("values") or [])
            for field in term.get("matchFields") or []
            if field.get("key") == "metadata.name" and field.get("operator") == "In"
        ]
        if not named:
            return None
        union = (union or frozenset()) | frozenset.intersection(*named)
    return union


def node_term(term: Mapping[str, Any]) -> NodeTerm | None:
    """Compile one term; None when it is empty or malformed, as such a term matches no node."""
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return None
    names: frozenset[str] | None = None
    excluded: frozenset[str] = frozenset()
    for field in fields:
        values = frozenset(field.get("values") or [])
        # Upstream turns fields into a field selector, which takes exactly one value and these two operators.
        if field.get("key") != "metadata.name" or len(values) != 1 or field.get("operator") not in ("In", "NotIn"):
            return None
        if field["operator"] == "NotIn":
            excluded |= values
        else:
            names = values if names is None else names & values
    return NodeTerm(all_of([_requirement(expression) for expression in expressions]), names, excluded)


def equality(pairs: Mapping[str, str]) -> Matcher:
    """Compile a map such as ``spec.nodeSelector``."""
    wanted = tuple(pairs.items())
    return lambda labels: all(labels.get(key) == value for key, value in wanted)
