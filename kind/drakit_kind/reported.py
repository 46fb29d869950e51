"""What a test uses of a cluster, so that the report of its failure can tell what was going on there.

The plugin's own fixtures say it for tests of the shared cluster. A fixture that starts a cluster says it for its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the plugin is in every pytest of the environment
    from drakit_kind.api import Api
    from drakit_kind.cluster import Cluster, Driver

Sections = list[tuple[str, str]]


@dataclass(frozen=True)
class _Used:
    cluster: Cluster
    api: Api
    drivers: Sequence[Driver]


_USED: pytest.StashKey[list[_Used]] = pytest.StashKey()


@contextmanager
def reported(item: pytest.Item, cluster: Cluster, api: Api, drivers: Sequence[Driver] = ()) -> Iterator[None]:
    """Until the end of the block, which has to be that of a fixture, a failure of the test tells of all this.

    ``item`` is the fixture's ``request.node``; ``drivers`` may grow meanwhile.
    """
    stack = item.stash.setdefault(_USED, [])
    used = _Used(cluster, api, drivers)
    stack.append(used)
    try:
        yield
    finally:
        stack.remove(used)


def evidence(item: pytest.Item) -> Sections:
    """Objects, events and logs of all that the test uses now: titles and texts. Never raises."""
    used = item.stash.get(_USED, [])
    if not used:
        return []
    from drakit_kind.evidence import gather

    return [section for each in used for section in gather(each.api, each.cluster, each.drivers)]
