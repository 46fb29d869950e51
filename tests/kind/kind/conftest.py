"""Small stand-ins for what images are made of: kind's module, Kubernetes' binaries, a Debian root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from drakit_images.kind_module import KindModule
from drakit_kind.kubernetes.assets import Assets
from drakit_kind.kubernetes.mains import NAMES
from tests.kind.kind.debian_root import write_root
from tests.kind.kind.fake_docker import FakeDocker

_FILES = {
    "usr/local/bin/entrypoint": "#!/bin/bash\n",
    "kind/bin/mount-product-files.sh": "#!/bin/bash\n",
    "kind/README.txt": "files of kind\n",
    "LICENSES/README.txt": "licenses\n",
    "etc/default/kubelet": "KUBELET_EXTRA_ARGS=--runtime-cgroups=/system.slice/containerd.service",
    "etc/containerd/config.toml": 'sandbox_image = "registry.k8s.io/pause:3.10"\nrestrict_oom_score_adj = false\n',
    "etc/systemd/system/kubelet.service": "[Unit]\n",
}
_IMAGES = """\
repository=registry.k8s.io
for name in kube-apiserver kube-controller-manager kube-scheduler kube-proxy; do echo $repository/$name:$5; done
echo $repository/coredns/coredns:v1.14.6
echo $repository/pause:3.10.2
echo $repository/etcd:3.7.0-0
"""


@pytest.fixture
def module(tmp_path: Path) -> KindModule:
    directory = tmp_path / "kind-module"
    for path, text in _FILES.items():
        file = directory / "images/base/files" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    sources = directory / "pkg/build/nodeimage"
    sources.mkdir(parents=True)
    (sources / "const_cni.go").write_text('const kindnetdImage = "docker.io/kindest/kindnetd:v1"\n')
    (sources / "const_storage.go").write_text(
        'const storageProvisionerImage = "docker.io/kindest/local-path-provisioner:v1"\n'
    )
    return KindModule("v0.33.0", directory)


@pytest.fixture
def assets(tmp_path: Path) -> Assets:
    directory = tmp_path / "binaries"
    directory.mkdir()
    for name in NAMES:
        program = directory / name
        program.write_text({"kubeadm": f"#!/bin/sh\n{_IMAGES}", "ctr": _CTR}.get(name, f"#!/bin/sh\n# {name}\n"))
        program.chmod(0o755)
    return Assets("1.37.1", (directory,), ())


_CTR = """\
#!/bin/sh
echo '{"process": {"args": ["sh"], "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1024}]}, "root": {}}'
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_root(tmp_path / "root.tar")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return FakeDocker(programs)
