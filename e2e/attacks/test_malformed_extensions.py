"""What extends a cluster may be malformed in any way: it is refused or stored, and harms nobody."""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from e2e.attacks import malformed
from e2e.attacks.victim import Victim
from tests.vectors.malformed import stories

# How long others may wait meanwhile: the first write with rules that cost all they may is made in the event loop.
_SECONDS = 3.0
_STORIES = 6 * len(stories.KINDS)


def _tell(victim: Victim, seed: str, part: int, asked: list[malformed.Input]) -> None:
    numbers = range(part * _STORIES, (part + 1) * _STORIES)
    asked += malformed.told(victim.cluster.kubeconfig, seed, numbers)


# A program that converts and does not answer is waited for 30 s, each time.
@pytest.mark.timeout(300)
def test_malformed_definitions_objects_policies_and_webhook_replies(
    victim: Victim, attack_random: random.Random, rounds: Callable[[], Iterator[int]]
) -> None:
    seed = f"attack-{attack_random.randrange(2**32)}"
    asked: list[malformed.Input] = []
    slow: list[float] = []
    for number in rounds():
        attack = functools.partial(_tell, victim, seed, number, asked)
        slow += victim.slow_answers_while(attack, _SECONDS)
        victim.must_be_unharmed()
    assert [each for each in asked if not each.is_answered] == []
    refused = Counter(each.kind for each in asked if each.is_refused)
    assert {"definitions", "objects", "policies"} <= set(refused), f"these were refused: {refused} of {len(asked)}"
    assert slow == [], "others have waited so long"
    log = victim.cluster.logs()
    assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:6000]
