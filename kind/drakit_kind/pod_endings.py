"""The end of a test's pods: they go before their driver, without which a kubelet cannot end them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the plugin is in every pytest of the environment
    from drakit_kind.api import Api

# Longer than a simulated kubelet takes to end pods, and than a container that ignores SIGTERM.
_GRACE_SECONDS = 40.0
# Of a run that is interrupted, as it often is because a driver does not answer; whoever did it waits a minute at most.
_INTERRUPTED_GRACE_SECONDS = 1.0


def end_pods(session: pytest.Session, api: Api) -> None:
    """Delete all pods of the namespace and wait until they are gone, by force where their driver does not answer."""
    from drakit_client.resources import DEPLOYMENTS, PODS, REPLICA_SETS
    from drakit_kind.api import WaitTimeout

    interrupted = session.exitstatus == pytest.ExitCode.INTERRUPTED
    seconds = _INTERRUPTED_GRACE_SECONDS if interrupted else _GRACE_SECONDS  # times the cluster's patience
    for resource in (DEPLOYMENTS, REPLICA_SETS, PODS):
        for obj in api.objects(resource):
            api.delete(resource, obj["metadata"]["name"])
    try:
        api.wait_all(PODS, lambda pods: not pods, what="gone", timeout=seconds)
    except WaitTimeout:
        # Their driver does not answer, e.g. because the test failed after killing it: do not wait for their kubelet.
        for obj in api.objects(PODS):
            api.delete(PODS, obj["metadata"]["name"], grace_period_seconds=0)
        api.wait_all(PODS, lambda pods: not pods, what="gone", timeout=seconds)
