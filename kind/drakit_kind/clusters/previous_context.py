"""Which context kubectl uses once a cluster of ours is gone from a kubeconfig.

``drakit cluster up`` makes its context the current one. The one that was current before is noted in an extension of the
new context, where kubectl keeps it, so that ``down`` can go back to it whatever was started and stopped in between.
Other programs' contexts are never changed, only selected again.

Source: client-go, tools/clientcmd/api/v1/types.go (``NamedExtension``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_EXTENSION = "drakit.dev/cluster"

IsRunning = Callable[[Path], bool]


def note(config: dict[str, Any], context: dict[str, Any], directory: Path | None) -> None:
    """Write into ``context``, an entry about to be added to ``config``, where its cluster is and what is current now.

    A cluster that is added again while it is current keeps what was noted before.
    """
    name, current = context["name"], config.get("current-context")
    previous = _noted(config, name).get("previousContext") if current == name else current
    if current != name:
        hand_on(config, name)
    known = {"directory": str(directory) if directory else None, "previousContext": previous}
    if values := {key: value for key, value in known.items() if value}:
        context["context"]["extensions"] = [{"name": _EXTENSION, "extension": values}]


def after_removal(before: dict[str, Any], name: str, is_running: IsRunning) -> str:
    """Return the context to use when ``name``, which was current in ``before``, is gone; "" if there is none.

    It is the one that was current before, or before that one; else another cluster of ours. Clusters of ours that do
    not run are passed over.
    """
    others = [entry["name"] for entry in before.get("contexts") or [] if entry.get("name") not in (None, name)]
    for candidate in _previous(before, name):
        if candidate in others and (_runs(before, candidate, is_running) or not _is_ours(before, candidate)):
            return candidate
    running = [candidate for candidate in others if _runs(before, candidate, is_running)]
    return running[-1] if running else ""


def hand_on(config: dict[str, Any], name: str) -> None:
    """Before ``name`` is removed, let contexts of ours that came after it go back to what was current before it."""
    earlier = _noted(config, name).get("previousContext")
    for entry in config.get("contexts") or []:
        noted = _noted(config, entry.get("name"))
        if noted.get("previousContext") == name:
            del noted["previousContext"]
            if earlier and earlier != entry["name"]:
                noted["previousContext"] = earlier


def _previous(config: dict[str, Any], name: str) -> Iterator[str]:
    """Yield what was current before ``name``, and before that, each once."""
    seen = [name]
    while (earlier := _noted(config, seen[-1]).get("previousContext")) and earlier not in seen:
        seen.append(earlier)
        yield earlier


def _is_ours(config: dict[str, Any], name: str) -> bool:
    return "directory" in _noted(config, name)


def _runs(config: dict[str, Any], name: str, is_running: IsRunning) -> bool:
    return _is_ours(config, name) and is_running(Path(str(_noted(config, name)["directory"])))


def _noted(config: dict[str, Any], name: object) -> dict[str, Any]:
    """Return what ``note`` wrote into a context, to read or to change; nothing for one that is not ours."""
    for entry in config.get("contexts") or []:
        if entry.get("name") == name:
            for extension in (entry.get("context") or {}).get("extensions") or []:
                if extension.get("name") == _EXTENSION and isinstance(extension.get("extension"), dict):
                    noted: dict[str, Any] = extension["extension"]
                    return noted
    return {}
