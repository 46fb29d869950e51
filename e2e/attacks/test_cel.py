"""Selectors that would take all memory or all time: wherever they are checked and evaluated, they are stopped.

``tests/api/test_cel_budget`` says of each expression what becomes of it; here they reach the API server, which checks
them, and the scheduler, which evaluates them, and both go on.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.errors import ApiError
from drakit_client.resources import PODS
from drakit_kind.clusters.manifests import API_VERSION, claim, pod, request
from e2e.attacks.growing import doubled, growing
from e2e.attacks.victim import Victim

# Of memory that the cluster may need more while it is attacked; the worst expression took gigabytes.
_MEBIBYTES = 400
_DEVICES = 40
# Nearly as expensive as a selector may be: a fifth of a second for each device.
_EXPENSIVE = "lists.range(30000).all(i, device.attributes['attacked.example.com'].uuid != 'x')"
_TEXT = "'" + "a" * 60 + "'"
WORST = {
    "replace, folded": "'a'" + ".replace('', 'aaaaaaaaaa')" * 11 + ".size() > 0",
    "an attribute, replaced by itself": doubled("device.driver", 4, "x.size() > 0", "x.replace('', x)"),
    "a list, doubled and joined": doubled("['']", 40, "x.join() == ''"),
    "a list, doubled and walked": doubled("[[1]]", 20, "[x].flatten(3).all(i, i == 1)"),
    "nested lists": doubled("[1]", 30, "x == x", "[x, x]"),
    "nested types": doubled("[1]", 200, "x.size() > 0", "[x, x]"),
    "findAll": doubled(_TEXT, 12, "x.findAll('a*b|a').size() > 0"),
    "patterns": " || ".join(f"''.matches('\\\\pL{{{number % 15 + 2}}}{number}')" for number in range(300)),
    "optMap": "optional.of(1)" + ".optMap(a, a)" * 40 + ".hasValue()",
    "brackets": "[" * 240 + "1" + "]" * 240 + " == []",
    "signs": "-" * 9000,
}


@pytest.fixture
def victim_of_limited_memory(victim: Victim) -> Iterator[Victim]:
    """The victim, whose process must not have grown much when the story is over."""
    before = _peak(victim)
    yield victim
    assert _peak(victim) - before < _MEBIBYTES


def _peak(victim: Victim) -> int:
    """The most memory that the cluster's process has had, in MiB."""
    status = Path(f"/proc/{victim.cluster.home.running_pid()}/status").read_text()
    (kibibytes,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(kibibytes) // 1024


def attack(victim: Victim, name: str, expression: str) -> None:
    """Have an expression checked by the API server and, if it takes it, evaluated by the scheduler."""
    wanted = victim.gpus.partition("1g.5gb")
    wanted["exactly"]["selectors"] = [{"cel": {"expression": expression}}]
    try:
        victim.api.create(claim(name, wanted))
    except ApiError as error:
        if error.code != 422:
            raise
        return
    victim.api.create(pod(name, name))
    victim.api.wait(PODS, name, _was_looked_at, timeout=60)
    victim.api.delete(PODS, name)


def _was_looked_at(seen: Object) -> bool:
    """Whether the scheduler has tried: the pod has a node, or a condition that says why it has none."""
    return bool(seen["spec"].get("nodeName") or seen["status"].get("conditions"))


def test_the_worst_expressions(victim_of_limited_memory: Victim) -> None:
    for number, expression in enumerate(WORST.values()):
        attack(victim_of_limited_memory, f"worst-{number}", expression)


def test_whatever_grows_by_chance(
    victim_of_limited_memory: Victim, attack_random: random.Random, rounds: Callable[[], Iterator[int]]
) -> None:
    for number in rounds():
        attack(victim_of_limited_memory, f"grows-{number}", growing(attack_random))


def test_others_are_answered_while_expensive_selectors_are_evaluated(victim: Victim) -> None:
    """The scheduler's evaluations take their turns on the event loop that the API server is on, too."""
    devices = [{"name": f"d{number}", "attributes": {"uuid": {"string": f"u{number}"}}} for number in range(_DEVICES)]
    pool = {"name": "attacked", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "attacked.example.com", "nodeName": "node-2", "pool": pool, "devices": devices}
    for kind, name, content in (("ResourceSlice", "attacked", spec), ("DeviceClass", "attacked", {})):
        metadata = {"name": name}
        victim.api.create({"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": content})
    victim.api.create(claim("expensive", request("r", "attacked", _EXPENSIVE)), pod("expensive", "expensive"))
    answered = 0
    while not _was_looked_at(victim.api.get(PODS, "expensive")):
        answered += 1
    # As long as all devices of a node were judged at once, there were one or two. How many fit into a turn depends on
    # what else the machine does.
    assert answered > _DEVICES // 8
