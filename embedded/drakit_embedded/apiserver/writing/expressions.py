"""Expressions are compiled beside the event loop, so that a body full of them keeps nobody waiting.

A write is synchronous, from reading what is stored to storing the new. What takes long in validating it is to compile
its expressions in CEL: a tenth of a second for each of the longest, of which one body may have hundreds. So these are
compiled in the server's thread for long work before the write begins, one body after the other.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from drakit_api.features import FeatureGates
from drakit_api.validation import selectors
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.serving.background import Background

# Characters of all expressions in a body up to which they are compiled in the event loop.
_FEW = 1024


async def compiled(body: Any, kind: Kind, gates: FeatureGates, background: Background) -> AbstractContextManager[None]:
    """Compile the expressions of an object or a patch; the write belongs into the block that this gives."""
    if kind.group != "resource.k8s.io":
        return nullcontext()
    found = set(selectors.expressions(body))
    if sum(len(expression) for _, expression in found) < _FEW:
        return nullcontext()
    return selectors.with_known(await background.run(lambda: selectors.checked(found, gates)))
