"""The rules of a definition: whether their expressions can be used, and what they could cost.

An expression must be cheap enough for every object that the schema allows, times how often it may be evaluated in one;
and so must all of them together. Sources: ``k8s.io/apiextensions-apiserver`` v0.37
``pkg/apis/apiextensions/validation/{validation,cel_validation}.go``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from drakit_api.cel.cost.ranges import MAX
from drakit_api.cel.declared import Declared
from drakit_api.cel.errors import CelCompileError, CelProgramError
from drakit_api.cel.syntax.tree import Node
from drakit_api.cel.values.types import BOOL, STRING
from drakit_api.rules.compilation import RuleCompiler, uses_old_self
from drakit_api.rules.forms import RULES
from drakit_api.rules.forms import form_faults as form_faults
from drakit_api.rules.names import escaped
from drakit_api.rules.schema_types import REQUEST_SIZE, declared
from drakit_api.structural.schema import Structural
from drakit_api.validation import errors
from drakit_api.validation.errors import FieldError

RULE_LIMIT: Final = 10_000_000
DEFINITION_LIMIT: Final = 100_000_000
_MOST_SHOWN = 4
_NO_TYPE = "unable to convert structural schema to CEL declarations"


@dataclass(frozen=True, slots=True)
class Stored:
    """The expressions that a definition has already, which may use what new ones may not."""

    rules: frozenset[str] = frozenset()
    messages: frozenset[str] = frozenset()


def stored_expressions(schemas: Iterable[Structural]) -> Stored:
    """Collect the expressions of a definition's schemas."""
    found = [rule for schema in schemas for rule in _all_rules(schema)]
    rules = frozenset(rule.get("rule") or "" for rule in found)
    return Stored(rules, frozenset(rule["messageExpression"] for rule in found if rule.get("messageExpression")))


def _all_rules(schema: Structural) -> Iterator[Mapping[str, Any]]:
    yield from schema.source.get(RULES) or ()
    for part in (*schema.properties.values(), schema.items, schema.additional):
        if isinstance(part, Structural):
            yield from _all_rules(part)


def faults(
    schema: Structural,
    path: str,
    *,
    stored: Stored = Stored(),
    is_unchanged: bool = False,
    flawed: Collection[str] = (),
) -> list[FieldError]:
    """List what is wrong with the expressions of a version's schema, which stands at ``path``.

    ``stored`` are the expressions of the definition before an update. A schema that ``is_unchanged`` may have rules
    that cost too much. ``flawed`` are the paths of levels at which something else is wrong: expressions there, and at
    all levels around them, are not looked at. Whether the rules are well-formed tells ``form_faults``.
    """
    check = _Check(stored, is_unchanged, flawed)
    check.level(_Place(schema, path, cardinality=1))
    return [*check.found, *check.total_faults(path)]


@dataclass(frozen=True, slots=True)
class _Place:
    """A level of a schema, and where it is.

    ``cardinality`` is how often its values can occur in an object; None if nothing limits that. ``known`` is its type,
    if a level above has rules. ``uncorrelated`` is the path of the outermost list or map around it of which it is not
    known what an element was before; empty if there is none.
    """

    schema: Structural
    path: str
    cardinality: int | None
    is_resource: bool = True
    in_scope: bool = False
    known: Declared | None = None
    uncorrelated: str = ""


