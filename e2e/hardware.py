"""The drivers of a test with what stories say about them: their classes, their partitions, claims in a few words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_kind.cluster import Driver
from drakit_kind.clusters import manifests


class GpuClaims:
    """Claims for MIG GPUs of the driver ``name``, which is also the domain of the devices' attributes."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def mig_class(self) -> str:
        """DeviceClass of the partitions."""
        return "mig." + self.name.removeprefix("gpu.")

    @property
    def gpu_class(self) -> str:
        """DeviceClass of whole GPUs."""
        return self.name

    @property
    def parent(self) -> str:
        """The attribute that all partitions of one GPU share."""
        return f"{self.name}/parentUUID"

    def partition(self, profile: str, name: str = "mig", *, on: str | None = None, **fields: Any) -> Object:
        """A request for one partition of a profile, of any GPU or of that with the UUID ``on``."""
        wanted = {"profile": profile} | ({"parentUUID": on} if on else {})
        chosen = [f"device.attributes['{self.name}'].{name} == '{value}'" for name, value in wanted.items()]
        return manifests.request(name, self.mig_class, *chosen, **fields)

    def partitions(self, claim: str, *profiles: str, same_gpu: bool = True) -> Object:
        """A claim for one partition of each profile."""
        requests = [self.partition(profile, f"mig-{index}") for index, profile in enumerate(profiles)]
        return manifests.claim(claim, *requests, match_attribute=self.parent if same_gpu else None)

    def whole(self, claim: str) -> Object:
        """A claim for a whole GPU."""
        return manifests.claim(claim, manifests.request("gpu", self.gpu_class))


class Gpus(GpuClaims):
    """A driver with MIG GPUs whose names belong to this test."""

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver.name)
        self.driver = driver


@dataclass(frozen=True)
class Tpus:
    """A driver with a TPU pool whose names belong to this test."""

    driver: Driver

    @property
    def name(self) -> str:
        """DRA driver name and device class."""
        return self.driver.name

    def slice_of(self, claim: str, chips: int) -> Object:
        """A claim for a slice with this number of chips."""
        enough = f"device.capacity['{self.name}'].tpus.compareTo(quantity('{chips}')) == 0"
        return manifests.claim(claim, manifests.request("tpu", self.name, enough))


StartGpus = Callable[..., Gpus]
StartTpus = Callable[..., Tpus]
TakeNodes = Callable[[int], list[str]]
