"""Which reflectors are shared, and which end with their kind."""

from __future__ import annotations

import asyncio

import pytest

from drakit_client.connection import Connection
from drakit_client.resources import PODS, Resource
from drakit_embedded.controllers.informers import Informers

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")


@pytest.fixture
def informers() -> Informers:
    return Informers(Connection("http://nobody.invalid"))


def test_a_reflector_that_somebody_relies_on_is_not_ended(informers: Informers) -> None:
    before, later = informers.reflector(PODS), informers.passing(WIDGETS)
    assert informers.passing(PODS) is before
    assert informers.reflector(WIDGETS) is later
    for resource, reflector in ((PODS, before), (WIDGETS, later)):
        informers.stop(resource)
        assert informers.passing(resource) is reflector


def test_the_reflector_of_a_kind_that_is_withdrawn_is_another_when_the_kind_comes_back(informers: Informers) -> None:
    before = informers.passing(WIDGETS)
    informers.stop(WIDGETS)
    informers.stop(WIDGETS)
    assert informers.passing(WIDGETS) is not before


async def test_a_reflector_that_is_ended_asks_the_server_no_more(informers: Informers) -> None:
    informers.reflector(PODS)
    running = asyncio.create_task(informers.run())
    await asyncio.sleep(0)
    others = asyncio.all_tasks()
    informers.passing(WIDGETS)
    (follows,) = asyncio.all_tasks() - others
    informers.stop(WIDGETS)
    await asyncio.wait([follows], timeout=30)
    assert follows.cancelled()
    assert not running.done()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await informers.connection.close()
