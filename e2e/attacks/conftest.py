"""The cluster that is attacked, and how long and by which seed."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Iterator

import pytest

from drakit_kind.cluster import ClusterSpec
from drakit_kind.clusters.api import Api
from drakit_kind.testing.reported import reported
from drakit_kind.testing.session_clusters import StartedCluster
from e2e.attacks.victim import Victim

_SEED: pytest.StashKey[int] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """How to repeat an attack, and how long the random ones go on."""
    group = parser.getgroup("attacks")
    group.addoption("--attack-seed", type=int, help="repeat the random attacks of the run that printed this number")
    group.addoption("--attack-seconds", type=float, default=2.0, help="how long each random attack lasts (default: 2)")


def pytest_configure(config: pytest.Config) -> None:
    """One seed for the whole run, also where workers of pytest-xdist share it."""
    chosen: int | None = config.getoption("--attack-seed")
    drawn = getattr(config, "workerinput", {}).get("attack_seed")
    config.stash[_SEED] = next(seed for seed in (chosen, drawn, secrets.randbelow(2**32)) if seed is not None)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: pytest.Session) -> None:
    """Tell a worker of pytest-xdist the seed."""
    node.workerinput["attack_seed"] = node.config.stash[_SEED]  # type: ignore[attr-defined]


def pytest_report_header(config: pytest.Config) -> str:
    """Say how to repeat this run."""
    return f"attacks: --attack-seed {config.stash[_SEED]}"


@pytest.fixture
def attack_random(request: pytest.FixtureRequest) -> random.Random:
    """Random choices of this story, the same for the same seed."""
    return random.Random(f"{request.config.stash[_SEED]} {request.node.nodeid}")


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> Callable[[], Iterator[int]]:
    """Count the rounds of a random attack for as long as it lasts, and at least one."""
    seconds: float = request.config.getoption("--attack-seconds")

    def numbers() -> Iterator[int]:
        end, number = time.monotonic() + seconds, 0
        while number == 0 or time.monotonic() < end:
            yield number
            number += 1

    return numbers


@pytest.fixture
def victim(request: pytest.FixtureRequest, start_cluster: Callable[[ClusterSpec], StartedCluster]) -> Iterator[Victim]:
    """An embedded cluster with two nodes and a MIG driver, which must be unharmed when the story is over."""
    cluster = start_cluster(ClusterSpec(name="victim", nodes=["node-1", "node-2"]))
    with Api(cluster.kubeconfig) as api:
        victim = Victim(cluster, api)
        try:
            with reported(request.node, cluster, api, [victim.driver]):
                victim.driver.start()
                yield victim
                victim.must_be_unharmed()
        finally:
            victim.driver.stop()
            cluster.stop()
