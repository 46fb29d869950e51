"""A pool: everything a driver publishes about one set of devices, before it is cut into slices.

Profiles and layout files say what the hardware looks like; how many ResourceSlices that makes is a matter of the API's
limits and no concern of theirs. The pool is the form in between. Counter sets, devices and node selectors have the JSON
shape of ``resource.k8s.io/v1``; mixins have the shape of KEP-5234, whichever spelling they were written in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from drakit_api.kubernetes_objects import Object


class PoolError(ValueError):
    """Everything that is wrong with a pool or a layout, found in one go; ``errors`` has one line each."""

    def __init__(self, errors: Iterable[str]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(self.errors))


@dataclass(frozen=True, slots=True)
class Pool:
    """Devices of one driver that are published, and change, together.

    A pool that is published has exactly one of ``node_name``, ``node_selector``, ``all_nodes`` and
    ``per_device_node_selection``. Without ``mixins`` it is flat: no counter set, device or consumption has
    ``includes``. Devices are listed in the order in which the scheduler shall try them; it takes the first that fits.
    """

    driver: str
    name: str
    shared_counters: list[Object] = field(default_factory=list)
    devices: list[Object] = field(default_factory=list)
    node_name: str | None = None
    node_selector: Object | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    mixins: Object | None = None
    partition_type_attribute: str | None = None
    skip_node_operations: list[str] = field(default_factory=list)
    # Groups of devices that share counters get slices of their own, as NVIDIA's driver does: when one GPU changes,
    # the slice of that GPU is rewritten and no other.
    slice_per_group: bool = False

    def node_selection(self) -> Object:
        """Return the field of a ResourceSliceSpec that says from which nodes the devices can be reached, or ``{}``."""
        if self.node_name is not None:
            return {"nodeName": self.node_name}
        if self.node_selector is not None:
            return {"nodeSelector": self.node_selector}
        if self.all_nodes:
            return {"allNodes": True}
        return {"perDeviceNodeSelection": True} if self.per_device_node_selection else {}
