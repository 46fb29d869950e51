"""Reading a layout strictly: every field known, every error found, each with the place and the right spelling.

A layout that is read leniently is worse than one that is refused: a misspelled ``consumesCounters`` would publish a
partition that takes nothing from its GPU and can be allocated next to everything. So a layout is read against shapes,
functions that check a value, report to ``Problems`` and return it in canonical form. Common slips are reported with
the spelling that was meant and read as if they had been written so, to not hide what else is wrong.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from drakit_api.objects.value_names import value_name

Shape = Callable[[Any, "Place", "Problems"], Any]
# Returned by a shape for a value that it could not read.
UNREADABLE: Final = object()


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a layout a value stands: the object it belongs to, the path as written, and as it should be."""

    subject: str = ""
    written: str = ""
    meant: str = ""
    slips: tuple[str, ...] = ()  # wrong spellings on the way here

    def field(self, written: str, meant: str | None = None) -> Place:
        """Return the place of a field in the value here; ``meant`` is its name, where ``written`` is a wrong one."""
        return replace(self, written=_join(self.written, written), meant=_join(self.meant, meant or written))

    def item(self, key: object) -> Place:
        """Return the place of a list item or map value, by index or key."""
        return replace(self, written=f"{self.written}[{key}]", meant=f"{self.meant}[{key}]")

    def of(self, subject: str) -> Place:
        """Return the place of a named object, whose name says more than its path."""
        return Place(subject)

    def __str__(self) -> str:
        return ": ".join(part for part in (self.subject, self.written) if part)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


@dataclass(slots=True)
class Problems:
    """The errors found so far, in the order of the layout."""

    _lines: dict[object, list[str]] = field(default_factory=dict)
    renames: int = 0

    def add(self, place: Place, message: str) -> None:
        """Report one error."""
        self._lines[len(self._lines)] = [_join_message(place, message)]

    def slip(self, place: Place, message: str, kind: tuple[str, ...]) -> None:
        """Report a wrong spelling.

        The same ``kind`` of slip again is counted rather than repeated, unless other slips on the way to it differ:
        those would go unseen.
        """
        self._lines.setdefault((place.slips, kind), []).append(_join_message(place, message))

    def rename(self, place: Place, written: str, meant: str) -> None:
        """Report a field under a wrong name; ``place`` says the whole path as it should be."""
        self.renames += 1
        self.slip(place, f"not a field; write {place.meant}", ("field", written, meant))

    def lines(self) -> list[str]:
        """List the errors, a line each."""
        return [
            lines[0] if len(lines) == 1 else f"{lines[0]} (and in {len(lines) - 1} more places)"
            for lines in self._lines.values()
        ]


def _join_message(place: Place, message: str) -> str:
    where = str(place)
    return f"{where}: {message}" if where else message


def type_name(value: object) -> str:
    """Return what a value is called, with an article: ``a list``, ``an object``, ``nothing``."""
    name = "nothing" if value is None else value_name(value)
    articles = {"nothing": "", "object": "an "}
    return articles.get(name, "a ") + name


