"""A folder of profiles: each YAML file is a GPU or a machine of GPUs, each module has the two functions.

What cannot be read is a line that names the file, what is wrong in it, and a way out.
"""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from drakit_api.layouts.fields import subdomain
from drakit_api.layouts.pools import PoolError
from drakit_driver.profiles.reading import gpu_boards
from drakit_driver.profiles.reading.profile import Profile, ProfileModule

_WAY_OUT = "correct it, or remove it; CONTRIBUTING.md says how a profile is added"
_FUNCTIONS = ("profiles", "pools")


@dataclass(frozen=True, slots=True)
class Source:
    """What was found in one file or entry point: profiles and who makes their pools, or a problem."""

    origin: str
    profiles: list[Profile] = field(default_factory=list)
    maker: ProfileModule | None = None
    problem: str = ""


def sources_of(package: ModuleType, by: str) -> Iterator[Source]:
    """Yield what the files of a package's folder bring; ``by`` names the distribution, unless it is drakit."""
    folder = Path(package.__path__[0])
    yield from files(folder, by)
    for path in sorted(folder.glob("*.py")):
        if not path.stem.startswith("_"):
            yield _module(f"{package.__name__}.{path.stem}", _origin(path, by))


def files(folder: Path, by: str) -> Iterator[Source]:
    """Yield what the YAML files of a folder bring: GPUs, then machines, each sorted by name."""
    origins = {path.stem: _origin(path, by) for path in sorted(folder.glob("*.yaml"))}
    boards: dict[str, gpu_boards.Board] = {}
    broken: list[Source] = []
    machines: dict[str, gpu_boards.Machine] = {}
    for name, origin in origins.items():
        try:
            subdomain(name)
            content = gpu_boards.read(folder / f"{name}.yaml")
        except (PoolError, ValueError) as error:
            broken.append(_broken(origin, str(error)))
            continue
        if isinstance(content, gpu_boards.Machine):
            machines[name] = content
        else:
            boards[name] = content
    for name, board in boards.items():
        yield read(gpu_boards.Gpus(name, board, board.gpus), origins[name])
    for name, machine in machines.items():
        yield _machine(name, machine, boards, origins[name])
    yield from broken


def read(module: Any, origin: str) -> Source:
    """Return what a module, or what else has the two functions, brings."""
    for name in _FUNCTIONS:
        if not callable(getattr(module, name, None)):
            return _broken(origin, f"has no function {name}()")
    try:
        profiles = [_checked(each) for each in cast(Callable[[], Any], module.profiles)()]
    except Exception as error:  # whatever the code of others raises
        return _broken(origin, f"profiles(): {reason(error)}")
    return Source(origin, profiles, cast(ProfileModule, module))


def reason(error: BaseException) -> str:
    """Return what was raised and, of the code of others, in which line."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in line {frames[-1].lineno} of {frames[-1].filename}" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _checked(profile: Any) -> Profile:
    if not isinstance(profile, Profile):
        raise TypeError(f"{profile!r} is no Profile")
    subdomain(profile.name)
    subdomain(profile.driver)
    if profile.nodes < 1:
        raise ValueError(f"{profile.name}: nodes: must be at least 1, not {profile.nodes}")
    return profile


def _module(name: str, origin: str) -> Source:
    try:
        return read(importlib.import_module(name), origin)
    except Exception as error:  # whatever a module does when it is imported
        return _broken(origin, reason(error))


def _machine(name: str, machine: gpu_boards.Machine, boards: dict[str, gpu_boards.Board], origin: str) -> Source:
    board = boards.get(machine.gpu)
    if board is None:
        known = ", ".join(boards) or "none"
        return _broken(origin, f'gpu: there is no file "{machine.gpu}.yaml" of a GPU beside it; there are {known}')
    return read(gpu_boards.Gpus(name, board, machine.gpus, machine.summary), origin)


def _origin(path: Path, by: str) -> str:
    return f"{path.name} of {by}" if by else path.name


def _broken(origin: str, error: str) -> Source:
    return Source(origin, problem=f"{origin}: {error}; {_WAY_OUT}")
