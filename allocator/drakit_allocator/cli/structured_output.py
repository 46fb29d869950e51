"""JSON and YAML for scripts, as all commands of the allocator print them."""

from __future__ import annotations

import json
from typing import Any, Literal

import yaml

Form = Literal["json", "yaml"]


def printed(content: Any, form: Form) -> str:
    """Print content that is JSON but for tuples."""
    if form == "json":
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    # By way of JSON, so that what is shared is written out each time and not as YAML aliases.
    text: str = yaml.dump(json.loads(json.dumps(content)), Dumper=yaml.CSafeDumper, sort_keys=False, width=120)
    return text
