"""A cost that no evaluation of an expression exceeds: below it, nothing has to be counted.

The estimate that the API server shows its users is not such a cost, if only by little.
"""

from __future__ import annotations

from drakit_api.cel.cost.estimate import Coster
from drakit_api.cel.cost.ranges import MAX, ONE, Range, Sizes, fixed
from drakit_api.cel.syntax.tree import Call, Node, Select
from drakit_api.cel.syntax.visitor import walk


def cost_bound(tree: Node, known_sizes: Sizes) -> int:
    """Compute a cost that no evaluation of a checked expression exceeds.

    Upstream takes ``flatten`` to return as many elements as the outer list has, the patterns of all formats to be of
    one length, selections from what is of unknown type to be free, and calls that fail to have a result of no size.
    """
    if any(isinstance(node, Call) and node.function in ("flatten", "validate") for node in walk(tree)):
        return MAX
    return _Bounder(known_sizes).visit(tree).greatest


class _Bounder(Coster):
    """The same, with what selections, and calls that fail, can cost more when they are evaluated."""

    def select(self, node: Select) -> Range:
        return super().select(node).plus(_SELECTION)

    def call(self, node: Call) -> Range:
        return super().call(node).plus(_SELECTION if node.function in ("_[_]", "_[?_]") else ONE)


_SELECTION = fixed(2)
