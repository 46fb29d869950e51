"""The fields of a layout: ResourceSliceSpec of ``resource.k8s.io/v1``, plus mixins in both spellings.

Seed 004 of the design (the alpha text of KEP-4815) writes ``basic:`` or ``composite:`` around the content of a device,
``consumesCounter`` and ``includes: [{name: x}]``; KEP-5234 writes none of these wrappers and ``includes: [x]``. Both
are read, and both become KEP-5234's form. What else the seed's examples write, and which would change what a device
consumes if it were overlooked, is listed as slips; see ``docs/layouts.md``.
"""

from __future__ import annotations

import re
from typing import Any

from drakit_api import formats, limits, semver
from drakit_api.layouts.strict_reading import (
    UNREADABLE,
    Place,
    Problems,
    Record,
    Shape,
    leaf,
    sequence,
    table,
    type_name,
)
from drakit_api.quantity import Quantity

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_INT64 = range(-(2**63), 2**63)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a string, not {type_name(value)}; put it in quotes" + _seen(value))
    return value


def _seen(value: Any) -> str:
    return f': "{value}"' if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {type_name(value)}")
    return value


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"must be an integer, not {type_name(value)}")
    if value not in _INT64:
        raise ValueError(f"{value} does not fit into 64 bits")
    return value


def _quantity(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"must be a quantity such as 40Gi, not {type_name(value)}")
    return str(Quantity.parse(value))


def _version(value: Any) -> str:
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else _text(value)
    try:
        if isinstance(value, str):
            semver.parse(value)
            return value
    except ValueError:
        pass
    padded = ".".join([*text.split("."), "0", "0"][:3])
    example = padded if re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", padded) else "1.2.3"
    raise ValueError(f'"{text}" is not a version according to semver.org; write "{example}"')


def _attribute_string(value: Any) -> str:
    if formats.byte_length(_text(value)) > limits.ATTRIBUTE_VALUE_LENGTH:
        raise ValueError(f"may not be longer than {limits.ATTRIBUTE_VALUE_LENGTH} bytes")
    return str(value)


def label(value: Any) -> str:
    """Check a DNS label: name of a device, counter set, counter or mixin. Raises ``ValueError`` with a suggestion."""
    if not formats.dns_label(_text(value)):
        return str(value)
    kebab = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[a-z])(?=[0-9]+$)", "-", value).lower().replace(".", "")
    suggestion = re.sub(r"[^a-z0-9]+", "-", kebab).strip("-")[: limits.DNS_LABEL_LENGTH].rstrip("-")
    raise ValueError(
        f'"{value}" is not a DNS label (a-z, 0-9 and "-", at most 63 characters)'
        + (f'; write "{suggestion}"' if suggestion else "")
    )


def subdomain(value: Any) -> str:
    """Check a DNS subdomain: names of nodes and drivers. Raises ``ValueError``."""
    if formats.dns_subdomain(_text(value)):
        raise ValueError(f'"{value}" is not a DNS subdomain (labels of a-z, 0-9 and "-", separated by dots)')
    return str(value)


def driver_name(value: Any) -> str:
    """Check the name of a driver, in either case: the API only warns of capitals. Raises ``ValueError``."""
    subdomain(_text(value).lower())
    if formats.byte_length(value) > limits.DRIVER_NAME_LENGTH:
        raise ValueError(f"may not be longer than {limits.DRIVER_NAME_LENGTH} bytes")
    return str(value)


def pool_name(value: Any) -> str:
    """Check one or more DNS subdomains, separated by slashes. Raises ``ValueError``."""
    if formats.byte_length(_text(value)) > limits.POOL_NAME_LENGTH:
        raise ValueError(f"may not be longer than {limits.POOL_NAME_LENGTH} bytes")
    return "/".join(subdomain(part) for part in value.split("/"))


def _qualified(value: Any) -> str:
    domain, slash, name = _text(value).rpartition("/")
    if slash:
        driver_name(domain)
    if _is_identifier(name):
        return str(value)
    words = [word for word in re.split(r"[^A-Za-z0-9]+", name) if word]
    camel = "".join([words[0], *(word[:1].upper() + word[1:] for word in words[1:])]) if words else ""
    raise ValueError(
        f'"{name}" is not a C identifier (letters, digits and "_", at most 32 characters)'
        + (f'; write "{domain}{slash}{camel}"' if _is_identifier(camel) else "")
    )


def _is_identifier(name: str) -> bool:
    return len(name) <= limits.ATTRIBUTE_ID_LENGTH and not formats.c_identifier(name)


