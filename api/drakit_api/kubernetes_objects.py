"""What an object of Kubernetes is as a value: JSON as it was read, with the names of fields as in JSON.

It has no imports of its own, so that every module of every package can take the alias from here. Objects are plain
dicts and no classes, because what is read has fields that drakit does not know and has to be written back with them.
"""

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]
"""An object, or a part of one, that its holder may change."""

ReadOnlyObject = Mapping[str, Any]
"""An object, or a part of one, that is only read: it may be shared with others."""
