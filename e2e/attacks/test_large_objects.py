"""Objects that are too large for etcd: refused as a real cluster refuses them, and no harm to anybody who watches.

Before there was a limit, one such object ended the controllers and the scheduler, and did so again after a restart.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from drakit_client.errors import ApiError
from drakit_client.resources import DEPLOYMENTS, PODS, Resource
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.manifests import pod
from e2e.attacks.victim import Victim

_LABELS = 2000
_REVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision")
TOO_LARGE = r"etcdserver: request is too large|trying to send message larger than max|Request entity too large"


def test_a_pod_that_grows_by_its_defaults(victim: Victim) -> None:
    """3 MB that were 13 MB in each line of a watch."""
    large = pod("large")
    large["spec"]["containers"] = [{"name": f"c{number}", "image": "i"} for number in range(30_000)]
    with pytest.raises(ApiError, match=TOO_LARGE):
        victim.api.create(large)
    assert victim.api.find(PODS, "large") is None


def test_labels_that_are_patched_until_there_is_no_more_room(victim: Victim) -> None:
    victim.api.create(pod("labelled", nodeSelector={"no": "node"}))
    with pytest.raises(ApiError, match=TOO_LARGE):
        _label_without_end(victim.api, "labelled")
    labels = victim.api.get(PODS, "labelled")["metadata"]["labels"]
    assert len(labels) % _LABELS == 0, "a patch that is refused changes nothing"


def _label_without_end(api: Api, name: str) -> None:
    for turn in range(60):
        labels = {f"example.com/{turn:02}-{number:04}": "x" * 63 for number in range(_LABELS)}
        api.patch(PODS, name, {"metadata": {"labels": labels}})


def test_an_object_whose_json_is_six_times_as_long(victim: Victim) -> None:
    """1.4 MB of control characters, which etcd takes, are over 8 MB in each line of a watch, also of a real server."""
    labels = {"app": "long"}
    container = {"name": "c", "image": "i", "args": ["-"]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    victim.api.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "long"}, "spec": spec})
    for _ in range(4):
        add = {"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "\x01" * 350_000}
        victim.api.patch(DEPLOYMENTS, "long", [add], patch_type="json")
    template = victim.api.get(DEPLOYMENTS, "long")["spec"]["template"]
    assert sum(map(len, template["spec"]["containers"][0]["args"])) == 1 + 1_400_000


def test_objects_of_random_sizes_around_the_limits(
    victim: Victim, attack_random: random.Random, rounds: Callable[[], Iterator[int]]
) -> None:
    """Whoever watches meanwhile goes on, whatever was stored and whatever was not."""
    for number in rounds():
        size = attack_random.choice((1_000_000, 1_572_864, 2_097_152, 2_900_000)) - attack_random.randrange(2000)
        metadata = {"name": f"revision-{number}"}
        revision = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata, "revision": 1}
        if _is_taken(victim.api, {**revision, "data": {"a": "x" * size}}):
            assert size < 1_572_864
        else:
            assert size > 1_570_000


def _is_taken(api: Api, obj: dict[str, object]) -> bool:
    try:
        api.create(obj, resource=_REVISIONS)
    except ApiError as error:
        if error.code != 500:
            raise
        return False
    return True