def _repaired(check: Any) -> Shape:
    """Make the shape of a map key: a wrong one is reported once for all its places, and the suggested one used."""

    def read(value: Any, place: Place, problems: Problems) -> Any:
        try:
            return check(value)
        except ValueError as error:
            _, write, suggestion = str(error).partition("; write ")
            if not write:
                problems.add(place, str(error))
                return UNREADABLE
            problems.slip(place, str(error), ("key", str(value)))
            return suggestion.strip('"')

    return read


def _name(value: Any, place: Place, problems: Problems) -> Any:
    """Read the name of a device, counter set or mixin; keep a wrong one, so that references to it are found."""
    try:
        return label(value)
    except ValueError as error:
        if not isinstance(value, str):
            problems.add(place, str(error))
            return UNREADABLE
        problems.slip(place, str(error), ("name", place.subject.removesuffix(value)))
        return value


def _metadata(value: Any, place: Place, problems: Problems) -> Any:
    """Read the metadata of a whole ResourceSlice object, which is not used: the publisher names its slices itself."""
    return value


def _operator(value: Any) -> str:
    if value in _OPERATORS:
        return str(value)
    right = next((known for known in _OPERATORS if known.lower() == str(value).lower()), None)
    raise ValueError(f'"{value}" is not an operator; write {right or "one of " + ", ".join(_OPERATORS)}')


def _include(value: Any, place: Place, problems: Problems) -> Any:
    """Read a reference to a mixin: its name, or ``{name: ...}``."""
    if isinstance(value, str):
        return value
    read = _REFERENCE(value, place, problems)
    return read.get("name", UNREADABLE) if isinstance(read, dict) else UNREADABLE


def _scalar_hint(shape: Record) -> Shape:
    """Make the shape of a counter or capacity: a bare quantity is reported, and read as the object that was meant."""

    def read(value: Any, place: Place, problems: Problems) -> Any:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            message = "must be an object, not a bare quantity; write {value: " + f'"{value}"' + "}"
            problems.slip(place, message, ("bare quantity",))
            value = {"value": value}
        return shape(value, place, problems)

    return read


def _attribute(value: Any, place: Place, problems: Problems) -> Any:
    read = _ATTRIBUTE(value, place, problems)
    if isinstance(value, dict) and isinstance(read, dict) and len(value) != 1:
        given = ", ".join(map(str, value)) or "none"
        problems.add(place, f"exactly one of {', '.join(_ATTRIBUTE.fields)} must be set, not {given}")
    return read if read else UNREADABLE


text, boolean, integer, quantity = leaf(_text), leaf(_boolean), leaf(_integer), leaf(_quantity)
_texts = sequence(text)
_LIST_MEANINGS = {"ints": integer, "bools": boolean, "strings": leaf(_attribute_string), "versions": leaf(_version)}

