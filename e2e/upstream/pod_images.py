"""Images of the tests' pods, under the names by which the tests ask for them, for nodes whose containers are real.

No registry can be reached, and the tests need little of what is in those images: a shell with its usual programs, which
is a static busybox, and perhaps one of the programs of ``program.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from drakit_kind.images import Entry, Image, busybox_entries, write_images
from e2e.upstream.program import DEVICE_PLUGIN, PROXY

# Of test/utils/image/manifest.go and test/e2e/testing-manifests; of the proxy the newest that storage-csi there names.
_BUSYBOX = "registry.k8s.io/e2e-test-images/busybox:1.37.0-2"
_DEVICE_PLUGIN = "registry.k8s.io/e2e-test-images/sample-device-plugin:1.8.0"
_PROXY = "registry.k8s.io/sig-storage/hostpathplugin:v1.17.1"


def write_pod_images(archive: Path, busybox: Path, programs: Mapping[str, Path]) -> None:
    """Write all of them to one archive, around a static busybox and programs by their names."""
    shell, path = busybox_entries(busybox), {"PATH": "/bin"}
    plugin, proxy = ([Entry(path=name, contents=programs[name])] for name in (DEVICE_PLUGIN, PROXY))
    started = [f"/{DEVICE_PLUGIN}", "-alsologtostderr"]
    images = [
        Image([_BUSYBOX], [shell], command=["sh"], env=path),
        Image([_DEVICE_PLUGIN], [shell, plugin], entrypoint=started, env=path),
        Image([_PROXY], [shell, proxy], entrypoint=[f"/{PROXY}"], env=path),
    ]
    write_images(archive, images)
