"""How all ``drakit ... run`` commands log: one format, one set of options, one place.

Logs go to stderr, a line each, with the time in UTC. What a command is asked to print (a token, a URL) goes to stdout.
"""

from __future__ import annotations

import functools
import json
import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

import click

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
# Libraries whose DEBUG messages are about their own internals.
_TALKATIVE = ("asyncio", "grpc")

F = TypeVar("F", bound=Callable[..., Any])


def logs_as(component: str) -> Callable[[F], F]:
    """Decorate a command: it gets ``--verbose`` and ``--log-format``, and logging is set up before it is called.

    Changes of state that every user should see go to ``logging.getLogger(component)``, whose level is INFO. Everything
    else is logged from WARNING, with ``-v`` from INFO, with ``-vv`` from DEBUG, but of talkative libraries. With JSON
    the error that ends the command is a line of the log as well.
    """

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def run(*arguments: Any, verbose: int, log_format: str, **options: Any) -> Any:
            set_up(component, verbose, log_format)
            try:
                return command(*arguments, **options)
            except click.UsageError:
                raise
            except click.ClickException as error:
                if log_format != "json":
                    raise
                logging.getLogger(component).error("%s", error.message)
                raise SystemExit(error.exit_code) from None

        for option in (_VERBOSE, _FORMAT):
            run = option(run)
        return run  # type: ignore[return-value]

    return decorate


_VERBOSE = click.option(
    "-v", "--verbose", count=True, help="Log more; -vv for everything, such as each request that failed."
)
_FORMAT = click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the log on stderr; json: one object a line, with ts, level, logger and msg.",
)


def set_up(component: str, verbose: int, form: str) -> None:
    """Log to stderr as text or JSON; replaces what was set up before."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Json() if form == "json" else TextFormatter())
    level = _LEVELS[min(verbose, len(_LEVELS) - 1)]
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger(component).setLevel(min(level, logging.INFO))
    for library in _TALKATIVE:
        logging.getLogger(library).setLevel(max(level, logging.INFO))


def _timestamp(record: logging.LogRecord) -> str:
    """Return the time in RFC 3339, UTC, with milliseconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"


class TextFormatter(logging.Formatter):
    """A line each: time, level, logger and message."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """Print the time in UTC."""
        return _timestamp(record)


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)
