"""The end of a test's pods: they go before their driver, without which a kubelet cannot end them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # the plugin is in every pytest of the environment
    from drakit_kind.clusters.api import Api

# In a run's ``config.stash``: why it ends early, as the driver that it judges does not answer any more.
NO_ANSWER = pytest.StashKey[str]()
# Longer than a simulated kubelet takes to end pods, and than a container that ignores SIGTERM.
_GRACE_SECONDS = 40.0
# Of a run that is interrupted, as it often is because a driver does not answer; whoever did it waits a minute at most.
_INTERRUPTED_GRACE_SECONDS = 1.0
_NAMESPACES_SECONDS = 60.0  # times the cluster's patience


def end_pods(session: pytest.Session, api: Api) -> None:
    """Delete all pods of the namespace and wait until they are gone, by force where their driver does not answer.

    The namespace is deleted before: in one that ends nobody can make pods anew, be it a Deployment or an operator.
    """
    from drakit_client.resources import NAMESPACES, PODS
    from drakit_kind.clusters.api import WaitTimeout

    is_hopeless = session.exitstatus == pytest.ExitCode.INTERRUPTED or NO_ANSWER in session.config.stash
    seconds = _INTERRUPTED_GRACE_SECONDS if is_hopeless else _GRACE_SECONDS  # times the cluster's patience
    api.delete(NAMESPACES, api.namespace)
    for obj in api.objects(PODS):
        api.delete(PODS, obj["metadata"]["name"])
    try:
        api.wait_all(PODS, lambda pods: not pods, what="gone", timeout=seconds)
    except WaitTimeout:
        # Their driver does not answer, e.g. because the test failed after killing it: do not wait for their kubelet.
        for obj in api.objects(PODS):
            api.delete(PODS, obj["metadata"]["name"], grace_period_seconds=0)
        api.wait_all(PODS, lambda pods: not pods, what="gone", timeout=seconds)


def wait_for_end(api: Api, namespaces: Sequence[str]) -> None:
    """Wait until these namespaces are gone.

    Raises ``WaitTimeout`` that names the pods which are left in them: what the namespace says of itself does not.
    """
    from drakit_client.resources import NAMESPACES, PODS
    from drakit_kind.clusters.api import WaitTimeout

    try:
        api.wait_gone(NAMESPACES, namespaces, timeout=_NAMESPACES_SECONDS)
    except WaitTimeout as error:
        left = [_described(pod) for name in namespaces for pod in api.objects(PODS, name)]
        raise WaitTimeout("\n".join([str(error), *left])) from None


def _described(pod: dict[str, Any]) -> str:
    metadata, phase = pod["metadata"], (pod.get("status") or {}).get("phase")
    asked = metadata.get("deletionTimestamp", "never")
    where = pod["spec"].get("nodeName", "no node")
    return f"pod {metadata['namespace']}/{metadata['name']}: {phase} on {where}, deletion asked for: {asked}"
