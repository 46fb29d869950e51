"""What was going on in a cluster that a test has for itself, for the report of its failure.

drakit's pytest plugin tells it of its own fixtures only. A ``conftest.py`` that has such tests imports the hook.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from drakit_kind.api import Api
from drakit_kind.cluster import Cluster, Driver
from drakit_kind.evidence import gather


@dataclass(frozen=True)
class _Used:
    api: Api
    cluster: Cluster
    drivers: Sequence[Driver]


_USED: pytest.StashKey[_Used] = pytest.StashKey()


@contextmanager
def reported(item: pytest.Item, cluster: Cluster, api: Api, drivers: Sequence[Driver] = ()) -> Iterator[None]:
    """Until the end of the block, which has to be that of a fixture, a failure of the test tells of all this.

    ``drivers`` may grow meanwhile.
    """
    item.stash[_USED] = _Used(api, cluster, drivers)
    try:
        yield
    finally:
        del item.stash[_USED]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add it to the report of a test, or of its setup, that failed, while its cluster still has it."""
    report = yield
    used = item.stash.get(_USED, None)
    if report.failed and used is not None:
        report.sections += gather(used.api, used.cluster, used.drivers)
    return report
