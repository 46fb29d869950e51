"""YAML bodies as Kubernetes reads them: turned into JSON first, by rules of YAML 1.1 that are Go's own.

``y`` is true, dates are texts, keys are texts, and a field that a document has twice counts once. PyYAML's parser makes
nodes of the text, as go-yaml's does (both are libyaml); what a scalar means is decided here. Source:
``go.yaml.in/yaml/v2`` ``resolve.go`` and ``decode.go``, ``sigs.k8s.io/yaml`` ``yaml.go``.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Any

import yaml

from drakit_api.gostrings import quote
from drakit_api.long_numbers import bounded

_TAG = "tag:yaml.org,2002:"
# The tag of a scalar that has none and stands without quotes.
_PLAIN = "plain"
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_PYTHON: dict[str, type] = {"bool": bool, "int": int, "float": float, "null": type(None)}
_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})?)?"
)
_ALIAS = re.compile(r"\*([-\w]*)")
_SHOWN_WITHOUT_EXPONENT = 1e21
_LEAST_INTEGER, _LARGEST_INTEGER = -(2**63), 2**64 - 1
# How much of a document may come of aliases: 99 % of a small one, less of a large one.
_FREE_ALIASES, _FREE_NODES = 100, 1000
_SMALL, _LARGE = 400_000, 4_000_000


class YamlError(ValueError):
    """A text that is no YAML, or none that JSON can hold; the message is Go's.

    ``repeated`` are the lines that say where a key stands a second time.
    """


class _Loader(yaml.CSafeLoader):
    """Makes nodes, and leaves it to this module what plain scalars are."""

    yaml_implicit_resolvers = {None: [(_PLAIN, re.compile(""))]}  # noqa: RUF012 - as PyYAML has it


def read(raw: bytes) -> tuple[Any, list[str]]:
    """The value of the first document, and a text for each key that is repeated. Raises ``YamlError``."""
    loader = _Loader(raw)
    try:
        node = loader.get_node() if loader.check_node() else None
        reader = _Reader()
        value = reader.value(node) if node is not None else None
        _check_finite(value)
    except yaml.MarkedYAMLError as error:
        raise YamlError(f"yaml: {_located(error, raw)}") from None
    except yaml.reader.ReaderError:
        raise YamlError("yaml: control characters are not allowed") from None
    except RecursionError:
        raise YamlError("yaml: exceeded max depth of 10000") from None
    finally:
        loader.dispose()
    return value, reader.repeated


def _located(error: yaml.MarkedYAMLError, raw: bytes) -> str:
    """go-yaml numbers the lines of a scanner's errors from one, those of a parser's from zero."""
    if isinstance(error, yaml.composer.ComposerError) and error.problem_mark is not None:
        alias = _ALIAS.match(raw.decode(errors="replace"), error.problem_mark.index)
        # PyYAML also refuses an anchor that is given twice, which go-yaml does not.
        return f"unknown anchor '{alias[1]}' referenced" if alias else f"{error.context} ({error.problem})"
    scanner = isinstance(error, yaml.scanner.ScannerError)
    mark, context = error.problem_mark, error.context_mark
    line = 0
    if mark is not None and mark.line:
        line = mark.line + scanner
    elif context is not None:
        line = context.line
    return f"line {line}: {error.problem}" if line else str(error.problem)


class _Reader:
    """Values of nodes, with a count of those that come of aliases."""

    def __init__(self) -> None:
        self.repeated: list[str] = []
        self._nodes = self._aliased = 0
        self._seen: set[int] = set()
        self._open: set[int] = set()
        self._depth = 0

    def value(self, node: yaml.Node) -> Any:
        """What a node stands for, in types of JSON."""
        again = id(node) in self._seen
        self._seen.add(id(node))
        if id(node) in self._open:
            raise YamlError("yaml: anchor value contains itself")
        self._open.add(id(node))
        self._depth += again
        self._count()
        found = self._of(node)
        self._depth -= again
        self._open.discard(id(node))
        return found

    def _count(self) -> None:
        self._nodes += 1
        self._aliased += self._depth > 0
        if self._aliased > _FREE_ALIASES and self._nodes > _FREE_NODES:
            share = min(max((self._nodes - _SMALL) / (_LARGE - _SMALL), 0.0), 1.0)
            if self._aliased / self._nodes > 0.99 - 0.89 * share:
                raise YamlError("yaml: document contains excessive aliasing")

    def _of(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item) for item in node.value]
        assert isinstance(node, yaml.ScalarNode)
        return _scalar(node)

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        found: dict[tuple[type, Any], Any] = {}
        self._fill(found, node)
        texts = {_key_text(key): value for (_, key), value in found.items()}
        return {key: texts[key] for key in sorted(texts)}

    def _fill(self, found: dict[tuple[type, Any], Any], node: yaml.MappingNode) -> None:
        """Put in what a mapping says, in its order; ``<<`` says what others do, of which the first ones count."""
        for key_node, value_node in node.value:
            if _is_merge(key_node):
                several = isinstance(value_node, yaml.SequenceNode)
                for part in reversed(value_node.value) if several else (value_node,):
                    self._count()
                    if not isinstance(part, yaml.MappingNode):
                        raise YamlError("yaml: map merge requires map or sequence of maps as the value")
                    self._fill(found, part)
                continue
            key = self._key(key_node)
            if (type(key), key) in found:
                shown = quote(key) if isinstance(key, str) else _key_text(key)
                self.repeated.append(f"  line {value_node.start_mark.line + 1}: key {shown} already set in map")
            found[type(key), key] = self.value(value_node)

    def _key(self, node: yaml.Node) -> str | int | float:
        if not isinstance(node, yaml.ScalarNode):
            raise YamlError("yaml: invalid map key: only scalars can be keys of JSON")
        key = _scalar(node)
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


def _is_merge(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.value == "<<" and node.tag == _PLAIN


def _scalar(node: yaml.ScalarNode) -> Any:
    """``resolve``: what a scalar is, by its tag, or if it has none and stands without quotes by what it looks like."""
    tag, text = node.tag.removeprefix(_TAG), node.value
    if tag == "binary":
        try:
            return base64.b64decode(text, validate=True).decode(errors="replace")
        except (binascii.Error, ValueError):
            raise YamlError("yaml: !!binary value contains invalid base64 data") from None
    if tag == _PLAIN:
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
        # Go writes such a number without a point, so that it is one for integer fields.
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
