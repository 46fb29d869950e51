"""Derived attributes: expressions whose value takes part in constraints as if the device had published it.

Source: ``validateOutputType`` and ``valToDeviceAttribute`` of ``k8s.io/dynamic-resource-allocation`` v0.37
``cel/compile.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drakit_api.cel.device import DeviceView
from drakit_api.cel.errors import CelCompileError, CelRuntimeError, CostExceeded
from drakit_api.cel.expression import Expression, remembered
from drakit_api.cel.values import budget, types
from drakit_api.cel.values.values import ABSENT, LISTS, Optional, Semver, TypeValue, type_name

if TYPE_CHECKING:
    from drakit_api.cel.compiler import Checked
    from drakit_api.cel.syntax.tree import Node

_TYPES = (types.BOOL, types.INT, types.STRING, types.SEMVER, types.ANY, types.DYN)
_FIELDS: dict[type, str] = {bool: "bool", int: "int", str: "string", Semver: "version"}
# The Go types behind CEL's, which upstream's messages show; lists and maps are those that expressions build.
_GO_TYPES = {
    "bool": "bool",
    "int": "int64",
    "uint": "uint64",
    "double": "float64",
    "string": "string",
    "bytes": "[]uint8",
    "null_type": "structpb.NullValue",
    "list": "[]ref.Val",
    "map": "map[ref.Val]ref.Val",
    "google.protobuf.Timestamp": "time.Time",
    "google.protobuf.Duration": "time.Duration",
    "kubernetes.Quantity": "*resource.Quantity",
    "kubernetes.Semver": "semver.Version",
    "kubernetes.URL": "*url.URL",
    "kubernetes.NamedFormat": "cel.Format",
    "net.IP": "netip.Addr",
    "net.CIDR": "netip.Prefix",
}


class DerivedAttribute(Expression):
    """A compiled derived attribute."""

    __slots__ = ()

    def attribute(self, device: DeviceView) -> dict[str, Any]:
        """Evaluate the expression, and return its value in the form of a v1 ``DeviceAttribute``.

        Raises ``CelRuntimeError`` where the evaluation fails or an attribute cannot hold its result.
        """
        value = _plain(self.evaluate(device))
        if type(value) in LISTS:
            return _list(value)
        if type(value) not in _FIELDS:
            raise CelRuntimeError(f"unsupported CEL return type: {_go_type(value)}")
        return {_FIELDS[type(value)]: _json(value)}


@remembered
def compile_derived_attribute(expression: str) -> DerivedAttribute:
    """Compile the expression of a stored derived attribute. Raises ``CelCompileError`` in the words of cel-go."""
    from drakit_api.cel import compiler

    tree = _deriving(compiler.stored(expression), list_attributes=True)
    return DerivedAttribute(expression, *compiler.planned(tree), compiler.footprint(tree))


@remembered
def check_derived_attribute(
    expression: str, *, consumable_capacity: bool = True, list_attributes: bool = False, includes: bool = False
) -> int:
    """Check the expression of a derived attribute in a request, as ``check_selector`` does for selectors."""
    from drakit_api.cel import compiler

    checked = compiler.new(
        expression, consumable_capacity=consumable_capacity, list_attributes=list_attributes, includes=includes
    )
    return compiler.planned_cost(_deriving(checked, list_attributes=list_attributes))


def _deriving(checked: Checked, *, list_attributes: bool) -> Node:
    result = checked.result
    is_list = list_attributes and result.kind == "list"
    if (result.parameters[0] if is_list else result) not in _TYPES:
        lists = " or a list of these scalars" if list_attributes else ""
        wanted = f"a primitive scalar (string, integer, boolean, semver){lists}"
        raise CelCompileError(f"must evaluate to {wanted}, not {result.declared}")
    return checked.tree


def _list(values: list[Any]) -> dict[str, Any]:
    """Make a list attribute, whose type is that of its first element."""
    if not values:
        return {"strings": []}
    try:
        budget.spend_list(values)
    except CostExceeded:
        raise CelRuntimeError("operation cancelled: actual cost limit exceeded") from None
    elements = [_plain(value) for value in values]
    kind = type(elements[0])
    if kind not in _FIELDS:
        raise CelRuntimeError(f"unsupported list element type: {_go_type(elements[0])}")
    for index, element in enumerate(elements):
        if type(element) is not kind:
            expected = "semver" if kind is Semver else _FIELDS[kind]
            raise CelRuntimeError(f"expected list element at index {index} to be {expected}, got {_go_type(element)}")
    return {f"{_FIELDS[kind]}s": [_json(element) for element in elements]}


def _plain(value: Any) -> Any:
    """Replace an optional by what it holds, and a type by its name."""
    while type(value) is Optional:
        value = value.value
    return value.name if type(value) is TypeValue else value


def _json(value: Any) -> Any:
    return str(value.version) if type(value) is Semver else value


def _go_type(value: Any) -> str:
    return "<nil>" if value is ABSENT else _GO_TYPES[type_name(value)]
