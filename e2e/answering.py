"""Whether a judged driver still answers: asked after a story has failed, so that the others do not wait for a dead one.

A story waits two minutes for its pods in a cluster that is not ours. If the driver is gone, every story does.
"""

from __future__ import annotations

from drakit_api.core.conditions import is_unschedulable
from drakit_api.kubernetes_objects import Object
from drakit_client.errors import UNREACHABLE, ApiError
from drakit_client.resources import PODS, RESOURCE_SLICES
from drakit_kind.clusters.api import Api, WaitTimeout
from e2e.subject import Subject

# Times the cluster's patience.
_SLICES_SECONDS = 3.0
_PREPARE_SECONDS = 8.0
_PROBE = "still-there"
_FAILED = "FailedPrepareDynamicResources"


def silence(subject: Subject, api: Api) -> str:
    """Why the driver does not answer; empty if it does, or if that cannot be told.

    What is made for that stays in the namespace of the story, and goes with it.
    """
    try:
        return _no_slices(subject, api) or _no_device(subject, api)
    except (ApiError, *UNREACHABLE):
        return ""  # It is the API server that does not answer, and the story has said so.


def _no_slices(subject: Subject, api: Api) -> str:
    try:
        api.wait_all(RESOURCE_SLICES, bool, field_selector=subject.own, timeout=_SLICES_SECONDS)
    except WaitTimeout:
        return "it publishes no ResourceSlice any more"
    return ""


def _no_device(subject: Subject, api: Api) -> str:
    """A plain claim is to be prepared; where all devices are in use, those of the story are to be given back.

    A story without pods says nothing about that, whatever it found wrong.
    """
    if not api.objects(PODS):
        return ""
    api.create(subject.claim(_PROBE), subject.pod(_PROBE, _PROBE))
    try:
        pod = api.wait(PODS, _PROBE, _is_decided, timeout=_PREPARE_SECONDS, what="running")
    except WaitTimeout:
        pod = api.get(PODS, _PROBE)
    if not is_unschedulable(pod):
        return _unprepared(api, pod)
    return next(filter(None, (_unprepared(api, each) for each in api.objects(PODS))), "") or _unending(api)


def _unending(api: Api) -> str:
    """Pods that do not end, as a kubelet cannot end one whose devices nobody takes back."""
    for pod in api.objects(PODS):
        api.delete(PODS, pod["metadata"]["name"])
    try:
        api.wait_all(PODS, lambda pods: not pods, timeout=_PREPARE_SECONDS, what="gone")
    except WaitTimeout:
        stuck = [pod["metadata"]["name"] for pod in api.objects(PODS) if pod["spec"].get("nodeName")]
        return f"its devices are not taken back: pod {stuck[0]} does not end" if stuck else ""
    return ""


def _is_decided(pod: Object) -> bool:
    return pod["status"].get("phase") != "Pending" or is_unschedulable(pod)


def _unprepared(api: Api, pod: Object) -> str:
    """What the kubelet says of a pod that should run; empty if that is other things, as of an image it cannot pull."""
    name = pod["metadata"]["name"]
    if not pod["spec"].get("nodeName") or pod["status"].get("phase") != "Pending":
        return ""
    said = api.events(name)
    if failures := [one for one in said if one.startswith(f"{_FAILED}: ")]:
        return f"its devices are not prepared: {failures[-1]}"
    if all(one.startswith("Scheduled: ") for one in said):
        return "its devices are not prepared, and the kubelet waits for it without a word"
    return ""
