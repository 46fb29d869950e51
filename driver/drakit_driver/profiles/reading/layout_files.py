"""An author's layout file as a profile.

YAML is read more strictly than its own rules ask for: a key that is given twice would silently lose its first value,
and with it, say, the counters that a device consumes.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import yaml

from drakit_api.layouts import layout
from drakit_api.layouts.pools import Pool, PoolError

_MERGE_TAG = "tag:yaml.org,2002:merge"


class _Loader(yaml.CSafeLoader):
    """Safe loading that refuses a key given twice in one object."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag == _MERGE_TAG or not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f'"{key.value}" is given twice in one object', key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_STDIN = Path("-")


def documents(path: Path) -> list[Any]:
    """Read the YAML (or JSON) documents of a file, or of standard input if it is ``-``. Raises ``PoolError``."""
    place = "standard input" if path == _STDIN else str(path)
    try:
        text = sys.stdin.buffer.read().decode() if path == _STDIN else path.read_text(encoding="utf-8")
        return list(yaml.load_all(text, Loader=_Loader))
    except OSError as error:
        raise PoolError([f"{place}: {error.strerror}"]) from None
    except UnicodeDecodeError as error:
        raise PoolError([f"{place}: not UTF-8 at byte {error.start}"]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise PoolError([f"{place}{where}: {error.problem or error.context}"]) from None
    except yaml.YAMLError as error:
        raise PoolError([f"{place}: {error}"]) from None


def load_layout(path: Path, *, driver: str | None = None, nodes: Sequence[str] = ()) -> list[Pool]:
    """Read the pools of a layout file (``docs/layouts.md``), mixins and all.

    ``driver`` replaces the driver that the layout names; a layout that does not say where its devices are becomes a
    pool for each of ``nodes``. Raises ``PoolError`` with every error in the file, a line each.
    """
    try:
        return layout.pools(documents(path), driver=driver, node_names=nodes)
    except RecursionError:
        raise PoolError([f"{path}: nested too deeply"]) from None
