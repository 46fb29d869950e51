"""Stories of ResourceSlicePatches on a real kube-apiserver that has their definition, and how they are told again.

``extensions/patches.jsonl.gz`` holds one story a line, in the form of ``extensions/stories``. Those of the family
``rules`` only create patches, one at each limit and one beyond it.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_api.slice_patches.definition import definition
from tests.vectors.malformed import stages

FILE = "extensions/patches"


def prepared() -> Object:
    """What comes before all stories: the definition is created, and served."""
    return {"name": "prepared:definition", "steps": stages.defined(definition())}
