"""Replay of what a kube-apiserver said about the rules of definitions, and about objects for which they do not hold."""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from drakit_api.rules import definition
from drakit_api.rules.validator import Validator
from drakit_api.structural.schema import Structural, structural
from drakit_api.validation.errors import FieldError
from tests.vectors import recordings

pytestmark = pytest.mark.slow

ROOT = "openAPIV3Schema"
Causes = Counter[tuple[str, str, str]]


def causes(found: list[FieldError]) -> Causes:
    return Counter((fault.field, fault.reason, re.sub(r"selfType\d+", "selfType", fault.message)) for fault in found)


def levels(schema: Structural, path: str) -> Iterator[tuple[Structural, str]]:
    yield schema, path
    for name, part in schema.properties.items():
        yield from levels(part, f"{path}.properties[{name}]")
    if schema.items is not None:
        yield from levels(schema.items, f"{path}.items")
    if isinstance(schema.additional, Structural):
        yield from levels(schema.additional, f"{path}.additionalProperties")


def defined(source: dict[str, Any]) -> Causes:
    schema = structural(source)
    malformed = {
        path: found for level, path in levels(schema, ROOT) if (found := [*definition.form_faults(level, path)])
    }
    found = [fault for faults in malformed.values() for fault in faults]
    return causes(found + definition.faults(schema, ROOT, flawed=malformed))


def test_definitions() -> None:
    for row in recordings.recorded("rules/definitions"):
        assert defined(row["schema"]) == Counter(map(tuple, row["causes"])), row["story"]


@functools.lru_cache(maxsize=4)
def validator(source: str) -> Validator:
    return Validator(structural(json.loads(source)))


def test_objects() -> None:
    for row in recordings.recorded("rules/objects"):
        warnings: list[str] = []
        found = validator(json.dumps(row["schema"])).faults(row["object"], row.get("old"), warn=warnings.append)
        assert causes(found) == Counter(map(tuple, row["causes"])), row["story"]
        assert [*filter(is_of_rule, row.get("warnings", []))] == warnings, row["story"]


def is_of_rule(warning: str) -> bool:
    return not warning.startswith(("unknown field", "metadata."))
