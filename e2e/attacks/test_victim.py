"""That harm is noticed: a story about the judge, without which the others would show nothing."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest

from drakit_kind.cluster import ClusterSpec
from drakit_kind.clusters.api import Api
from drakit_kind.testing.session_clusters import StartedCluster
from e2e.attacks.victim import Victim

_SECONDS = 10


def test_a_cluster_that_nobody_attacks_is_unharmed(victim: Victim) -> None:
    assert victim.slow_answers(limit=5.0) == []


def test_a_killed_cluster_is_harmed(start_cluster: Callable[[ClusterSpec], StartedCluster]) -> None:
    cluster = start_cluster(ClusterSpec(name="killed", nodes=["node-1"]))
    with Api(cluster.kubeconfig) as api:
        victim = Victim(cluster, api)
        os.kill(victim.pid, signal.SIGKILL)
        end = time.monotonic() + _SECONDS
        while cluster.home.running_pid() is not None:
            assert time.monotonic() < end
            time.sleep(0.01)
        with pytest.raises(AssertionError, match="the cluster has ended"):
            victim.must_be_unharmed()
