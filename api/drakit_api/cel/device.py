"""A device as selectors see it, built once from a ResourceSlice and evaluated against by any number of selectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from drakit_api.cel.frames import Layout
from drakit_api.cel.library import semver
from drakit_api.cel.values.values import Domains, Named, Semver
from drakit_api.quantity import Quantity, QuantityError

FIELDS: Final = ("driver", "allowMultipleAllocations", "attributes", "capacity")
# Behind the cost lie the fields of ``device``, and then device as a whole.
PLACES: Final = {name: place for place, name in enumerate(FIELDS, 1)}
LAYOUT: Final = Layout(
    variables={"device": 1 + len(FIELDS)},
    fields={("device", name): place for name, place in PLACES.items()},
    certain=frozenset({"device"}),
)


class DeviceView:
    """The value of ``device``; make it with :func:`device_view`.

    ``frame`` is what compiled selectors read and must not be changed. ``problem`` is set when upstream cannot represent
    the device: then every selector fails with it.
    """

    __slots__ = ("frame", "problem")

    def __init__(self, frame: list[Any], problem: str) -> None:
        self.frame = frame
        self.problem = problem


def device_view(driver: str, device: Mapping[str, Any]) -> DeviceView:
    """Make the view of one entry of ``spec.devices`` (v1) of a slice that belongs to ``driver``.

    Attributes and capacities without a domain belong to the driver's. Where ``x`` and ``driver/x`` both exist, upstream
    takes either at random (``k8s.io/dynamic-resource-allocation`` v0.37 ``cel/compile.go`` walks over a Go map); here
    the unqualified one wins, as it does in the recorded answer. (In constraints, the qualified one wins everywhere.)
    """
    attributes: list[tuple[str, Any]] = []
    capacity: list[tuple[str, Any]] = []
    problem = ""
    for name, attribute in (device.get("attributes") or {}).items():
        try:
            attributes.append((name, attribute_value(attribute)))
        except ValueError as error:
            problem = problem or f"attribute {name}: {error}"
    for name, entry in (device.get("capacity") or {}).items():
        try:
            capacity.append((name, Quantity.parse(entry.get("value", "0"))))
        except QuantityError as error:
            problem = problem or f"capacity {name}: {error}"
    return view_of_values(driver, bool(device.get("allowMultipleAllocations")), attributes, capacity, problem)


def view_of_values(
    driver: str,
    is_shareable: bool,
    attributes: Iterable[tuple[str, Any]],
    capacity: Iterable[tuple[str, Quantity]],
    problem: str = "",
) -> DeviceView:
    """Make the view of a device from attribute values in the form that ``attribute_value`` returns."""
    domains, capacities = Domains(), Domains()
    for name, value in attributes:
        _put(domains, name, driver, value)
    for name, quantity in capacity:
        _put(capacities, name, driver, quantity)
    fields = [driver, is_shareable, domains, capacities]
    return DeviceView([0, *fields, Named(zip(FIELDS, fields, strict=True))], problem)


def _put(domains: Domains, name: str, driver: str, value: Any) -> None:
    domain, slash, identifier = name.partition("/")
    if slash:
        domains.setdefault(domain, Named()).setdefault(identifier, value)
    else:
        domains.setdefault(driver, Named())[name] = value


def attribute_value(attribute: Mapping[str, Any]) -> Any:
    """Return the one value that is set in a v1 ``DeviceAttribute``; lists are looked at first.

    Raises ``ValueError`` if there is none or a version is malformed.
    """
    for kind in ("ints", "bools", "strings"):
        if (values := attribute.get(kind)) is not None:
            return list(values)
    if (versions := attribute.get("versions")) is not None:
        return [_version(text) for text in versions]
    for kind in ("int", "bool", "string"):
        if (value := attribute.get(kind)) is not None:
            return value
    if (version := attribute.get("version")) is not None:
        return _version(version)
    raise ValueError("unsupported attribute value")


def _version(text: str) -> Semver:
    try:
        return semver.parse(text)
    except ValueError as error:
        raise ValueError(f"parse semantic version: {error}") from None
