"""What a start of the API server loads: not what only clusters with expressions, policies, webhooks or patches need."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        "drakit_api.cel.compiler",
        "drakit_api.rules.validator",
        "drakit_api.slice_patches.definition",
        "drakit_embedded.apiserver.admission.policies.validating",
        "drakit_embedded.apiserver.admission.webhooks.validating",
    ],
)
def test_what_few_clusters_need_is_loaded_when_it_is_needed(module: str) -> None:
    __import__(module)  # it exists
    code = f"import sys, drakit_embedded.apiserver.server; sys.exit({module!r} in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
