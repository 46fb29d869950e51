"""What differs from server to server in texts: numbers, names and addresses that it has chosen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
UUID = re.compile(rf"\b{_UUID}\b")
_SCRUBBED: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"(does not match the ResourceVersion in record \(|too old resource version: \S+ \("
            r"|Too large resource version: \S+, current: )\d+"
        ),
        r"\1<rv>",
    ),
    (re.compile(r'Invalid value: "\{\\"apiVersion\\"(?:[^"\\]|\\.)*"'), "Invalid value: <dump>"),
    (re.compile(r"(resourceVersion|resource version)([^0-9]{1,4})\d+", re.IGNORECASE), r"\1\2<rv>"),
    # Objects that are shown as they are, as texts in texts.
    (re.compile(r'((?:creationTimestamp|lastTransitionTime|\btime)\\*":\\*")[^"\\]*'), r"\1<time>"),
    (re.compile(r'(resourceVersion\\*":\\*")\d+'), r"\1<rv>"),
    (re.compile(r"(not decodable revision=)\d+"), r"\1<rv>"),
    (UUID, "<uid>"),
    (re.compile(r"selfType\d+"), "selfType"),
)


def mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Copy a value with each text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: mapped(item, change) for key, item in value.items()}
    return [mapped(item, change) for item in value] if isinstance(value, list) else value


def scrubbed(text: str, generated: Iterable[str] = ()) -> str:
    """Replace what a server has chosen; ``generated`` are the beginnings of names that it has completed."""
    for prefix in generated:
        text = re.sub(rf"\b{re.escape(prefix)}[a-z0-9]{{5}}\b", f"{prefix}<random>", text)
    for pattern, replacement in _SCRUBBED:
        text = pattern.sub(replacement, text)
    return text
