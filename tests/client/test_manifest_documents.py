"""Files of manifests as single documents, whatever form they have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drakit_client.manifests.documents import ManifestError, documents

_NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "spec": {"since": "2026-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(_NODE), id="JSON"),
        pytest.param(f"\n  {json.dumps(_NODE, indent=2)}\n", id="JSON with space around it"),
        pytest.param(f"{json.dumps(_NODE)}\n---\n", id="JSON as a YAML document"),
        pytest.param(
            "{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {since: 2026-01-01T00:00:00Z}}",
            id="YAML in the style of JSON",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\nspec:\n  since: 2026-01-01T00:00:00Z\n", id="YAML"
        ),
        pytest.param(json.dumps({"kind": "List", "items": [_NODE]}), id="a List"),
    ],
)
def test_an_object_is_the_same_in_every_form(text: str, tmp_path: Path) -> None:
    path = tmp_path / "node"
    path.write_text(text)
    assert [one.content for one in documents([str(path)])] == [_NODE]


def test_what_is_neither_json_nor_yaml_says_where(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text('{"kind": "Node",\n "metadata": {"name": "n1"\n')
    with pytest.raises(ManifestError, match=r"broken\.json: not YAML: line 3, column 1: "):
        documents([str(path)])
