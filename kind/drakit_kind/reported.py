"""What a test uses of a cluster, so that the report of its failure can tell what was going on there.

The plugin's own fixtures say it for tests of the shared cluster. A fixture that starts a cluster says it for its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
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


def evidence(item: pytest.Item, when: str) -> Sections:
    """Objects, events and logs of all that the test uses now: titles and texts. Never raises.

    All of the logs go to ``--keep-logs``: into a directory for the test, in it one for ``when`` it failed (setup, call,
    teardown), and there one for each cluster.
    """
    used = item.stash.get(_USED, [])
    return [
        section
        for number, each in enumerate(used, start=1)
        for section in evidence_of(item, when, each.cluster, each.api, each.drivers, number=number)
    ]


def evidence_of(
    item: pytest.Item, when: str, cluster: Cluster, api: Api, drivers: Sequence[Driver], *, number: int = 1
) -> Sections:
    """The same of one cluster, the test's first or another one."""
    from drakit_kind.evidence import file_name, gather

    keep: Path | None = item.config.getoption("--keep-logs", default=None)
    if keep is not None:
        # Of where pytest was started: the test may be elsewhere.
        keep = item.config.invocation_params.dir / keep / file_name(item.nodeid) / when / str(number)
    return gather(api, cluster, drivers, keep=keep)
