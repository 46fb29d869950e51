"""Doing things at once so that nothing goes on unnoticed when one of them fails or is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def in_thread(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Run a blocking function in a thread, to its end also when this is cancelled.

    A thread cannot be stopped, and what it does to the machine must not happen after it was undone.
    """
    loop = asyncio.get_running_loop()
    running = loop.run_in_executor(None, partial(function, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


async def first_of(*work: Coroutine[Any, Any, object]) -> None:
    """Run all at once until one of them ends; the others are cancelled, and have ended when this returns.

    What the one that ended has raised is raised, or what others raise as they are cancelled.
    """
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled():
            task.result()


async def together(*work: Coroutine[Any, Any, None]) -> None:
    """Run all at once; the first failure cancels the others, and is raised when they have ended."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
