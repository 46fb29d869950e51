"""YAML bodies as Kubernetes reads them: turned into JSON first, by rules of YAML 1.1 that are Go's own.

``y`` is true, dates are texts, keys are texts, and a field that a document has twice counts once. PyYAML's parser
reads the text, as go-yaml's does (both are libyaml); what a scalar means is decided here. Source:
``go.yaml.in/yaml/v2`` ``resolve.go`` and ``decode.go``, ``sigs.k8s.io/yaml`` ``yaml.go``.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from drakit_api.golang.gostrings import quote
from drakit_api.golang.long_numbers import bounded
from drakit_embedded.apiserver.wire import budget, yaml_nodes
from drakit_embedded.apiserver.wire.yaml_nodes import PLAIN, Alias, Mapping, Node, Scalar, Sequence, YamlError

__all__ = ["YamlError", "read"]
_TAG = "tag:yaml.org,2002:"
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_PYTHON: dict[str, type] = {"bool": bool, "int": int, "float": float, "null": type(None)}
# Integers with more digits do not fit into 64 bits.
_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9][0-9]{0,19})")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})?)?"
)
_SHOWN_WITHOUT_EXPONENT = 1e21
_LEAST_INTEGER, _LARGEST_INTEGER = -(2**63), 2**64 - 1
# The share of a document that may come from aliases: 99 % of a small one, less of a large one.
_FREE_ALIASES, _FREE_NODES = 100, 1000
_SMALL, _LARGE = 400_000, 4_000_000
_NESTED = "exceeded maximum nesting depth"
# Keys are nodes, too.
_MOST_NODES = 2 * budget.MOST_VALUES


def read(raw: bytes) -> tuple[Any, list[str]]:
    """Read the value of the first document; also returns a message for each key that is repeated.

    Raises:
        YamlError: if the document is malformed.
    """
    reader = _Reader()
    try:
        node = yaml_nodes.document(raw)
        value = reader.value(node) if node is not None else None
        # By aliases, a value can contain another many times.
        budget.check(value)
        _check_finite(value)
    except yaml.MarkedYAMLError as error:
        # Some builds of the parser have a limit of their own, which is higher.
        why = str(budget.TooDeepError()) if error.problem == _NESTED else _located(error)
        raise YamlError(f"yaml: {why}") from None
    except yaml.reader.ReaderError:
        raise YamlError("yaml: control characters are not allowed") from None
    except budget.TooDeepError as error:
        raise YamlError(f"yaml: {error}") from None
    return value, reader.repeated


def _located(error: yaml.MarkedYAMLError) -> str:
    """Locate an error as go-yaml does: lines count from one in a scanner's errors, from zero in a parser's."""
    scanner = isinstance(error, yaml.scanner.ScannerError)
    mark, context = error.problem_mark, error.context_mark
    line = 0
    if mark is not None and mark.line:
        line = mark.line + scanner
    elif context is not None:
        line = context.line
    return f"line {line}: {error.problem}" if line else str(error.problem)


class _Reader:
    """Converts nodes to values, and counts those that come from aliases."""

    def __init__(self) -> None:
        self.repeated: list[str] = []
        self._nodes = self._aliased = 0
        # Aliases that are being followed, by identity.
        self._followed: set[int] = set()

    def value(self, node: Node) -> Any:
        """Convert a node to types of JSON."""
        self._count()
        if isinstance(node, Alias):
            with self._following(node):
                return self.value(node.node)
        if isinstance(node, Mapping):
            return self._mapping(node)
        if isinstance(node, Sequence):
            return [self.value(item) for item in node.items]
        return _scalar(node)

    @contextmanager
    def _following(self, alias: Alias) -> Iterator[None]:
        if id(alias) in self._followed:
            raise YamlError(f"yaml: anchor '{alias.anchor}' value contains itself")
        self._followed.add(id(alias))
        yield
        self._followed.discard(id(alias))

    def _count(self) -> None:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise budget.too_many_values()
        self._aliased += bool(self._followed)
        if self._aliased > _FREE_ALIASES and self._nodes > _FREE_NODES:
            share = min(max((self._nodes - _SMALL) / (_LARGE - _SMALL), 0.0), 1.0)
            if self._aliased / self._nodes > 0.99 - 0.89 * share:
                raise YamlError("yaml: document contains excessive aliasing")

    def _mapping(self, node: Mapping) -> dict[str, Any]:
        found: dict[tuple[type, Any], Any] = {}
        self._fill(found, node)
        texts = {_key_text(key): value for (_, key), value in found.items()}
        return {key: texts[key] for key in sorted(texts)}

    def _fill(self, found: dict[tuple[type, Any], Any], node: Mapping) -> None:
        """Fill in the entries of a mapping in order; of those merged by ``<<``, the first ones count."""
        for key_node, value_node in node.pairs:
            if _is_merge(key_node):
                for part in reversed(value_node.items) if isinstance(value_node, Sequence) else (value_node,):
                    self._merge(found, part)
                continue
            key = self._key(key_node)
            value = self.value(value_node)
            if (type(key), key) in found:
                shown = quote(key) if isinstance(key, str) else _key_text(key)
                self.repeated.append(f"  line {value_node.line + 1}: key {shown} already set in map")
            found[type(key), key] = value

    def _merge(self, found: dict[tuple[type, Any], Any], part: Node) -> None:
        self._count()
        if isinstance(part, Alias) and isinstance(part.node, Mapping):
            with self._following(part):
                self._merge(found, part.node)
        elif isinstance(part, Mapping):
            self._fill(found, part)
        else:
            raise YamlError("yaml: map merge requires map or sequence of maps as the value")

    def _key(self, node: Node) -> str | int | float:
        if not isinstance(node.node if isinstance(node, Alias) else node, Scalar):
            raise YamlError("yaml: invalid map key: only scalars can be keys of JSON")
        key = self.value(node)
        if key is None:
            raise YamlError("unsupported map key of type: %!s(<nil>), key: <nil>")
        found: str | int | float = key
        return found


def _key_text(key: str | float) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _check_finite(value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        shown = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise YamlError(f"json: unsupported value: {shown}")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_finite(item)


def _is_merge(node: Node) -> bool:
    return isinstance(node, Scalar) and node.text == "<<" and node.tag == PLAIN


def _scalar(node: Scalar) -> Any:
    """Resolve a scalar (``resolve``) by its tag or, without tag and quotes, by what it looks like."""
    tag, text = node.tag.removeprefix(_TAG), node.text
    if tag == "binary":
        try:
            return base64.b64decode(text, validate=True).decode(errors="replace")
        except (binascii.Error, ValueError):
            raise YamlError("yaml: !!binary value contains invalid base64 data") from None
    if tag == PLAIN:
        return _plain(text)
    found = _plain(text) if tag in _PYTHON else text
    if tag == "float" and type(found) is int:
        return float(found)
    if tag in _PYTHON and type(found) is not _PYTHON[tag]:
        raise YamlError(f"yaml: cannot decode !!{_short_tag(found)} `{text}` as a !!{tag}")
    return found


def _plain(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _DATE.fullmatch(text):
        return text
    digits = text.replace("_", "") if text[0] in "+-0123456789" else text
    if _INTEGER.fullmatch(digits):
        number = _integer(digits)
        if _LEAST_INTEGER <= number <= _LARGEST_INTEGER:
            return number
    if _FLOAT.fullmatch(digits) and math.isfinite(amount := float(digits)):
        # Go encodes such a number without a point, so that integer fields accept it.
        return int(amount) if amount.is_integer() and abs(amount) < _SHOWN_WITHOUT_EXPONENT else amount
    return text


def _short_tag(value: Any) -> str:
    return next((tag for tag, python in _PYTHON.items() if type(value) is python), "str")


def _integer(digits: str) -> int:
    sign = -1 if digits[0] == "-" else 1
    digits = digits.lstrip("+-").lower()
    base = {"0x": 16, "0o": 8, "0b": 2}.get(digits[:2])
    if base is not None:
        return sign * int(digits[2:], base)
    if len(digits) > 1 and digits[0] == "0":
        return sign * int(digits, 8)
    return sign * bounded(digits, _LARGEST_INTEGER)
