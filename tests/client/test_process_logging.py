"""All ``run`` commands log alike: levels, times, and JSON for whoever collects logs."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from drakit_client.processes.process_logging import logs_as


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@click.command()
@logs_as("driver")
@click.argument("ending", default="")
def _run(ending: str) -> None:
    logging.getLogger("driver").info("ready on %s", "node-1")
    for level in (logging.DEBUG, logging.INFO, logging.WARNING):
        logging.getLogger("drakit_driver.part").log(level, "a part")
    for library in ("asyncio", "grpc._cython.cygrpc"):
        logging.getLogger(library).debug("a step of its own")
    if ending == "crash":
        logging.getLogger("driver").exception("it broke", exc_info=ValueError("why"))
    if ending == "usage":
        raise click.UsageError("no such thing")
    if ending:
        raise click.ClickException("first line\nsecond line")


def _lines(*arguments: str) -> list[str]:
    return CliRunner().invoke(_run, arguments).stderr.splitlines()


def test_a_line_has_time_level_and_component() -> None:
    first, second = _lines()
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    assert re.fullmatch(rf"{time} INFO    driver: ready on node-1", first)
    assert re.fullmatch(rf"{time} WARNING drakit_driver\.part: a part", second)


@pytest.mark.parametrize(("option", "lines"), [([], 2), (["-v"], 3), (["-vv"], 4), (["-vvv"], 4)])
def test_verbose_adds_levels(option: list[str], lines: int) -> None:
    assert len(_lines(*option)) == lines


def test_in_json_every_line_is_an_object_also_the_error_that_ends_it() -> None:
    result = CliRunner().invoke(_run, ["--log-format", "json", "crash"])
    objects = [json.loads(line) for line in result.stderr.splitlines()]
    assert result.exit_code == 1
    assert [(each["level"], each["logger"]) for each in objects] == [
        ("info", "driver"),
        ("warning", "drakit_driver.part"),
        ("error", "driver"),
        ("error", "driver"),
    ]
    assert "ValueError: why" in objects[2]["error"]
    assert objects[3]["msg"] == "first line\nsecond line"
    assert all(set(each) <= {"ts", "level", "logger", "msg", "error"} for each in objects)


@pytest.mark.parametrize(
    ("arguments", "status"), [(["usage"], 2), (["--log-format", "json", "usage"], 2), (["end"], 1)]
)
def test_errors_end_it_with_their_own_status(arguments: list[str], status: int) -> None:
    assert CliRunner().invoke(_run, arguments).exit_code == status
