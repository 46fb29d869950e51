"""What all unit tests share."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from e2e.heard_signals import signals_heard

__all__ = ["signals_heard"]

_BOUND = 30.0


@pytest.fixture(autouse=True)
def _no_garbage(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test leaves is collected at its end: if something was left open, it is told as this test's fault.

    What is there then is not looked through again, so that nobody else's garbage is work in the middle of a test.
    """
    yield
    vars(request.node).get("funcargs", {}).clear()
    gc.collect()
    gc.freeze()


async def _until(condition: Callable[[], Any], what: str = "", bound: float = _BOUND) -> Any:
    """The first true result of a condition, which may be a coroutine function."""
    try:
        async with asyncio.timeout(bound):
            while True:
                result = condition()
                if isinstance(result, Awaitable):
                    result = await result
                if result:
                    return result
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"not within {bound} s: {what or condition}") from None


@pytest.fixture
def until() -> Callable[..., Awaitable[Any]]:
    """Wait for a condition, with a bound."""
    return _until


def pytest_configure(config: pytest.Config) -> None:
    """What the order of the tests follows, and what keeps `make check` quick."""
    config.pluginmanager.import_plugin("tests.slow_marks")
    config.addinivalue_line("markers", "long: begins early, as it would hold up the end of all")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first: as the last of all it would leave the other workers nothing to do."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have measured and want to be read: ``record_property("summary", text)``."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, ())]
    for report in reports:
        for name, text in getattr(report, "user_properties", ()):
            if name == "summary":
                terminalreporter.write_line(text)
