"""Which nodes a ``core/v1 NodeSelector`` selects, compiled once and matched many times.

Pods, slices, single devices and allocations say by one where they are. The rules are those of
``k8s.io/component-helpers`` ``scheduling/corev1/nodeaffinity/nodeaffinity.go``: a broken term selects no node, and who
needs to know that it is broken asks ``first_problem``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drakit_api.core.label_selectors import Labels, Matcher, all_of, problem, requirement

NAME_FIELD = "metadata.name"
HOSTNAME_LABEL = "kubernetes.io/hostname"

Selector = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """One term of a node selector: its expressions on labels, and the node names that its fields allow or exclude."""

    labels: Matcher
    names: frozenset[str] | None
    excluded: frozenset[str]

    def matches(self, name: str, labels: Labels) -> bool:
        """Say whether a node of that name and labels satisfies all requirements."""
        if self.names is not None and name not in self.names:
            return False
        return name not in self.excluded and self.labels(labels)


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """A compiled node selector: terms are alternatives, one without requirements or with a broken one is left out.

    ``names`` are the only nodes that can match, where every term names some by ``metadata.name``; else None.
    """

    terms: tuple[NodeTerm, ...]
    names: frozenset[str] | None = None

    def matches(self, name: str, labels: Labels) -> bool:
        """Say whether any term matches the node."""
        return any(term.matches(name, labels) for term in self.terms)


def node_selector(selector: Selector | None) -> NodeSelector | None:
    """Compile a node selector; None when there is none, which restricts nothing."""
    if selector is None:
        return None
    given = _terms(selector)
    terms = (node_term(term) for term in given)
    return NodeSelector(tuple(term for term in terms if term is not None), _all_named(given))


def node_term(term: Mapping[str, Any]) -> NodeTerm | None:
    """Compile one term; None when it is empty or broken, as such a term matches no node."""
    if not _expressions(term) and not _fields(term):
        return None
    names: frozenset[str] | None = None
    excluded: frozenset[str] = frozenset()
    for field in _fields(term):
        if _field_problem(field):
            return None
        value, wanted = field["values"][0], field["operator"] == "In"
        if field.get("key") != NAME_FIELD:
            if (value == "") != wanted:  # nodes have no other fields, and what they do not have is ""
                return None
        elif wanted:
            names = frozenset((value,)) if names is None else names & {value}
        else:
            excluded |= {value}
    matchers = [requirement(expression) for expression in _expressions(term)]
    whole = [matcher for matcher in matchers if matcher is not None]
    return NodeTerm(all_of(whole), names, excluded) if len(whole) == len(matchers) else None


def selects(selector: Selector | None, name: str, labels: Labels) -> bool:
    """Say whether a node selector selects a node; none selects every node, one without terms no node."""
    compiled = node_selector(selector)
    return compiled is None or compiled.matches(name, labels)


def listed_nodes(term: Mapping[str, Any]) -> list[str]:
    """List the nodes that a term names by their names or host names, in its order; empty if it goes by other labels."""
    for key, requirements in ((NAME_FIELD, _fields(term)), (HOSTNAME_LABEL, _expressions(term))):
        for one in requirements:
            if one.get("key") == key and one.get("operator") == "In":
                return list(one.get("values") or ())
    return []


def first_problem(selector: Selector) -> tuple[Mapping[str, Any], str] | None:
    """Find the first broken requirement and what is wrong with it, in a few words.

    Where a selector is parsed before it is used (``NewNodeSelector``), one such requirement makes all of it an error.
    """
    for term in _terms(selector):
        for expression in _expressions(term):
            if why := problem(expression):
                return expression, why
        for field in _fields(term):
            if why := _field_problem(field):
                return field, why
    return None


def _field_problem(field: Mapping[str, Any]) -> str:
    """Check a requirement on fields: upstream makes a field selector of it, with two operators and one value."""
    if field.get("operator") not in ("In", "NotIn"):
        return f"operator {field.get('operator')!r} is not supported for fields"
    return "" if len(field.get("values") or ()) == 1 else "must have one element"


def _all_named(terms: Sequence[Mapping[str, Any]]) -> frozenset[str] | None:
    """Return the nodes that the terms name; None, which means all nodes, if a term (even an empty one) names none."""
    union: frozenset[str] | None = None
    for term in terms:
        named = [
            frozenset(field.get("values") or ())
            for field in _fields(term)
            if field.get("key") == NAME_FIELD and field.get("operator") == "In"
        ]
        if not named:
            return None
        union = (union or frozenset()) | frozenset.intersection(*named)
    return union


def _terms(selector: Selector) -> Sequence[Mapping[str, Any]]:
    return selector.get("nodeSelectorTerms") or ()


def _expressions(term: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return term.get("matchExpressions") or ()


def _fields(term: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return term.get("matchFields") or ()
