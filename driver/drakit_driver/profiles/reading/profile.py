"""What a profile is, and what a module that brings profiles has to have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from drakit_api.kubernetes_objects import Object
from drakit_api.layouts.pools import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A name that ``build`` knows, with what ``drakit driver profiles`` says of it.

    ``driver`` is the name of the real driver; ``kind`` is for scripts that list profiles. ``nodes`` is how many nodes
    one pool spans; a pool of several nodes has a name of its own, and one of a single node is named after it. ``gpus``
    is how many GPUs a node has by default; None if that cannot be chosen. ``source`` is filled in by who finds it.
    """

    name: str
    summary: str
    driver: str
    kind: str
    nodes: int = 1
    gpus: int | None = None
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What pools are asked for: under which driver name, on which nodes, with how many GPUs each.

    ``nodes`` are as many as the profile spans, if it spans several. ``pool_name`` is the name of the one pool then.
    """

    driver: str
    nodes: Sequence[str]
    gpus: int
    pool_name: str


class ProfileModule(Protocol):
    """The two functions of a module of profiles.

    A module may also have ``device_classes(driver: str)``, which returns DeviceClass objects; without it there is one
    class, named as the driver, for all of the driver's devices.
    """

    def profiles(self) -> Iterable[Profile]:
        """Return what can be asked for."""

    def pools(self, profile: Profile, wanted: Wanted) -> list[Pool]:
        """Return the pools of one of these profiles."""


def device_class(name: str, expression: str) -> Object:
    """Return a DeviceClass that selects by one CEL expression."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }
