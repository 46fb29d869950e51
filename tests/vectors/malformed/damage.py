"""Damage to values: what is replaced, lost, repeated, added or moved in a tree."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tests.vectors.malformed import expressions, odd, trees
from tests.vectors.malformed.trees import Literal, Path, Repeated
from tests.vectors.malformed.vocabulary import Word

_EXPRESSIONS = ("expression", "rule", "messageExpression", "valueExpression")
_Words = Sequence[Word]


def damaged(tree: Any, words: _Words, chance: Random, *, times: int | None = None) -> Any:
    """Copy a tree with damage done to it ``times`` times, once to four times if nothing is said."""
    for _ in range(times or chance.choice((1, 1, 1, 1, 1, 1, 2, 2, 3, 4))):
        tree = _once(tree, words, chance)
    return tree


def _once(tree: Any, words: _Words, chance: Random) -> Any:
    ways, weights = zip(*_WAYS, strict=True)
    while True:
        (way,) = chance.choices(ways, weights)
        made = way(tree, words, chance)
        if made is not None:
            return made


def _any_path(tree: Any, chance: Random, fits: Callable[[Path, Any], bool]) -> Path | None:
    """Choose a path, other than that of the whole; what is deep comes oftener than what is not."""
    found = [path for path in trees.paths(tree) if path and fits(path, trees.at(tree, path))]
    return chance.choices(found, [len(path) ** 2 for path in found])[0] if found else None


def _replace(tree: Any, _: _Words, chance: Random) -> Any:
    if chance.random() < 0.01:
        return odd.value(chance)
    path = _any_path(tree, chance, lambda *_: True)
    return None if path is None else trees.changed(tree, path, lambda _: odd.value(chance))


def _replace_scalar(tree: Any, _: _Words, chance: Random) -> Any:
    """Replace a scalar by another of its type."""
    path = _any_path(tree, chance, lambda _, value: type(value) in (bool, int, float, str) and not _is_filled(value))
    if path is None:
        return None
    return trees.changed(tree, path, lambda old: _like(old, chance))


def _like(old: Any, chance: Random) -> Any:
    if isinstance(old, bool):
        return not old
    if not isinstance(old, str):
        return odd.number(chance)
    return odd.text(chance) if chance.random() < 0.5 else _edited(old, chance)


def _edited(text: str, chance: Random) -> str:
    place = chance.randint(0, len(text))
    return chance.choice(
        (
            text[:place],
            text[place:],
            text[:place] + text[place + 1 :],
            text[:place] + odd.text(chance)[:300] + text[place:],
            text.upper(),
            text.title(),
            text + text,
            text + "\n",
            " " + text,
            text[::-1],
            text * 300,
        )
    )


def _change_expression(tree: Any, _: _Words, chance: Random) -> Any:
    path = _any_path(tree, chance, lambda path, value: path[-1] in _EXPRESSIONS and type(value) is str)
    return None if path is None else trees.changed(tree, path, lambda old: expressions.damaged(old, chance))


def _delete(tree: Any, _: _Words, chance: Random) -> Any:
    path = _any_path(tree, chance, lambda *_: True)
    if path is None:
        return None
    made = copy.deepcopy(tree)
    del trees.at(made, path[:-1])[path[-1]]
    return made


def _object_path(tree: Any, chance: Random, beside: Sequence[str] = ()) -> Path | None:
    """Choose the path of an object that has fields, the whole included; one of ``beside`` if there are any."""
    found = [path for path in trees.paths(tree) if type(value := trees.at(tree, path)) is dict and value]
    right = [path for path in found if any(field in trees.at(tree, path) for field in beside)]
    return chance.choice(right or found) if found else None


def _repeat_key(tree: Any, _: _Words, chance: Random) -> Any:
    path = _object_path(tree, chance)
    if path is None:
        return None

    def repeated(old: dict[str, Any]) -> Repeated:
        key, value = chance.choice(list(old.items()))
        again = value if chance.random() < 0.3 else odd.value(chance)
        return Repeated(chance.sample([*old.items(), (key, again)], len(old) + 1))

    return trees.changed(tree, path, repeated)


def _rename(tree: Any, _: _Words, chance: Random) -> Any:
    path = _object_path(tree, chance)
    if path is None:
        return None
    old_key = chance.choice(list(trees.at(tree, path)))
    others = [str(path[-1]) for path in trees.paths(tree) if path]
    new = (odd.key(chance), old_key.upper(), old_key.title(), old_key + "s", old_key + " ", chance.choice(others))
    new_key = chance.choice(new)
    return trees.changed(
        tree, path, lambda old: {(new_key if key == old_key else key): value for key, value in old.items()}
    )


def _add_word(tree: Any, words: _Words, chance: Random) -> Any:
    word = chance.choice(words)
    # One in ten is put where it does not belong.
    path = _object_path(tree, chance, word.beside if chance.random() < 0.9 else ())
    if path is None:
        return None
    value = copy.deepcopy(chance.choice(word.values)) if chance.random() < 0.95 else odd.value(chance)
    return trees.changed(tree, path, lambda old: {**old, word.field: value})


def _add_key(tree: Any, _: _Words, chance: Random) -> Any:
    path = _object_path(tree, chance)
    return path if path is None else trees.changed(tree, path, lambda old: {**old, odd.key(chance): odd.value(chance)})


def _repeat_item(tree: Any, _: _Words, chance: Random) -> Any:
    path = _any_path(tree, chance, lambda _, value: type(value) is list and bool(value))
    if path is None:
        return None

    def repeated(old: list[Any]) -> list[Any]:
        item = chance.choice(old)
        return chance.sample([*old, item], len(old) + 1) if chance.random() < 0.8 else [item] * odd.length(chance)

    return trees.changed(tree, path, repeated)


def _graft(tree: Any, _: _Words, chance: Random) -> Any:
    """Put a copy of a part in the place of another, or inside itself."""
    found = [path for path in trees.paths(tree) if path and not _is_filled(trees.at(tree, path))]
    if not found:
        return None
    source, target = chance.choice(found), chance.choice(found)
    part = copy.deepcopy(trees.at(tree, source))
    return trees.changed(tree, target, lambda _: part)


def _is_filled(value: Any) -> bool:
    """Tell whether a value has in it what differs from server to server, and may not stand elsewhere."""
    if isinstance(value, str):
        return "${" in value
    if isinstance(value, Repeated):
        return any("${" in key or _is_filled(item) for key, item in value)
    if isinstance(value, dict):
        return any("${" in key or _is_filled(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_is_filled, value))


def _wrap(tree: Any, _: _Words, chance: Random) -> Any:
    """Put a value into a list or an object, or take it out of one."""
    path = _any_path(tree, chance, lambda *_: True)
    if path is None:
        return None

    def wrapped(old: Any) -> Any:
        if type(old) is list and old and chance.random() < 0.5:
            return chance.choice(old)
        if type(old) in (int, float, bool):
            return str(old)
        return [old] if chance.random() < 0.7 else {"a": old}

    return trees.changed(tree, path, wrapped)


def _nest(tree: Any, _: _Words, chance: Random) -> Any:
    """Put an object into itself many times, under one of its own fields."""
    path = _object_path(tree, chance)
    if path is None:
        return None

    def nested(old: dict[str, Any]) -> Any:
        key = chance.choice(list(old))
        before, _, after = trees.text({**old, key: Literal("\x00")}).partition("\x00")
        depth = chance.choice((2, 5, 40, 150))
        return Literal(before * depth + trees.text(old) + after * depth)

    return trees.changed(tree, path, nested)


_WAYS: tuple[tuple[Callable[[Any, _Words, Random], Any], float], ...] = (
    (_replace, 3),
    (_replace_scalar, 4),
    (_change_expression, 4),
    (_delete, 2),
    (_repeat_key, 1),
    (_rename, 1.5),
    (_add_word, 5),
    (_add_key, 0.7),
    (_repeat_item, 1),
    (_graft, 2),
    (_wrap, 1),
    (_nest, 0.4),
)
