"""What the stories share: drivers of their own, claims in a few words, and arithmetic that trusts no component.

The suite knows nothing of the backend; it has a cluster's API, nodes to put drivers on, and the logs of containers.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from kubernetes.utils.quantity import parse_quantity

from drakit_client.resources import RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_kind import manifests
from drakit_kind.api import Api
from drakit_kind.cluster import Cluster, Driver

Object = dict[str, Any]
_FIGURES: dict[str, str] = {}
_BEGAN = time.monotonic()


@dataclass(frozen=True)
class Gpus:
    """A driver with MIG GPUs whose names belong to this test."""

    driver: Driver
    api: Api

    @property
    def name(self) -> str:
        """DRA driver name, which is also the domain of the devices' attributes."""
        return self.driver.name

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

    def partition(self, profile: str, name: str = "mig", **fields: Any) -> Object:
        """A request for one partition of a profile."""
        return manifests.request(
            name, self.mig_class, f"device.attributes['{self.name}'].profile == '{profile}'", **fields
        )

    def partitions(self, claim: str, *profiles: str, same_gpu: bool = True) -> Object:
        """A claim for one partition of each profile."""
        requests = [self.partition(profile, f"mig-{index}") for index, profile in enumerate(profiles)]
        return manifests.claim(claim, *requests, match_attribute=self.parent if same_gpu else None)

    def whole(self, claim: str) -> Object:
        """A claim for a whole GPU."""
        return manifests.claim(claim, manifests.request("gpu", self.gpu_class))


@dataclass(frozen=True)
class Tpus:
    """A driver with a TPU pool whose names belong to this test."""

    driver: Driver
    api: Api

    @property
    def name(self) -> str:
        """DRA driver name and device class."""
        return self.driver.name

    def slice_of(self, claim: str, chips: int) -> Object:
        """A claim for a slice with this number of chips."""
        enough = f"device.capacity['{self.name}'].tpus.compareTo(quantity('{chips}')) == 0"
        return manifests.claim(claim, manifests.request("tpu", self.name, enough))


@pytest.fixture
def gpus(api: Api, driver: Callable[..., Driver]) -> Callable[..., Gpus]:
    """``gpus("a100-40gb", nodes=["node-1"], gpus=2)``: start a driver with MIG GPUs."""
    return lambda profile="a100-40gb", **options: Gpus(driver(profile, **options), api)


@pytest.fixture
def tpus(api: Api, driver: Callable[..., Driver]) -> Callable[..., Tpus]:
    """``tpus("tpu-v6e-4x4", nodes=[...])``: start a driver with a TPU pool."""
    return lambda profile="tpu-v6e-4x4", **options: Tpus(driver(profile, **options), api)


class Ledger:
    """Who holds what of one driver, computed from slices and claim statuses only.

    The quantities are parsed by the official client, so that not even a mistake in drakit's own parser could hide here.
    """

    def __init__(self, api: Api, driver: str) -> None:
        slices = [item["spec"] for item in api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={driver}")]
        self.devices: dict[tuple[str, str], Object] = {}
        self.available: dict[tuple[str, str, str], Decimal] = {}
        for spec in slices:
            pool = spec["pool"]["name"]
            self.devices |= {(pool, device["name"]): device for device in spec.get("devices") or []}
            for counter_set in spec.get("sharedCounters") or []:
                for counter, value in counter_set["counters"].items():
                    self.available[pool, counter_set["name"], counter] = parse_quantity(value["value"])
        self.holders: dict[tuple[str, str], list[str]] = defaultdict(list)
        for claim in api.objects(RESOURCE_CLAIMS):
            for result in results(claim):
                if result["driver"] == driver:
                    self.holders[result["pool"], result["device"]].append(claim["metadata"]["name"])

    def used(self) -> dict[tuple[str, str, str], Decimal]:
        """Consumption of each counter by all allocated devices."""
        used: dict[tuple[str, str, str], Decimal] = defaultdict(Decimal)
        for pool, name in self.holders:
            for counter, amount in self.consumption(pool, name).items():
                used[counter] += amount
        return used

    def consumption(self, pool: str, device: str) -> dict[tuple[str, str, str], Decimal]:
        """What one device takes of each counter when it is allocated."""
        return {
            (pool, consumption["counterSet"], counter): parse_quantity(value["value"])
            for consumption in self.devices[pool, device].get("consumesCounters") or []
            for counter, value in consumption["counters"].items()
        }

    def check(self) -> None:
        """No device twice, no counter over what its set has."""
        assert {device: claims for device, claims in self.holders.items() if len(claims) > 1} == {}
        over = {counter: amount for counter, amount in self.used().items() if amount > self.available[counter]}
        assert over == {}

    def memory_slices(self, pool: str, device: str) -> tuple[int, ...]:
        """The memory slices of its GPU on which a partition lies."""
        consumptions = self.devices[pool, device]["consumesCounters"]
        counters = [counter for consumption in consumptions for counter in consumption["counters"]]
        return tuple(sorted(int(name.rpartition("-")[2]) for name in counters if name.startswith("memory-slice-")))


def results(claim: Object) -> list[Object]:
    """The allocated devices of a claim, in the order of its status."""
    allocation = claim.get("status", {}).get("allocation", {})
    found: list[Object] = allocation.get("devices", {}).get("results", [])
    return found


@pytest.fixture
def ledger(api: Api) -> Callable[[str], Ledger]:
    """``ledger(driver_name)``: the account of who holds what, as of now."""
    return lambda driver: Ledger(api, driver)


@pytest.fixture
def devices_of(api: Api) -> Callable[[str], list[str]]:
    """``devices_of(claim)``: names of the allocated devices, in order."""
    return lambda claim: [result["device"] for result in results(api.get(RESOURCE_CLAIMS, claim))]


@pytest.fixture
def allocated() -> Callable[[list[Object]], set[str]]:
    """``allocated(claims)``: the names of those that hold devices."""
    return lambda claims: {claim["metadata"]["name"] for claim in claims if results(claim)}


@pytest.fixture
def all_free(api: Api) -> Callable[[str], None]:
    """``all_free(claim)``: wait until a claim that still exists holds no device and is reserved for nobody."""

    def wait(claim: str) -> None:
        api.wait(
            RESOURCE_CLAIMS,
            claim,
            lambda seen: seen is not None and not seen.get("status", {}).get("allocation"),
            what="deallocated",
        )
        assert not api.get(RESOURCE_CLAIMS, claim).get("status", {}).get("reservedFor")

    return wait


@pytest.fixture(scope="session", autouse=True)
def _ready_figure(cluster: Cluster) -> None:
    ready = getattr(cluster, "ready_seconds", None)
    if ready is not None:
        _FIGURES["cluster ready"] = f"{ready:.2f} s"


@pytest.fixture
def figure() -> Callable[[str, str], None]:
    """``figure(name, text)``: a measurement to print at the end of the run."""
    return _FIGURES.__setitem__


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Workers of pytest-xdist hand their figures to the process that prints."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["figures"] = dict(_FIGURES)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Collect what a worker measured."""
    _FIGURES.update(getattr(node, "workeroutput", {}).get("figures", {}))


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the figures that the project promises, as measured in this run."""
    _FIGURES["whole suite"] = f"{time.monotonic() - _BEGAN:.1f} s"
    terminalreporter.section("figures")
    for name, text in sorted(_FIGURES.items()):
        terminalreporter.write_line(f"{name:45} {text}")
