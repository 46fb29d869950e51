"""What a label selector selects, compiled once and matched many times.

Controllers look for their pods, the scheduler compares the labels of each node and of each pod that is placed, and the
API server checks a template against its selector: all by the requirements here, which are those of
``k8s.io/apimachinery`` ``pkg/labels/selector.go`` (``NewRequirement``, ``Requirement.Matches``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from drakit_api import formats
from drakit_api.golang.long_numbers import int64

Labels = Mapping[str, str]
Matcher = Callable[[Labels], bool]

COMPARISONS = ("Gt", "Lt")
# The operators of a LabelSelector; a node selector's terms also have Gt and Lt, for numbers.
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def everything(labels: Labels) -> bool:
    """Match any labels, as the empty selector ``{}`` does."""
    return True


def nothing(labels: Labels) -> bool:
    """Match no labels, as no selector does, and every selector that cannot be parsed."""
    return False


def label_selector(selector: Mapping[str, Any] | None) -> Matcher:
    """Compile a ``metav1.LabelSelector``: none matches nothing, an empty one everything, a broken one nothing.

    Source: ``LabelSelectorAsSelector`` (``k8s.io/apimachinery`` ``pkg/apis/meta/v1/helpers.go``).
    """
    if selector is None:
        return nothing
    matchers = [_compiled(key, "In", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        if expression.get("operator") not in _OPERATORS:
            return nothing
        matchers.append(requirement(expression))
    return all_of([matcher or nothing for matcher in matchers])


def selects(selector: Mapping[str, Any] | None, labels: Labels | None) -> bool:
    """Say whether a ``metav1.LabelSelector`` selects these labels."""
    return label_selector(selector)(labels or {})


def equality(pairs: Labels) -> Matcher:
    """Compile a map such as ``spec.nodeSelector``: each key has its value."""
    wanted = tuple(pairs.items())
    return lambda labels: all(labels.get(key) == value for key, value in wanted)


def all_of(matchers: list[Matcher]) -> Matcher:
    """Match what all of them match; of none at all that is everything."""
    if not matchers:
        return everything
    if len(matchers) == 1:
        return matchers[0]
    return lambda labels: all(matcher(labels) for matcher in matchers)


def requirement(expression: Mapping[str, Any]) -> Matcher | None:
    """Compile one requirement ``{key, operator, values}``; None if it is broken, see ``problem``."""
    values = tuple(expression.get("values") or ())
    return _compiled(expression.get("key") or "", expression.get("operator") or "", values)


def problem(expression: Mapping[str, Any]) -> str:
    """Say in a few words what is wrong with a requirement, "" if nothing is.

    The API server refuses most of these, but takes label values for ``Gt`` and ``Lt`` that are no 64-bit integers, and
    for preferred nodes values of any form.
    """
    values = tuple(expression.get("values") or ())
    return _problem(expression.get("key") or "", expression.get("operator") or "", values)


def _problem(key: str, operator: str, values: tuple[str, ...]) -> str:
    if formats.label_key(key):
        return "the key is not a label name"
    if operator in ("In", "NotIn"):
        if not values:
            return "In and NotIn need values"
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            return "Exists and DoesNotExist take no values"
    elif operator in COMPARISONS:
        if len(values) != 1 or int64(values[0]) is None:
            return "Gt and Lt need one integer"
    else:
        return f"operator {operator!r} is not supported"
    return "a value is not a label value" if any(formats.label_value(value) for value in values) else ""


# Thousands of pods and nodes are selected by the same few requirements.
@lru_cache(maxsize=4096)
def _compiled(key: str, operator: str, values: tuple[str, ...]) -> Matcher | None:
    if _problem(key, operator, values):
        return None
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
    return _comparison(key, operator, int64(values[0]) or 0)


def _comparison(key: str, operator: str, bound: int) -> Matcher:
    def matches(labels: Labels) -> bool:
        value = int64(labels.get(key, ""))
        return value is not None and (value > bound if operator == "Gt" else value < bound)

    return matches
