"""Loads what the first definition of a server needs, a while after its start and before anybody waits for it.

Most clusters have no definitions, so nothing of theirs is loaded at a start. CEL, its parser and the rules of schemas
take a sixth of a second, though, when kube-apiserver serves a new kind within milliseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from importlib import import_module

# A start is over by then, and what was started beside it as well, most often.
_QUIET_SECONDS = 1.0
# Between two steps, for requests.
_PAUSE_SECONDS = 0.01
# What takes long first, so that no step does; what they need themselves comes with them.
_MODULES = (
    "re2",
    "lark",
    "drakit_api.cel.syntax.parser",
    "drakit_api.cel.checking.environment",
    "drakit_api.cel.compiler",
    "drakit_api.rules.definition",
    "drakit_api.structural.values",
    "drakit_embedded.apiserver.registry.definitions.decoding",
    "drakit_embedded.apiserver.registry.definitions.object_rules",
    "drakit_embedded.apiserver.registry.definitions.schema_warnings",
    "drakit_embedded.apiserver.registry.custom.decoding",
    "drakit_embedded.apiserver.registry.custom.served_kinds",
    "drakit_embedded.apiserver.managedfields.custom_shapes",
)
# For each kind of token, as the parser makes a scanner for what may follow when it first gets there.
_EXPRESSIONS = (
    "1",
    "a.b(1)[2u] <= -1.5 ? 'x' : b'y'",
    "has(a.b) && !c.all(d, d in [1, 2]) || {1: null}[1] == T{f: true}",
)


async def ahead(quiet_seconds: float = _QUIET_SECONDS) -> None:
    """Wait, and then load one thing after the other; requests are answered in between."""
    await asyncio.sleep(quiet_seconds)
    for step in _steps():
        step()
        await asyncio.sleep(_PAUSE_SECONDS)


def _steps() -> Sequence[Callable[[], object]]:
    imports = [lambda name=name: import_module(name) for name in _MODULES]
    return [*imports, *(lambda text=text: _parse(text) for text in _EXPRESSIONS)]


def _parse(expression: str) -> None:
    from drakit_api.cel.syntax.parser import parse

    parse(expression)
