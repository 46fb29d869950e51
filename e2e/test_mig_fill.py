"""A DGX is filled with random MIG claims until nothing fits, and everything is free again at the end.

What is checked after every step is arithmetic on the published counters, done here and not by any component.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from drakit_api.core.conditions import is_unschedulable
from drakit_client.resources import PODS, RESOURCE_CLAIMS
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.manifests import pod
from e2e.hardware import StartGpus
from e2e.ledger import Allocated, Ledger, OpenLedger

pytestmark = [
    pytest.mark.many_at_once,
    pytest.mark.capability(
        "partitionable devices: shared counters under load",
        source="KEP-4815",
        gates=["DRAPartitionableDevices"],
    ),
]

PROFILES = ("1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb")
WEIGHTS = (40, 5, 10, 25, 15, 5)
BATCH = 12
# How many partitions each claim of a batch has: several, as containers take long, then single ones for what is left.
# In all more than a DGX holds: 8 GPUs with at most 7 partitions each.
SIZES = (3, 3, 3, 1, 1, 1, 1, 1)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_a_dgx_filled_at_random_is_never_over_committed(
    api: Api, gpus: StartGpus, ledger: OpenLedger, allocated: Allocated, seed: int, node: str
) -> None:
    gpu = gpus("dgx-a100", nodes=[node])
    choose = random.Random(seed)
    full = False
    for batch, size in enumerate(SIZES):
        for index in range(BATCH // size):
            name, profiles = f"mig-{batch}-{index}", choose.choices(PROFILES, WEIGHTS, k=size)
            api.create(gpu.partitions(name, *profiles, same_gpu=False), pod(name, name))
        try:
            api.wait_all(PODS, lambda pods: all(map(_decided, pods)), what="running or unschedulable")
        finally:
            ledger(gpu.name).check()  # which says why, if a pod that got what another one holds never runs
        if full := _nothing_fits(ledger(gpu.name)):
            break
    assert full, "the DGX was not full in the end"
    held = allocated(api.objects(RESOURCE_CLAIMS))
    running = {item["metadata"]["name"] for item in api.objects(PODS) if item["status"].get("phase") == "Running"}
    assert running == held

    # Those that wait go first: of one that gets devices now and goes while it is bound, kube-scheduler takes back the
    # reservation alone, and leaves its claim allocated for the next user (Unreserve in dynamicresources.go).
    waiting = [item["metadata"]["name"] for item in api.objects(PODS) if not _running(item)]
    for names in (waiting, sorted(running)):
        for name in names:
            api.delete(PODS, name)
        api.wait_gone(PODS, names)
    api.wait_all(RESOURCE_CLAIMS, lambda claims: allocated(claims) == set(), what="free")
    assert ledger(gpu.name).used() == {}


@pytest.mark.long
def test_churn_gives_back_what_it_took(
    api: Api, gpus: StartGpus, ledger: OpenLedger, allocated: Allocated, node: str
) -> None:
    """Pods come and go in random order while others wait for their places; nobody is forgotten, nothing leaks."""
    gpu = gpus("a100-40gb", nodes=[node], gpus=2)
    choose = random.Random(7)
    names = [f"churn-{index}" for index in range(28)]
    for name, profile in zip(names, choose.choices(PROFILES, WEIGHTS, k=len(names)), strict=True):
        api.create(gpu.partitions(name, profile), pod(name, name))
    done: set[str] = set()
    while len(done) < len(names):
        pods = api.wait_all(PODS, lambda seen: any(map(_running, seen)), what="running", timeout=60)
        ledger(gpu.name).check()
        finished = [item["metadata"]["name"] for item in pods if _running(item)]
        chosen = choose.sample(finished, k=max(1, len(finished) // 2))
        for name in chosen:
            api.delete(PODS, name)
        api.wait_gone(PODS, chosen)
        done |= set(chosen)
    api.wait_all(RESOURCE_CLAIMS, lambda claims: allocated(claims) == set(), what="free")


def _running(item: dict[str, Any]) -> bool:
    return bool(item["status"].get("phase") == "Running" and not item["metadata"].get("deletionTimestamp"))


def _decided(item: dict[str, Any]) -> bool:
    return _running(item) or is_unschedulable(item)


def _nothing_fits(account: Ledger) -> bool:
    """Whether no partition that the test asks for, on any GPU, has all the counters that it needs."""
    used = account.used()
    for (pool, name), device in account.devices.items():
        profile = device["attributes"].get("profile", {}).get("string")
        if profile not in PROFILES or (pool, name) in account.holders:
            continue
        needs = account.consumption(pool, name)
        if all(used[counter] + amount <= account.available[counter] for counter, amount in needs.items()):
            return False
    return True
