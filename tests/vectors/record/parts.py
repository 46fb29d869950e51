"""Every file of recorded answers that can be asked again, and how."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple

from tests.vectors import (
    access,
    autoscalers,
    conventions,
    conversions,
    defaulted,
    exchanges,
    managed_fields,
    services,
    slice_patches,
    stored_sizes,
    writes,
)
from tests.vectors.record import go_answers
from tests.vectors.record.apiserver import access as access_answers
from tests.vectors.record.apiserver import answers, custom_documents, documents, selectors
from tests.vectors.record.apiserver import stored_sizes as stored_size_answers
from tests.vectors.record.apiserver.conventions import answers as conventions_answers
from tests.vectors.record.apiserver.defaulting import answers as defaulting_answers
from tests.vectors.record.apiserver.told import (
    autoscalers_stories,
    conversions_answers,
    extensions_answers,
    fields_answers,
    patch_stories,
    services_answers,
    staged_answers,
    writes_stories,
)
from tests.vectors.record.go_answers import Recorder
from tests.vectors.record.outcome import Outcome
from tests.vectors.recordings import Vector


class Part(NamedTuple):
    """A file, as ``recordings`` calls it, and what asks all of it of a Kubernetes version.

    ``served``: it asks programs of that version, not its libraries.
    """

    file: str
    ask: Callable[[str], Outcome]
    served: bool


def _served(file: str, ask: Callable[[str], Coroutine[Any, Any, Outcome]]) -> Part:
    """Of what a server answers."""
    return Part(file, lambda version: asyncio.run(ask(version)), served=True)


def _of_go(file: str, recorder: Recorder, left_out: Vector | None = None) -> Part:
    """Of what a library answers; ``left_out`` is what the lines have in common."""
    return Part(file, lambda version: go_answers.asked_again(file, version, recorder, left_out or {}), served=False)


_ALLOCATOR = Recorder("allocator")
_CEL = Recorder("cel")

PARTS = (
    *(_served(f"api/{file}", partial(answers.asked_again, file)) for file in exchanges.OF_SERVER),
    _served(f"api/{conventions.FILE}", conventions_answers.asked_again),
    _served(f"api/{managed_fields.FILE}", fields_answers.asked_again),
    _served(
        f"api/{writes.FILE}", partial(staged_answers.asked_again, writes.Stage, writes.recorded, writes_stories.made)
    ),
    _served(f"api/{conversions.FILE}", conversions_answers.asked_again),
    _served(f"api/{services.FILE}", services_answers.asked_again),
    _served(
        f"api/{autoscalers.FILE}",
        partial(staged_answers.asked_again, autoscalers.Stage, autoscalers.recorded, autoscalers_stories.made),
    ),
    *(_served(f"api/{access.file_of(part)}", partial(access_answers.asked_again, part)) for part in access.FILES),
    _served(f"api/{defaulted.FILE}", defaulting_answers.asked_again),
    _served(f"api/{stored_sizes.FILE}", stored_size_answers.asked_again),
    _served("api/discovery", documents.discovery),
    _served("api/openapi", documents.openapi),
    _served("api/custom-openapi", custom_documents.openapi),
    _served("api/policy", documents.policy),
    _of_go("api/quantities", Recorder("quantities", beside=False)),
    _of_go("api/texts", Recorder("texts")),
    _served(extensions_answers.FILE, extensions_answers.asked_again),
    _served(extensions_answers.CORNERS, extensions_answers.corners_asked_again),
    _served(slice_patches.FILE, patch_stories.asked_again),
    _served("cel/admission", selectors.asked_again),
    _of_go("cel/devices", _CEL),
    _of_go("cel/language", _CEL, go_answers.language()),
    _of_go("cel/unknown", _CEL._replace(kept=("compileError", "maxCost")), {**go_answers.language(), "new": True}),
    _of_go("cel/derived", _CEL, {"derived": True}),
    _of_go("cel/random", _CEL),
    _of_go("allocator/random", _ALLOCATOR),
    _of_go("allocator/quirks", _ALLOCATOR._replace(arguments=("-variant", ""))),
    _of_go("allocator/upstream-table", _ALLOCATOR),
    _of_go("allocator/found", _ALLOCATOR),
    # Minutes, for the sake of the last ones of some families.
    _of_go("allocator/adversarial", _ALLOCATOR._replace(arguments=("-timeout", "10m"))),
)
