"""The pinned versions: what is committed is what the maintainer's command writes, and it travels with drakit."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from drakit_kind.cluster import KUBERNETES_VERSION, ClusterError
from drakit_kind.kubernetes import mains, releases
from drakit_kind.kubernetes.pin import go_mod, write_module
from drakit_kind.kubernetes.releases import Release, checked_version, pinned_release, pinned_releases
from tests.kind.kubernetes import fake_go

_PINNED = pinned_releases()
_each = pytest.mark.parametrize("release", _PINNED, ids=lambda release: release.version)


def test_the_versions_of_the_project_are_pinned() -> None:
    assert [release.version for release in _PINNED] == ["1.37.1", "1.36.3", "1.35.4", "1.34.3"]
    assert pinned_release(f"v{KUBERNETES_VERSION}") == _PINNED[0]


def test_the_newest_version_builds_everything_and_the_others_what_is_theirs() -> None:
    newest, *older = _PINNED
    assert newest.names == mains.NAMES
    assert {release.names for release in older} == {tuple(mains.OF_KUBERNETES)}


@_each
def test_the_mains_are_those_of_the_table(release: Release) -> None:
    written = {path.parent.name: path.read_text() for path in release.directory.glob("cmd/*/main.go")}
    assert written == {name: mains.source(name) for name in release.names if name not in mains.PLUGINS}


@_each
def test_a_module_has_the_release_and_what_was_published_with_it(release: Release) -> None:
    """The staging modules of v1.37.1 are published as v0.37.1; one of another version would be another Kubernetes."""
    text = (release.directory / "go.mod").read_text()
    published = f"v0.{release.version.partition('.')[2]}"
    assert f"\tk8s.io/kubernetes v{release.version}\n" in text
    replaced = dict(re.findall(r"^\t(\S+) => \1 (\S+)$", text, re.MULTILINE))
    assert {"k8s.io/api", "k8s.io/client-go", "k8s.io/dynamic-resource-allocation"} <= set(replaced)
    assert set(replaced.values()) == {published}
    required = dict(re.findall(r"^\t(\S+) (v\S+)(?: // indirect)?$", text, re.MULTILINE))
    assert {required[path] for path in replaced if path in required} == {published}
    # Go's behaviour that can be switched (GODEBUG) is that of the Go which the release was made with.
    godebug = {34: "go1.24", 35: "go1.25", 36: "go1.26", 37: "go1.26"}[int(release.version.split(".")[1])]
    assert f"\ngodebug default={godebug}\n" in text


def test_newer_versions_come_first_and_what_led_to_a_release_after_it(tmp_path: Path) -> None:
    fake_go.write_module(tmp_path, "1.9.0", ["kubelet"])
    fake_go.write_module(tmp_path, "1.38.0", ["kubelet"])
    fake_go.write_module(tmp_path, "1.38.0-rc.1", ["kubelet"])
    fake_go.write_module(tmp_path, "1.38.0-beta.2", ["kubelet"])
    assert [release.version for release in pinned_releases(tmp_path)] == [
        "1.38.0",
        "1.38.0-rc.1",
        "1.38.0-beta.2",
        "1.9.0",
    ]


@pytest.mark.slow
def test_a_wheel_has_the_modules_where_an_installed_drakit_looks_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source_tree = releases.modules_directory()
    [wheel] = WheelBuilder(str(source_tree.parents[1])).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    monkeypatch.setattr(releases, "__file__", str(tmp_path / "installed/drakit_kind/kubernetes/releases.py"))
    installed = pinned_releases()
    assert installed[0].directory.is_relative_to(tmp_path)
    assert [(release.version, release.names, release.digest) for release in installed] == [
        (release.version, release.names, release.digest) for release in _PINNED
    ]


@pytest.mark.parametrize(
    "text", ["1.37", "1.37.1.1", "1.37.x", "", "..", "1.37.1/..", "1.37.1-rc", "1.37.1\n", " 1.37.1"]
)
def test_what_is_no_version_never_becomes_a_path(text: str) -> None:
    with pytest.raises(ClusterError, match="write it with three numbers, as in"):
        checked_version(text)


_UPSTREAM = {
    "Go": "1.27.0",
    "GoDebug": [{"Key": "default", "Value": "go1.27"}],
    "Require": [
        {"Path": "example.com/used", "Version": "v1.2.3"},
        {"Path": "go.etcd.io/etcd/server/v3", "Version": "v3.1.0"},
        {"Path": "k8s.io/api", "Version": "v0.0.0"},
        {"Path": "k8s.io/klog/v2", "Version": "v2.140.0"},
    ],
    "Replace": [
        {"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
        {"Old": {"Path": "k8s.io/sample-cli-plugin"}, "New": {"Path": "./staging/src/k8s.io/sample-cli-plugin"}},
    ],
}


def test_a_module_starts_from_what_the_release_itself_requires() -> None:
    assert (
        go_mod("1.38.2", _UPSTREAM, besides=False)
        == """\
// Written by `python -m drakit_kind.kubernetes.pin 1.38.2`.

module drakit.invalid/kubernetes

go 1.27.0

godebug (
	default=go1.27
)

require (
	example.com/used v1.2.3
	go.etcd.io/etcd/server/v3 v3.1.0
	k8s.io/api v0.38.2
	k8s.io/klog/v2 v2.140.0
	k8s.io/kubernetes v1.38.2
)

replace (
	k8s.io/api => k8s.io/api v0.38.2
)
"""
    )


def test_the_newest_version_also_requires_what_serves_all() -> None:
    text = go_mod("1.38.2", _UPSTREAM, besides=True)
    for path in mains.PLUGINS.values():
        assert f"\t{path}\n" in text
    assert "\tgo.etcd.io/etcd/server/v3 v3.7.3\n" in text
    assert "\tsigs.k8s.io/kind v" in text


@pytest.mark.slow
def test_a_version_that_cannot_be_pinned_changes_nothing(tmp_path: Path, go: fake_go.FakeGo) -> None:
    before = fake_go.write_module(tmp_path / "modules", "1.38.2", ["kubelet"])
    digest = before.digest
    go.behave(mod="fail")
    with pytest.raises(ClusterError, match=r"`go mod download -json k8s\.io/kubernetes@v1\.38\.2` ended with status 1"):
        write_module("1.38.2", tmp_path / "modules", besides=False)
    assert [path.name for path in (tmp_path / "modules").iterdir()] == ["1.38.2"]
    assert before.digest == digest
