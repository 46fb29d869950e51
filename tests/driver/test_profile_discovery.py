"""Profiles are found by themselves: files of a folder, and entry points of distributions, good ones and broken ones."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from drakit_api.layouts.pools import PoolError
from drakit_driver import profiles
from drakit_driver.profiles.reading import catalog
from drakit_driver.profiles.reading.discovery import gathered
from drakit_driver.profiles.reading.folder import files

_A30 = (Path(profiles.__file__).parent / "a30.yaml").read_text(encoding="utf-8")
_MODULE = """
from drakit_api.layouts.pools import Pool
from drakit_driver.profiles.reading.profile import Profile

def profiles():
    return [Profile(name="{name}", kind="npu", summary="Two NPUs", driver="npu.example.com")]

def pools(profile, wanted):
    devices = [{{"name": "npu-0"}}]
    return [Pool(driver=wanted.driver, name=each, node_name=each, devices=devices) for each in wanted.nodes]
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("productName: NVIDIA A30\n", "", "the file: Object missing required field `productName`"),
        ("productName: NVIDIA A30", "productName: ''", "productName: Expected `str` of length >= 1"),
        ("cudaComputeCapability: 8.0.0", "cudaComputeCapability: 8.0", "cudaComputeCapability: Expected `str`"),
        ("architecture:", "architektur:", "the file: Object contains unknown field `architektur`"),
        ("numaNode: 0", "numaNode: -1", "slots[0].numaNode: Expected `int` >= 0"),
        ("id: 14", "id: fourteen", "profiles[0].id: Expected `int`, got `str`"),
        ("name: 1g.6gb,", "name: small,", "profiles[0].name: Expected `str` matching regex"),
        (
            "starts: [0, 1, 2, 3]",
            "starts: [0, 1, 2, 4]",
            "profiles[0].starts: 1 slices of 4 cannot start at 4",
        ),
        ("starts: [0, 1, 2, 3]", "starts: [0, 0]", "profiles[0]: a second device gpu-0-mig-1g6gb-14-0;"),
        ("architecture: Ampere", "architecture: Ampere\narchitecture: Hopper", '"architecture" is given twice'),
        (_A30, "- a30", "must be one YAML object"),
        (_A30, "a: [", "broken.yaml:2:1: "),
        (_A30, "summary: s\ngpu: b30\ngpus: 2", 'gpu: there is no file "b30.yaml" of a GPU beside it; there are other'),
        (_A30, "summary: s\ngpu: other\ngpus: 65", "gpus: Expected `int` <= 64"),
    ],
)
def test_a_broken_file_is_told_by_file_and_field_and_the_others_work(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in _A30
    (tmp_path / "other.yaml").write_text(_A30, encoding="utf-8")
    (tmp_path / "broken.yaml").write_text(_A30.replace(old, new, 1), encoding="utf-8")
    found = gathered(list(files(tmp_path, "")))
    assert list(found.profiles) == ["other"]
    (problem,) = found.problems
    assert problem.startswith("broken.yaml: ")
    assert said in problem
    assert problem.endswith("CONTRIBUTING.md says how a profile is added")


def test_a_file_whose_name_cannot_be_a_profile_is_told(tmp_path: Path) -> None:
    (tmp_path / "My GPU.yaml").write_text(_A30, encoding="utf-8")
    (problem,) = gathered(list(files(tmp_path, ""))).problems
    assert problem.startswith('My GPU.yaml: "My GPU" is not a DNS subdomain')


def test_what_drakit_brings_has_no_problems() -> None:
    assert catalog.problems() == []


def test_a_missing_profile_is_told_with_what_could_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found = gathered([])
    found.problems.append("b200.yaml: no good")
    monkeypatch.setattr("drakit_driver.profiles.reading.discovery.found", lambda: found)
    with pytest.raises(PoolError) as raised:
        catalog.profile("b200")
    assert raised.value.errors[1] == "b200.yaml: no good"


def _install(site: Path, name: str, value: str, **modules: str) -> None:
    """What an installer leaves of a distribution with one entry point: its metadata and its files."""
    information = site / f"{name}-1.2.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n", encoding="utf-8")
    (information / "entry_points.txt").write_text(f"[drakit.profiles]\nhere = {value}\n", encoding="utf-8")
    for path, text in modules.items():
        file = site / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")


def _drakit(site: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "drakit_kind", *arguments],
        env={**os.environ, "PYTHONPATH": str(site), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.slow
def test_installed_distributions_bring_modules_and_packages_of_files(tmp_path: Path) -> None:
    _install(tmp_path, "acme", "acme_npu", **{"acme_npu.py": _MODULE.format(name="npu-duo")})
    _install(tmp_path, "zeta", "zeta_gpus", **{"zeta_gpus/__init__.py": "", "zeta_gpus/z30.yaml": _A30})
    listed = _drakit(tmp_path, "driver", "profiles")
    lines = {line.split()[0]: line for line in listed.stdout.splitlines()}
    assert lines["npu-duo"].endswith("[acme_npu of acme 1.2]")
    assert lines["z30"].endswith("[z30.yaml of zeta 1.2]")
    assert lines["a30"].endswith("[a30.yaml]")
    assert listed.stderr == ""
    slices = _drakit(tmp_path, "driver", "slices", "npu-duo", "--node", "worker")
    assert "nodeName: worker" in slices.stdout
    completed = _drakit(
        tmp_path, _DRAKIT_COMPLETE="bash_complete", COMP_WORDS="drakit driver slices npu", COMP_CWORD="3"
    )
    assert "npu-duo" in completed.stdout


@pytest.mark.slow
def test_broken_distributions_are_told_and_break_nothing(tmp_path: Path) -> None:
    _install(tmp_path, "broken", "broken_module", **{"broken_module.py": "1 / 0"})
    _install(tmp_path, "half", "half_module", **{"half_module.py": "def profiles(): return []"})
    _install(tmp_path, "gone", "gone_module")
    _install(tmp_path, "odd", "odd_module", **{"odd_module.py": "def profiles(): return [1]\ndef pools(a, b): ..."})
    _install(tmp_path, "taker", "taker", **{"taker.py": _MODULE.format(name="a30")})
    listed = _drakit(tmp_path, "driver", "profiles")
    assert listed.returncode == 0
    assert "a100-40gb" in listed.stdout
    assert [
        line.removeprefix("warning: ").split(";")[0].split(" in line")[0] for line in listed.stderr.splitlines()
    ] == [
        'broken 1.2: entry point here = "broken_module": ZeroDivisionError: division by zero',
        "gone 1.2: entry point here = \"gone_module\": ModuleNotFoundError: No module named 'gone_module'",
        "half_module of half 1.2: has no function pools()",
        "odd_module of odd 1.2: profiles(): TypeError: 1 is no Profile",
        'profile "a30" is given by a30.yaml and by taker of taker 1.2',
    ]
    refused = _drakit(tmp_path, "driver", "slices", "a30")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        'Error: profile "a30" is given by a30.yaml and by taker of taker 1.2; rename or remove one\n'
    )
