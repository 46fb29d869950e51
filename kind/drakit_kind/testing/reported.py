"""What a test uses of a cluster, so that the report of its failure can tell what was going on there.

The plugin's own fixtures say it for tests of the shared cluster. A fixture that starts a cluster says it for its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from drakit_kind.testing.settings.values import path

if TYPE_CHECKING:  # the plugin is in every pytest of the environment
    from drakit_kind.cluster import Driver
    from drakit_kind.clusters.api import Api
    from drakit_kind.clusters.lifecycle import Cluster

Sections = list[tuple[str, str]]


@dataclass(frozen=True)
class _Used:
    cluster: Cluster
    api: Api
    drivers: Sequence[Driver]


_USED: pytest.StashKey[list[_Used]] = pytest.StashKey()
_SEEN_AT_TEARDOWN: pytest.StashKey[Sections] = pytest.StashKey()


@contextmanager
def reported(item: pytest.Item, cluster: Cluster, api: Api, drivers: Sequence[Driver] = ()) -> Iterator[None]:
    """Let a failure of the test tell of all this until the end of the block, which has to be that of a fixture.

    ``item`` is the fixture's ``request.node``; ``drivers`` may grow meanwhile.
    """
    stack = item.stash.setdefault(_USED, [])
    used = _Used(cluster, api, drivers)
    stack.append(used)
    try:
        yield
    finally:
        stack.remove(used)


def teardown_failure(
    item: pytest.Item, cluster: Cluster, api: Api, drivers: Sequence[Driver] = ()
) -> Callable[..., None]:
    """Make the last callback of a teardown, for ``ExitStack.push``: if the teardown fails, it records what is left.

    When pytest reports the failure, the test's objects are gone.
    """

    def look(kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Exception):
            item.stash[_SEEN_AT_TEARDOWN] = _look(item, "teardown", [_Used(cluster, api, drivers)])

    return look


def evidence(item: pytest.Item, when: str) -> Sections:
    """Return objects, events and logs of all that the test used when it failed: titles and texts. Never raises.

    All of the logs go to ``--drakit-keep-logs``: into a directory for the test, in it one for ``when`` it failed
    (setup, call, teardown), and there one for each cluster.
    """
    if when == "teardown":
        return item.stash.get(_SEEN_AT_TEARDOWN, [])
    used: list[_Used] = item.stash.get(_USED, [])
    return _look(item, when, used)


def _look(item: pytest.Item, when: str, everything: Sequence[_Used]) -> Sections:
    from drakit_kind.clusters.evidence import file_name, gather

    keep = path(item.config, "keep-logs")
    if keep is not None:
        keep = keep / file_name(item.nodeid) / when
    return [
        section
        for number, used in enumerate(everything, start=1)
        for section in gather(used.api, used.cluster, used.drivers, keep=keep / str(number) if keep else None)
    ]
