"""Functions made of the statements of ``defaults.json``; what these mean stands in ``api/schema/defaults/main.go``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.defaulting.by_hand import RULES
from drakit_embedded.apiserver.registry.podspec.image_names import pull_policy

Statement = Callable[[Object], None]
Condition = Callable[[Object], bool]
Keys = tuple[str | int, ...]


def compiled(statements: Sequence[Object], gates: Collection[str]) -> list[Statement]:
    """Compile each statement to a function, for a server on which exactly these feature gates are on."""
    return [_statement(statement, gates) for statement in statements]


def _statement(statement: Object, gates: Collection[str]) -> Statement:
    match statement:
        case {"if unset": path, "to": value}:
            return _set_if(_is_unset(_keys(path)), path, value)
        case {"if empty": path, "to": value}:
            return _set_if(_is_empty(_keys(path)), path, value)
        case {"if": condition}:
            return _branch(statement, _condition(condition, gates), gates)
        case {"set": path}:
            return _set(_keys(path), statement.get("to"))
        case {"append": value, "to": path}:
            return _append(_keys(path), value)
        case {"fill": path, "from": source}:
            return _fill(_keys(path), _keys(source))
        case {"each": path, "do": inner}:
            return _each(_keys(path), compiled(inner, gates))
        case {"rule": name, "of": path}:
            return _apply(RULES[name], _keys(path))
        case {"rule": name}:
            return RULES[name]
    raise ValueError(f"no such statement: {statement}")


def _keys(path: str | list[str | int]) -> Keys:
    return tuple(path.split(".")) if isinstance(path, str) else tuple(path)


def _get(obj: Object, keys: Keys) -> Any:
    """Look up the value at a path; None if there is none."""
    found: Any = obj
    for key in keys:
        if not found:
            return None
        found = found[key] if isinstance(key, int) else found.get(key)
    return found


def _put(obj: Object, keys: Keys, value: Any) -> None:
    """Set a field, and make the structs and maps that lead to it; None removes it."""
    *parents, last = keys
    for key in parents:
        below = obj.get(str(key))
        if below is None:
            if value is None:
                return
            below = obj[str(key)] = {}
        obj = below
    if value is None:
        obj.pop(str(last), None)
    else:
        obj[str(last)] = value


def _filled(template: Any, obj: Object) -> Any:
    """Fill in a statement's value from the object: as in Go, a map that is taken from it is shared, not copied."""
    if isinstance(template, dict):
        if "$from" in template:
            return _get(obj, _keys(template["$from"]))
        return {key: _filled(value, obj) for key, value in template.items()}
    return [_filled(value, obj) for value in template] if isinstance(template, list) else template


def _set(keys: Keys, value: Any) -> Statement:
    return lambda obj: _put(obj, keys, _filled(value, obj))


def _set_if(condition: Condition, path: str, value: Any) -> Statement:
    assign = _set(_keys(path), value)

    def run(obj: Object) -> None:
        if condition(obj):
            assign(obj)

    return run


def _branch(statement: Object, condition: Condition, gates: Collection[str]) -> Statement:
    then, other = compiled(statement.get("then", ()), gates), compiled(statement.get("else", ()), gates)

    def run(obj: Object) -> None:
        for each in then if condition(obj) else other:
            each(obj)

    return run


def _append(keys: Keys, value: Any) -> Statement:
    return lambda obj: _put(obj, keys, [*(_get(obj, keys) or ()), value])


def _fill(target: Keys, source: Keys) -> Statement:
    def run(obj: Object) -> None:
        if given := _get(obj, source):
            _put(obj, target, {**given, **(_get(obj, target) or {})})

    return run


def _apply(rule: Statement, keys: Keys) -> Statement:
    def run(obj: Object) -> None:
        if found := _get(obj, keys):
            rule(found)

    return run


def _each(keys: Keys, inner: Sequence[Statement]) -> Statement:
    def run(obj: Object) -> None:
        for item in _get(obj, keys) or ():
            for each in inner:
                each(item)

    return run


def _condition(condition: Object, gates: Collection[str]) -> Condition:
    match condition:
        case {"unset": path}:
            return _is_unset(_keys(path))
        case {"empty": path}:
            return _is_empty(_keys(path))
        case {"is": [path, value]}:
            keys = _keys(path)
            return lambda obj: bool(_get(obj, keys) == value)
        case {"same": [one, other]}:
            left, right = _keys(one), _keys(other)
            return lambda obj: bool(_get(obj, left) == _get(obj, right))
        case {"below": [path, number]}:
            keys = _keys(path)
            return lambda obj: bool(_get(obj, keys) < number)
        case {"no": names}:
            return lambda obj: all(obj.get(name) is None for name in names)
        case {"tagged latest": path}:
            keys = _keys(path)
            return lambda obj: pull_policy(_get(obj, keys) or "") == "Always"
    return _combined(condition, gates)


def _combined(condition: Object, gates: Collection[str]) -> Condition:
    match condition:
        case {"gate": name}:
            enabled = name in gates
            return lambda _: enabled
        case {"not": inner}:
            negated = _condition(inner, gates)
            return lambda obj: not negated(obj)
        case {"all": inner}:
            every = [_condition(each, gates) for each in inner]
            return lambda obj: all(each(obj) for each in every)
        case {"any": inner}:
            some = [_condition(each, gates) for each in inner]
            return lambda obj: any(each(obj) for each in some)
    raise ValueError(f"no such condition: {condition}")


def _is_unset(keys: Keys) -> Condition:
    return lambda obj: _get(obj, keys) is None


def _is_empty(keys: Keys) -> Condition:
    return lambda obj: not _get(obj, keys)
