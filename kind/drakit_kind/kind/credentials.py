"""Keys of a cluster in files of its own directory, with which they go.

kind writes them into the kubeconfig. From there client libraries write them to files in /tmp, as TLS takes only files,
and a process that is killed leaves those.
"""

from __future__ import annotations

import base64
from pathlib import Path

import yaml

from drakit_client.files import private_files

_FIELDS = (
    ("clusters", "cluster", "certificate-authority"),
    ("users", "user", "client-certificate"),
    ("users", "user", "client-key"),
)


def move_to_files(kubeconfig: Path) -> None:
    """Replace certificates and keys in a kubeconfig by files beside it that it refers to."""
    content = yaml.safe_load(kubeconfig.read_text())
    for listed, kind, field in _FIELDS:
        for entry in content[listed]:
            if (data := entry[kind].pop(f"{field}-data", None)) is not None:
                file = private_files.write(kubeconfig.with_name(f"{entry['name']}-{field}.pem"), base64.b64decode(data))
                entry[kind][field] = str(file.absolute())
    private_files.write(kubeconfig, yaml.safe_dump(content))
