"""Feature gates of Kubernetes that defaults and fields depend on, also those that drakit itself has no use for."""

from __future__ import annotations

import functools
from importlib import resources
from typing import TYPE_CHECKING, Any

import msgspec

from drakit_api.features import FeatureGateError

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates


class Table(msgspec.Struct, frozen=True):
    """``gates``: since which version each is on or off by default; ``structs``: the statements of each struct."""

    gates: dict[str, list[tuple[str, bool]]]
    structs: dict[str, list[dict[str, Any]]]


@functools.cache
def table() -> Table:
    """Read ``defaults.json``, once."""
    raw = resources.files(__package__).joinpath("defaults.json").read_bytes()
    return msgspec.json.decode(raw, type=Table)


def enabled(name: str, gates: FeatureGates) -> bool:
    """Check whether a gate of the table is on; one that drakit does not know is as it is in the emulated version."""
    try:
        return gates.enabled(name)
    except FeatureGateError:
        wanted = _version(gates.emulated_version)
        since = reversed(table().gates[name])
        return next((on for version, on in since if _version(version) <= wanted), False)


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))
