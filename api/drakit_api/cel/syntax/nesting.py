"""How deep an expression may nest: cel-go's limits, which also keep us clear of Python's.

Source: cel-go v0.29 ``parser/parser.go`` and ``parser/options.go``. Chains of ``&&`` and ``||`` do not count.
"""

from __future__ import annotations

import re

from drakit_api.cel.syntax.tree import Call, Node
from drakit_api.cel.syntax.visitor import Visitor, children, constantly

LIMIT = 250
_BRACKET = re.compile(
    r"""(?P<text>"{3}(?:\\.|[^\\])*?"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^\\"\n])*"|'(?:\\.|[^\\'\n])*'|//.*)"""
    r"""|(?P<open>[(\[{])|(?P<close>[)\]}])""",
    re.DOTALL,
)


def brackets_problem(source: str) -> str:
    """Complain about brackets that nest too deep; return an empty text if they do not."""
    depth = 0
    for match in _BRACKET.finditer(source) if len(source) >= LIMIT else ():
        depth += 1 if match["open"] else -1 if match["close"] else 0
        if depth >= LIMIT:
            return f"expression recursion limit exceeded: {LIMIT}"
    return ""


def depth_problem(tree: Node) -> str:
    """Complain about a tree that is too deep; return an empty text if it is not. Does not recurse itself."""
    pending = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        depth += _counts(node)
        if depth > LIMIT:
            return "max recursion depth exceeded"
        pending.extend((child, depth) for child in children(node))
    return ""


class _Counts(Visitor[bool]):
    """Tells whether a node is a level: selections, methods and binary operators, but not logic, signs and functions."""

    def call(self, node: Call) -> bool:
        is_operator = not node.function[0].isalpha() and node.function not in ("_&&_", "_||_", "!_", "-_")
        return node.target is not None or is_operator

    select = constantly(True)
    literal = ident = list_literal = map_literal = message = comprehension = bind = constantly(False)


_counts = _Counts().visit
