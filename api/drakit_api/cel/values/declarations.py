"""How a library declares its functions to the checker and the compiler: a signature and a Python function each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from drakit_api.cel.values import keys, types, values
from drakit_api.cel.values.types import Type
from drakit_api.quantity import Quantity

Implementation = Callable[..., Any]
ErrorStyle = Literal["plain", "name", "signature"]


@dataclass(frozen=True, slots=True)
class Overload:
    """One variant of a function. ``parameters`` include the target of a method.

    ``style`` is how cel-go words arguments of a wrong type: ``no such overload``, with the name or the signature.
    ``checks_arguments`` says that the implementation takes any values and raises that error itself.
    """

    function: str
    member: bool
    parameters: tuple[Type, ...]
    result: Type
    implementation: Implementation
    style: ErrorStyle = "signature"
    checks_arguments: bool = False

    def accepts(self, arguments: Iterable[Any]) -> bool:
        """Tell whether values, at run time, fit the parameters."""
        return all(_fits(value, t) for value, t in zip(arguments, self.parameters, strict=True))


Functions = Mapping[str, tuple[Overload, ...]]

_SIGNATURE = re.compile(
    r"(?:(?P<target>.+?)\.)?(?P<name>[\w.@?:!<>=+*/%&|\[\]-]+?)\((?P<parameters>.*)\) -> (?P<result>.+)"
)


def overload(
    signature: str, implementation: Implementation, *, style: ErrorStyle = "signature", checks_arguments: bool = False
) -> Overload:
    """Declare ``name(string, int) -> bool`` or, for a method, ``string.name(int) -> bool``.

    A qualified function such as ``sets.contains`` is written with colons: ``sets::contains(list<A>, list<A>) -> bool``.
    """
    match = _SIGNATURE.fullmatch(signature)
    assert match is not None, signature
    target, name = match["target"], match["name"].replace("::", ".")
    written = ([target] if target else []) + _split(match["parameters"])
    parameters = tuple(types.parse_type(text) for text in written)
    result = types.parse_type(match["result"])
    return Overload(name, bool(target), parameters, result, implementation, style, checks_arguments)


def _split(text: str) -> list[str]:
    """Split at the commas outside of angle brackets."""
    pieces, depth = [""], 0
    for character in text:
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and not depth:
            pieces.append("")
        else:
            pieces[-1] += character
    return [piece.strip() for piece in pieces if piece.strip()]


def functions(*libraries: Iterable[Overload]) -> Functions:
    """Collect the overloads of some libraries by function name."""
    result: dict[str, tuple[Overload, ...]] = {}
    for library in libraries:
        for declared in library:
            result[declared.function] = (*result.get(declared.function, ()), declared)
    return result


CLASSES: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "uint": (values.Uint,),
    "double": (float,),
    "string": (str,),
    "bytes": (bytes,),
    "null": (type(None),),
    "timestamp": (values.Timestamp,),
    "duration": (values.Duration,),
    "list": values.LISTS,
    "map": values.MAPS,
    "type": (values.TypeValue,),
}
_NAMED: dict[str, type] = {
    "kubernetes.Quantity": Quantity,
    "kubernetes.Semver": values.Semver,
    "optional_type": values.Optional,
}


def register(cls: type, name: str, *, strict: bool = False, hashing: values.Hashing = "value") -> None:
    """Make a library's value class known to overload resolution and to error messages."""
    _NAMED[name] = cls
    values.register(cls, name, strict=strict, hashing=hashing)


def classes(t: Type) -> tuple[type, ...] | None:
    """Return the Python classes of a type's values; None when any value will do."""
    if t.is_dynamic or t.kind == "parameter":
        return None
    if t.kind in ("struct", "opaque"):
        return (_NAMED[t.name],)
    return CLASSES[t.kind]


def _fits(value: Any, t: Type) -> bool:
    expected = classes(t)
    if expected is None:
        return True
    if type(value) not in expected:
        return False
    if t.kind == "list" and value:
        return _fits(value[0], t.parameters[0])
    if t.kind == "map" and value:
        key, item = next(iter(value.items()))
        return _fits(next(keys.map_keys([key])), t.parameters[0]) and _fits(item, t.parameters[1])
    return True
