"""All profiles: the files of drakit's own folder, and what installed distributions bring.

A distribution names a module with the functions of ``ProfileModule``, or a package whose files are read like those of
drakit's own folder, as an entry point of the group ``drakit.profiles``. Nothing that somebody brings may take away
what others have: what cannot be read is left out and told, and a name that two sources give is nobody's.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import metadata
from types import ModuleType

from drakit_driver.profiles.reading.folder import Source, read, reason, sources_of
from drakit_driver.profiles.reading.profile import Profile, ProfileModule

GROUP = "drakit.profiles"


@dataclass(frozen=True, slots=True)
class Found:
    """Profiles by name, who makes each, and what is wrong with the others.

    ``problems`` has a line for each source that could not be read; ``clashes`` one for each name that is given twice.
    """

    profiles: dict[str, Profile]
    makers: dict[str, ProfileModule]
    problems: list[str]
    clashes: dict[str, str]


@functools.cache
def found() -> Found:
    """Return what there is in this installation; looked for once in a process."""
    from drakit_driver import profiles

    return gathered([*_own(profiles), *_brought()])


def gathered(sources: list[Source]) -> Found:
    """Return the profiles of all sources, without those whose names clash."""
    result = Found({}, {}, [source.problem for source in sources if source.problem], {})
    origins: dict[str, list[str]] = {}
    for source in sources:
        for profile in source.profiles:
            origins.setdefault(profile.name, []).append(source.origin)
            result.profiles[profile.name] = replace(profile, source=source.origin)
            assert source.maker is not None
            result.makers[profile.name] = source.maker
    for name, given in origins.items():
        if len(given) > 1:
            text = f'profile "{name}" is given by {" and by ".join(given)}; rename or remove one'
            result.clashes[name] = text
            del result.profiles[name], result.makers[name]
    return result


def _own(package: ModuleType) -> Iterator[Source]:
    return sources_of(package, "")


def _brought() -> Iterator[Source]:
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda each: each.dist.name if each.dist else ""):
        by = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        try:
            loaded = point.load()
        except Exception as error:  # whatever another distribution does when it is imported
            yield Source(by, problem=f'{by}: entry point {point.name} = "{point.value}": {reason(error)}')
            continue
        if isinstance(loaded, ModuleType) and hasattr(loaded, "__path__") and not hasattr(loaded, "profiles"):
            yield from sources_of(loaded, by)
        else:
            yield read(loaded, f"{point.value} of {by}")