@dataclass(slots=True)
class _Check:
    stored: Stored
    is_unchanged: bool
    flawed: Collection[str]
    found: list[FieldError] = field(default_factory=list)
    _total: int = 0
    _expensive: list[tuple[int, str]] = field(default_factory=list)

    def level(self, place: _Place) -> bool:
        """Check a level and those below it; tell whether something else is wrong there."""
        schema = place.schema
        rules = schema.source.get(RULES) or ()
        in_scope = place.in_scope or bool(rules)
        known = place.known
        if in_scope and known is None:
            known = declared(schema, is_resource=place.is_resource)
        is_flawed = place.path in self.flawed
        for child in _children(place, known if in_scope else None, in_scope=in_scope):
            is_flawed |= self.level(child)
        if rules and not is_flawed:
            self._rules(place, rules, known)
        return is_flawed

    def _rules(self, place: _Place, rules: Iterable[Mapping[str, Any]], known: Declared | None) -> None:
        at = f"{place.path}.{RULES}"
        if known is None:
            problem = "internal error: failed to construct type information for x-kubernetes-validations rules"
            self.found.append(errors.internal(at, f"{problem}: {_NO_TYPE}"))
            return
        compiler = RuleCompiler(known)
        cardinality = place.cardinality
        if cardinality is None:
            cardinality = REQUEST_SIZE // (known.least_size + 1)
        for index, rule in enumerate(rules):
            if (rule.get("rule") or "").strip():
                self._rule(compiler, rule, f"{at}[{index}]", cardinality, place.uncorrelated)

    def _rule(
        self, compiler: RuleCompiler, rule: Mapping[str, Any], at: str, cardinality: int, uncorrelated: str
    ) -> None:
        optional = bool(rule.get("optionalOldSelf"))
        tree = None
        try:
            expression = rule["rule"]
            tree = compiler.checked(expression, BOOL, optional=optional, stored=expression in self.stored.rules)
            cost = compiler.greatest_cost(tree)
        except CelCompileError as error:
            self._charge("rule", at, 0)
            self.found.append(errors.invalid(f"{at}.rule", _shown(rule), str(error)))
        else:
            self._charge("rule", at, min(cost * cardinality, MAX))
            self._message(compiler, rule, at, optional=optional)
        self._transition(rule, tree, at, uncorrelated)

    def _message(self, compiler: RuleCompiler, rule: Mapping[str, Any], at: str, *, optional: bool) -> None:
        expression = rule.get("messageExpression") or ""
        if not expression:
            return
        try:
            stored = expression in self.stored.messages
            cost = compiler.greatest_cost(compiler.checked(expression, STRING, optional=optional, stored=stored))
        except CelProgramError as error:
            detail = str(error).replace("program instantiation", "messageExpression instantiation", 1)
            self.found.append(errors.invalid(f"{at}.messageExpression", _shown(rule), detail))
        except CelCompileError as error:
            detail = f"messageExpression {error}"
            self.found.append(errors.invalid(f"{at}.messageExpression", _shown(rule), detail))
        else:
            self._charge("messageExpression", at, cost)

    def _charge(self, name: str, at: str, cost: int) -> None:
        if cost > RULE_LIMIT and not self.is_unchanged:
            problem = _too_expensive(f"estimated {name} cost", cost, RULE_LIMIT)
            self.found.append(errors.forbidden(f"{at}.{name}", problem))
        self._total = min(self._total + cost, MAX)
        if cost >= DEFINITION_LIMIT // 100:
            self._expensive.append((cost, f"{at}.{name}"))

    def _transition(self, rule: Mapping[str, Any], tree: Node | None, at: str, uncorrelated: str) -> None:
        if tree is not None and uses_old_self(tree):
            if uncorrelated:
                where = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
                self.found.append(errors.invalid(f"{at}.rule", rule["rule"], where))
        elif (optional := rule.get("optionalOldSelf")) is not None:
            problem = "may not be set if oldSelf is not used in rule"
            self.found.append(errors.invalid(f"{at}.optionalOldSelf", optional, problem))

    def total_faults(self, path: str) -> Iterator[FieldError]:
        """List the most expensive expressions, if all of them together cost too much."""
        if self._total <= DEFINITION_LIMIT:
            return
        for _, at in sorted(self._expensive, key=lambda each: -each[0])[:_MOST_SHOWN]:
            contributed = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            yield errors.forbidden(at, contributed)
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield errors.forbidden(path, _too_expensive(what, self._total, DEFINITION_LIMIT))


def _children(place: _Place, known: Declared | None, *, in_scope: bool) -> Iterator[_Place]:
    """Walk over the levels right below one."""
    schema, path = place.schema, place.path
    cardinality = _multiplied(place.cardinality, _most_elements(schema))

    def child(part: Structural, at: str, found: Declared | None, uncorrelated: str) -> _Place:
        return _Place(part, at, cardinality, part.is_embedded, in_scope, found, place.uncorrelated or uncorrelated)

    if isinstance(schema.additional, Structural):
        yield child(schema.additional, f"{path}.additionalProperties", known and known.element, "")
    for name, part in schema.properties.items():
        found = known.fields.get(escaped(name) or "") if known is not None else None
        correlated = schema.map_type in ("", "granular", "atomic")
        yield child(part, f"{path}.properties[{name}]", found, "" if correlated else path)
    if schema.items is not None:
        yield child(schema.items, f"{path}.items", known and known.element, "" if schema.list_type == "map" else path)


def _most_elements(schema: Structural) -> int | None:
    """Return how many values a map or list can have at most; None if nothing limits it. An object has each once."""
    if schema.type == "object" and schema.additional is not None:
        most = schema.source.get("maxProperties")
    elif schema.type == "array":
        most = schema.source.get("maxItems")
    else:
        most = 1
    return None if most is None else max(most, 0)


def _multiplied(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else min(left * right, MAX)


def _too_expensive(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    times = f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x" if factor <= 100 else "more than 100x"
    bounds = "adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared"
    return f"{what} exceeds budget by factor of {times} (try simplifying the rule, or {bounds})"


def _shown(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule with the names that its fields have in Go."""
    return {
        "Rule": rule.get("rule") or "",
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
