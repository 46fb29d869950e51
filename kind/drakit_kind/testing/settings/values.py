"""What is set, and where: the command line counts before the environment, that before pytest's configuration file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from drakit_kind.testing.settings.options import BY_NAME, DEFAULT_BACKEND, OF_KIND, Option

if TYPE_CHECKING:  # the plugin is in every pytest of the environment
    from drakit_kind.clusters.backends import Backend

# pytest-kind has these options too, with the same meaning.
_OF_PYTEST_KIND = {*(option.name for option in OF_KIND), "kind-kubectl-bin"}
_NAMES_OF_PYTEST_KIND = ("pytest-kind", "pytest_kind.plugin")


class Origin(Enum):
    """Where a setting was said. What only a default says gives way to what somebody says for one run."""

    COMMAND_LINE = auto()
    PYTEST_KIND = auto()
    ENVIRONMENT = auto()
    FILE = auto()
    NOWHERE = auto()


@dataclass(frozen=True)
class Setting:
    """A value as the user wrote it, or None; ``said`` is how errors name the place: ``$DRAKIT_CLUSTER``."""

    value: Any
    origin: Origin
    said: str


def backend(config: pytest.Config) -> Backend:
    """Return which kind of cluster the ``cluster`` fixture starts."""
    return cast("Backend", read(config, "cluster").value or DEFAULT_BACKEND)


def text(config: pytest.Config, name: str) -> str | None:
    """Read a setting such as ``cluster`` as text; None if it is not set."""
    value = read(config, name).value
    return None if value is None else str(value)


def number(config: pytest.Config, name: str) -> int | None:
    """Read a setting as a whole number; raise ``pytest.UsageError`` if it is none."""
    setting = read(config, name)
    if setting.value is None:
        return None
    try:
        count = int(setting.value)
    except ValueError:
        raise pytest.UsageError(f"{setting.said}: {setting.value!r} is no whole number") from None
    if count < 0:
        raise pytest.UsageError(f"{setting.said} must be 0 or more, is {count}")
    return count


def path(config: pytest.Config, name: str) -> Path | None:
    """Read a setting as a path: relative to the configuration file if set there, else to where pytest was started."""
    setting = read(config, name)
    if setting.value is None:
        return None
    directory = config.invocation_params.dir
    if setting.origin is Origin.FILE and config.inipath is not None:
        directory = config.inipath.parent
    return directory / str(setting.value)


def read(config: pytest.Config, name: str, environment: Mapping[str, str] = os.environ) -> Setting:
    """Find a setting's value and where it was set; raise ``pytest.UsageError`` if it is not one of the choices."""
    option = BY_NAME[name]
    setting = _first(config, option, environment)
    if option.choices and setting.value is not None and setting.value not in option.choices:
        raise pytest.UsageError(f"{setting.said}: {setting.value!r} is none of {', '.join(option.choices)}")
    return setting


def _first(config: pytest.Config, option: Option, environment: Mapping[str, str]) -> Setting:
    given = config.getoption(option.setting, None)
    if given is not None:
        return Setting(given, Origin.COMMAND_LINE, option.long)
    if option.name in _OF_PYTEST_KIND and any(map(config.pluginmanager.has_plugin, _NAMES_OF_PYTEST_KIND)):
        given = config.getoption(option.short, None)
        if given is not None:
            return Setting(given, Origin.PYTEST_KIND, option.short)
    if given := environment.get(option.variable):
        return Setting(given, Origin.ENVIRONMENT, f"${option.variable}")
    if given := config.getini(option.setting):
        file = config.inipath.name if config.inipath else "-o"
        return Setting(given, Origin.FILE, f"{option.setting} in {file}")
    return Setting(None, Origin.NOWHERE, option.long)
