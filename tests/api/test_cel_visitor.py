"""A kind of syntax node that some walk does not know is an error, not an omission."""

from __future__ import annotations

import subprocess
import sys

import pytest

from drakit_api.cel.syntax.parser import parse
from drakit_api.cel.syntax.tree import KINDS, Literal, Node
from drakit_api.cel.syntax.visitor import Visitor, children, constantly, copied, walk

WALKS = (
    "checking.checker",
    "checking.validators",
    "cost.estimate",
    "cost.metered",
    "evaluation.calls",
    "evaluation.closures",
    "footprint",
    "syntax.nesting",
)


def test_a_visitor_has_to_know_all_kinds() -> None:
    with pytest.raises(TypeError, match="Partial does not say what becomes of bind, message"):
        type("Partial", (Visitor,), dict.fromkeys(KINDS - {"bind", "message"}, constantly(None)))


@pytest.mark.slow
def test_a_new_kind_is_an_error_in_each_walk() -> None:
    program = (
        "import importlib, sys\n"
        "from drakit_api.cel.syntax import tree\n"
        "tree.KINDS.add('novelty')\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n"
        "        importlib.import_module('drakit_api.cel.' + name)\n"
        "    except TypeError as error:\n"
        "        assert 'does not say what becomes of novelty' in str(error), error\n"
        "    else:\n"
        "        sys.exit(name)\n"
    )
    for name in WALKS:
        subprocess.run([sys.executable, "-c", program, name], check=True)


def test_parts_are_found_in_the_order_they_are_written() -> None:
    tree = parse("f(1).g(2, [3, {4: 5}]) && x.map(y, 6, 7) && cel.bind(z, 8, 9)")
    assert [node.value for node in walk(tree) if isinstance(node, Literal)] == [*range(1, 10)]


def test_a_copy_shares_no_node() -> None:
    tree = parse("f(1).g(2, [3, {4: 5}], has(a.b)) && x.map(y, 6) && cel.bind(z, 8, 9)")
    copy = copied(tree)
    assert copy == tree
    assert not {id(node) for node in walk(copy)} & {id(node) for node in walk(tree)}


def test_leaves_have_no_children() -> None:
    leaves: list[Node] = [Literal(0, 1), parse("x")]
    assert not [child for leaf in leaves for child in children(leaf)]
