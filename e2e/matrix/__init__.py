"""Feature gates, emulated versions and version skew, as a table: one row is one cluster that is changed while pods run.

What stands in ``rows.py`` is data: which components are what in which phase. What happens in the phases is told by a
story, in a file named after its feature. ``make e2e-matrix`` runs every row on drakit's own components and on those of
Kubernetes, with the same expectations, and writes ``docs/compatibility.md``. The model is ``test/e2e_dra`` of
Kubernetes; unlike there, components are toggled one by one where each can be seen to act, as a rollout does it.
"""

from pathlib import Path

import pytest

# A story's assertions are to be explained as those of a test are.
pytest.register_assert_rewrite(
    *(f"{__name__}.{path.stem}" for path in Path(__file__).parent.glob("*.py") if path.stem != "__init__")
)
