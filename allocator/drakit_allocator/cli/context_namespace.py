"""The namespace that a kubeconfig's context names, as kubectl uses it where nobody says ``-n``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from drakit_client.credentials import kubeconfig

_DEFAULT = "default"


def namespace_of(path: str | Path | None, context: str | None) -> str:
    """Return the namespace of a context; "default" where it names none or the files cannot be read."""
    loaded = [content for file in kubeconfig.files(path) if (content := _content(file))]
    name = context or next((one["current-context"] for one in loaded if one.get("current-context")), None)
    for content in loaded:
        for entry in content.get("contexts") or ():
            if isinstance(entry, dict) and entry.get("name") == name:
                return str((entry.get("context") or {}).get("namespace") or _DEFAULT)
    return _DEFAULT


def _content(file: Path) -> dict[str, Any]:
    # A file that cannot be read is reported where the connection is made.
    try:
        content = yaml.safe_load(file.read_bytes())
    except (OSError, yaml.YAMLError, UnicodeDecodeError):
        return {}
    return content if isinstance(content, dict) else {}
