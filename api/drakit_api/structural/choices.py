"""Combinations of schemas: ``anyOf``, ``oneOf``, ``allOf`` and ``not``.

Source: ``k8s.io/kube-openapi`` ``pkg/validation/validate/schema_props.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from drakit_api.golang.gostrings import quote
from drakit_api.structural.faults import Findings, unplaced


class Compiled(Protocol):
    """A compiled schema."""

    def is_valid(self, value: Any) -> bool:
        """Tell whether a value is valid."""

    def check(self, value: Any, path: str) -> Findings:
        """Say what is wrong with a value."""


class Choices:
    """The combinations of one level of a schema. Below them, nothing is excused for not having changed."""

    def __init__(self, source: Mapping[str, Any], compiled: Callable[[Mapping[str, Any]], Compiled]) -> None:
        def all_of(keyword: str) -> Sequence[Compiled]:
            return [compiled(each) for each in source.get(keyword) or ()]

        self._any, self._one, self._all = all_of("anyOf"), all_of("oneOf"), all_of("allOf")
        self._not = compiled(source["not"]) if source.get("not") is not None else None

    @property
    def is_empty(self) -> bool:
        """Whether there are no combinations."""
        return not (self._any or self._one or self._all or self._not)

    def is_valid(self, value: Any) -> bool:
        """Tell whether a value is valid for all combinations."""
        return (
            all(each.is_valid(value) for each in self._all)
            and (not self._any or any(each.is_valid(value) for each in self._any))
            and (not self._one or sum(each.is_valid(value) for each in self._one) == 1)
            and not (self._not is not None and self._not.is_valid(value))
        )

    def check(self, value: Any, path: str) -> Findings:
        """Say what is wrong with a value."""
        found = Findings()
        if self._any:
            self._check_any(value, path, found)
        if self._one:
            self._check_one(value, path, found)
        if self._all:
            self._check_all(value, path, found)
        if self._not is not None and self._not.is_valid(value):
            found.add(unplaced(f"{quote(path)} must not validate the schema (not)"))
        found.matches += 1
        return found

    def _check_any(self, value: Any, path: str, found: Findings) -> None:
        failed = []
        for each in self._any:
            result = each.check(value, path)
            if not result.errors:
                found.merge(result)
                return
            failed.append(result)
        found.add(unplaced(f"{quote(path)} must validate at least one schema (anyOf)"))
        found.merge(_best(failed))

    def _check_one(self, value: Any, path: str, found: Findings) -> None:
        results = [each.check(value, path) for each in self._one]
        valid = [result for result in results if not result.errors]
        if len(valid) == 1:
            found.merge(valid[0])
            return
        detail = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
        found.add(unplaced(f"{quote(path)} must validate one and only one schema (oneOf). {detail}"))
        if not valid:
            found.merge(_best(results))

    def _check_all(self, value: Any, path: str, found: Findings) -> None:
        results = [each.check(value, path) for each in self._all]
        for result in results:
            found.merge(result)
        failed = sum(bool(result.errors) for result in results)
        if failed:
            none = ". None validated" if failed == len(results) else ""
            found.add(unplaced(f"{quote(path)} must validate all the schemas (allOf){none}"))


def _best(failed: Iterable[Findings]) -> Findings:
    """Choose the schema that most checks were passed of, the first of several."""
    return max(failed, key=lambda result: result.matches)