_REFERENCE = Record(
    {"name": text},
    required=["name"],
    hints={"counterSet": "the counter set is named in consumesCounters[].counterSet, beside the includes"},
)
_INCLUDES = sequence(_include)
_ATTRIBUTE = Record(
    {
        "int": integer,
        "bool": boolean,
        "string": leaf(_attribute_string),
        "version": leaf(_version),
        **{name: sequence(items) for name, items in _LIST_MEANINGS.items()},
    },
    slips={"value": "string", "boolean": "bool", "integer": "int", "semver": "version"},
)
_QUANTITY_SLIPS = {"quantity": "value", "capacity": "value"}
_COUNTER = _scalar_hint(Record({"value": quantity}, required=["value"], slips=_QUANTITY_SLIPS))
_REQUEST_POLICY = Record(
    {
        "default": quantity,
        "validValues": sequence(quantity),
        "validRange": Record({"min": quantity, "max": quantity, "step": quantity}),
    }
)
_CAPACITY = _scalar_hint(
    Record({"value": quantity, "requestPolicy": _REQUEST_POLICY}, required=["value"], slips=_QUANTITY_SLIPS)
)
_COUNTERS = table(_COUNTER, _repaired(label))
_COUNTER_SLIPS = {"counter": "counters", "capacity": "counters"}
_REQUIREMENTS = sequence(
    Record({"key": text, "operator": leaf(_operator), "values": _texts}, required=["key", "operator"])
)
_NODE_SELECTOR = Record(
    {
        "nodeSelectorTerms": sequence(
            Record({"matchExpressions": _REQUIREMENTS, "matchFields": _REQUIREMENTS}), at_most=1
        )
    },
    required=["nodeSelectorTerms"],
)
_PROPERTIES: dict[str, Shape] = {
    "attributes": table(_attribute, _repaired(_qualified)),
    "capacity": table(_CAPACITY, _repaired(_qualified)),
}
_PROPERTY_SLIPS = {"attribute": "attributes", "capacities": "capacity"}
_CONSUMPTION = Record(
    {
        "counterSet": text,
        "counters": _COUNTERS,
        "includes": _INCLUDES,
        "compatibilityGroups": _texts,
    },
    required=["counterSet"],
    slips={"capacityPool": "counterSet", "sharedCounter": "counterSet", "counterset": "counterSet", **_COUNTER_SLIPS},
)
_WRAPPERS = {"basic": "basic", "composite": "basic"}
_DEVICE = Record(
    {
        "name": _name,
        "includes": _INCLUDES,
        **_PROPERTIES,
        "consumesCounters": sequence(_CONSUMPTION),
        "nodeName": leaf(subdomain),
        "nodeSelector": _NODE_SELECTOR,
        "allNodes": boolean,
        "taints": sequence(
            Record({"key": text, "value": text, "effect": text, "timeAdded": text}, required=["key", "effect"])
        ),
        "bindsToNode": boolean,
        "bindingConditions": _texts,
        "bindingFailureConditions": _texts,
        "allowMultipleAllocations": boolean,
        "nodeAllocatableResources": table(
            Record(
                {
                    "mapping": Record(
                        {"capacityKey": text, "capacityMultiplier": quantity, "deviceMultiplier": quantity}
                    ),
                    "overhead": Record({"perPod": quantity, "perContainer": quantity}),
                }
            ),
            text,
        ),
    },
    required=["name"],
    also={"consumesCounter": "consumesCounters"},
    slips={
        "consumesCapacity": "consumesCounters",
        "consumeCounters": "consumesCounters",
        "consumesSharedCounters": "consumesCounters",
        "include": "includes",
        **_PROPERTY_SLIPS,
    },
    hints={"sharedCounterConsumed": "write the counters under consumesCounters[].counters"},
    wrappers=_WRAPPERS,
)
_DEVICE_MIXIN = Record(
    {"name": _name, **_PROPERTIES},
    required=["name"],
    slips=_PROPERTY_SLIPS,
    hints={
        "sharedCounterConsumed": "what a device consumes is a mixin of its own: write it under"
        " mixins.deviceCounterConsumption and include it in consumesCounters[].includes",
        "consumesCounters": "write the counters under mixins.deviceCounterConsumption and include that mixin in"
        " consumesCounters[].includes",
        "includes": "a mixin cannot include others",
    },
    wrappers=_WRAPPERS,
)
_COUNTERS_MIXIN = Record(
    {"name": _name, "counters": _COUNTERS},
    required=["name", "counters"],
    slips=_COUNTER_SLIPS,
    hints={"includes": "a mixin cannot include others"},
)
_MIXINS = Record(
    {
        "counterSet": sequence(_COUNTERS_MIXIN, subject="counter set mixin"),
        "device": sequence(_DEVICE_MIXIN, subject="device mixin"),
        "deviceCounterConsumption": sequence(_COUNTERS_MIXIN, subject="device counter consumption mixin"),
    },
    slips={"counterSets": "counterSet", "devices": "device", "capacityPool": "counterSet"},
)
SPEC = Record(
    {
        "driver": leaf(driver_name),
        "pool": Record({"name": leaf(pool_name), "generation": integer, "resourceSliceCount": integer}),
        "nodeName": leaf(subdomain),
        "nodeSelector": _NODE_SELECTOR,
        "allNodes": boolean,
        "perDeviceNodeSelection": boolean,
        "sharedCounters": sequence(
            Record(
                {"name": _name, "counters": _COUNTERS, "includes": _INCLUDES},
                required=["name"],
                slips=_COUNTER_SLIPS,
            ),
            subject="counter set",
        ),
        "mixins": _MIXINS,
        "devices": sequence(_DEVICE, subject="device"),
        "partitionTypeAttribute": text,
        "skipNodeOperations": _texts,
    },
    slips={"capacityPools": "sharedCounters", "sharedCounter": "sharedCounters", "mixin": "mixins"},
    hints={
        "deviceMixins": "device mixins stand under mixins.device, and what devices consume under"
        " mixins.deviceCounterConsumption",
        "counterSetMixins": "counter set mixins stand under mixins.counterSet",
    },
)
OBJECT = Record(
    {
        "apiVersion": text,
        "kind": text,
        "metadata": _metadata,
        "spec": SPEC,
    },
    required=["spec"],
)
