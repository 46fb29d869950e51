"""What can be put together: API server, scheduler, kubelet and driver, each ours or not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal

from drakit_kind.cluster import Component

Driver = Literal["ours", "Kubernetes' test driver"]


@dataclass(frozen=True, kw_only=True)
class Combination:
    """Controllers go with the API server; so do their sources, and so does the design's table of slots."""

    real_server: bool
    real_scheduler: bool
    real_kubelet: bool
    driver: Driver

    @property
    def real(self) -> frozenset[Component]:
        """The components that are Kubernetes' own."""
        components: set[Component] = set()
        if self.real_server:
            components |= {"apiserver", "controllers"}
        if self.real_scheduler:
            components.add("scheduler")
        if self.real_kubelet:
            components.add("kubelet")
        return frozenset(components)

    def __str__(self) -> str:
        server = "kube-apiserver" if self.real_server else "embedded API server"
        scheduler = "kube-scheduler" if self.real_scheduler else "our scheduler"
        kubelet = "real kubelet" if self.real_kubelet else "simulated kubelet"
        driver = "our driver" if self.driver == "ours" else self.driver
        return f"{server}, {scheduler}, {kubelet}, {driver}"


COMBINATIONS = [
    Combination(real_server=server, real_scheduler=scheduler, real_kubelet=kubelet, driver=driver)
    for server, scheduler, kubelet in product((False, True), repeat=3)
    for driver in ("ours", "Kubernetes' test driver")
]