@dataclass(frozen=True, slots=True)
class Record:
    """An object with known fields.

    ``also``: other spellings that mean the same. ``slips``: spellings that are refused, and what was meant.
    ``hints``: fields that are refused because what they say belongs elsewhere. ``wrappers``: fields whose content
    is read as if it stood in this object, and their canonical name.
    """

    fields: Mapping[str, Shape]
    required: Sequence[str] = ()
    also: Mapping[str, str] = field(default_factory=dict)
    slips: Mapping[str, str] = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)
    wrappers: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, value: Any, place: Place, problems: Problems) -> Any:
        """Read all fields; report unknown, wrong and missing ones. Return UNREADABLE without a required one."""
        if not isinstance(value, dict):
            problems.add(place, f"must be an object with {self._field_list()}, not {type_name(value)}")
            return UNREADABLE
        result: dict[str, Any] = {}
        understood = self._read_fields(value, place, problems, result)
        missing = [name for name in self.required if name not in result]
        if understood:
            for name in missing:
                problems.add(place.field(name), "required")
        result = {name: content for name, content in result.items() if content is not UNREADABLE}
        return UNREADABLE if any(name not in result for name in self.required) else result

    def _read_fields(self, value: dict[Any, Any], place: Place, problems: Problems, result: dict[str, Any]) -> bool:
        """Read all fields into ``result``; False if one was not understood, so that nothing is called missing."""
        understood = True
        for key, content in value.items():
            if content is None:
                continue
            if key in self.wrappers:
                understood &= self._read_wrapper(key, content, place, problems, result)
                continue
            meant = self._meant(str(key), value)
            if meant is None:
                problems.add(place.field(str(key)), f"not a field; {self._known(str(key))}")
                understood = False
            elif meant in result:
                problems.add(place.field(str(key)), f"{meant} is given twice")
            else:
                result[meant] = self._read_field(str(key), meant, content, place, problems)
        return understood

    def _read_wrapper(self, key: str, content: Any, place: Place, problems: Problems, result: dict[str, Any]) -> bool:
        inner = place.field(key, self.wrappers[key])
        if isinstance(content, dict):
            return self._read_fields(content, inner, problems, result)
        problems.add(inner, f"must be an object, not {type_name(content)}")
        return False

    def _read_field(self, key: str, meant: str, content: Any, place: Place, problems: Problems) -> Any:
        inner, before = place.field(key, meant), problems.renames
        right = key in self.fields or key in self.also
        if not right:
            inner = replace(inner, slips=(*place.slips, key))
        read = self.fields[meant](content, inner, problems)
        # A field renamed deeper inside already names the right path to here.
        if not right and problems.renames == before:
            problems.rename(inner, key, meant)
        return read

    def _meant(self, key: str, value: Mapping[Any, Any]) -> str | None:
        """Return the field that a key stands for: itself, another spelling, a known slip, a near miss; None if none."""
        meant = key if key in self.fields else self.also.get(key) or self.slips.get(key)
        if meant is None and key not in self.hints:
            absent = [name for name in self.fields if name not in value]
            meant = next(iter(difflib.get_close_matches(key, absent, n=1, cutoff=0.75)), None)
        return meant

    def _known(self, key: str) -> str:
        return self.hints.get(key) or f"known are {self._field_list()}"

    def _field_list(self) -> str:
        return ", ".join(self.fields)


def table(values: Shape, key: Shape) -> Shape:
    """Make the shape of an object whose keys the author chooses; ``key`` returns one as it should be."""

    def read(value: Any, place: Place, problems: Problems) -> Any:
        if not isinstance(value, dict):
            problems.add(place, f"must be an object, not {type_name(value)}")
            return UNREADABLE
        result = {}
        for name, content in value.items():
            inner = place.item(name)
            right = key(name, inner, problems)
            read_content = values(content, inner, problems)
            if right is not UNREADABLE and read_content is not UNREADABLE:
                result[right] = read_content
        return result

    return read


def sequence(items: Shape, *, subject: str = "", at_most: int | None = None) -> Shape:
    """Make the shape of a list of at most ``at_most`` items; with ``subject`` errors name them: ``device gpu-0``."""

    def read(value: Any, place: Place, problems: Problems) -> Any:
        if not isinstance(value, list):
            problems.add(place, f"must be a list, not {type_name(value)}")
            return UNREADABLE
        if at_most is not None and len(value) > at_most:
            problems.add(place, f"has {len(value)} entries; at most {at_most} are allowed")
        result = []
        for index, content in enumerate(value):
            named = isinstance(content, dict) and isinstance(content.get("name"), str) and subject
            inner = place.of(f"{subject} {content['name']}") if named else place.item(index)
            read_content = items(content, inner, problems)
            if read_content is not UNREADABLE:
                result.append(read_content)
        return result

    return read


def leaf(check: Callable[[Any], Any]) -> Shape:
    """Make the shape of a value that ``check`` returns in canonical form or refuses with a ``ValueError``."""

    def read(value: Any, place: Place, problems: Problems) -> Any:
        try:
            return check(value)
        except ValueError as error:
            problems.add(place, str(error))
            return UNREADABLE

    return read
