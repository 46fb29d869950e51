"""The keys of a kind cluster lie in its own directory, and nowhere else when a client uses them."""

from __future__ import annotations

import base64
from pathlib import Path

import yaml

from drakit_kind.kind.credentials import move_to_files

# As kind writes it.
KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [
        {
            "name": "kind-story",
            "cluster": {
                "server": "https://127.0.0.1:40000",
                "certificate-authority-data": base64.b64encode(b"authority").decode(),
            },
        }
    ],
    "contexts": [{"name": "kind-story", "context": {"cluster": "kind-story", "user": "kind-story"}}],
    "current-context": "kind-story",
    "users": [
        {
            "name": "kind-story",
            "user": {
                "client-certificate-data": base64.b64encode(b"certificate").decode(),
                "client-key-data": base64.b64encode(b"key").decode(),
            },
        }
    ],
}


def test_keys_become_private_files_beside_the_kubeconfig(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(KUBECONFIG))
    move_to_files(kubeconfig)
    content = yaml.safe_load(kubeconfig.read_text())
    cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
    assert set(cluster) == {"server", "certificate-authority"}
    assert set(user) == {"client-certificate", "client-key"}
    named = [cluster["certificate-authority"], user["client-certificate"], user["client-key"]]
    assert [Path(path).read_bytes() for path in named] == [b"authority", b"certificate", b"key"]
    assert {Path(path).parent for path in named} == {tmp_path}
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
    assert content["contexts"] == KUBECONFIG["contexts"]
    before = kubeconfig.read_text()
    move_to_files(kubeconfig)
    assert kubeconfig.read_text() == before
