"""The recipe "Add a hardware profile" of CONTRIBUTING.md, followed to the letter in a copy of the driver."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_FILE = re.compile(r"`(\S+)`:\n\n```(?:yaml|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def _recipe() -> str:
    text = (_ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.partition("\n## Add a hardware profile\n")[2].partition("\n## ")[0]


@pytest.mark.slow
def test_the_recipe_for_a_profile_works(tmp_path: Path) -> None:
    folder = Path("driver", "drakit_driver")
    shutil.copytree(_ROOT / folder, tmp_path / folder)
    written = _FILE.findall(_recipe())
    assert [name for name, _ in written] == ["z10-16gb.yaml", "z-server.yaml", "fpga.py"]
    for name, text in written:
        (tmp_path / folder / "profiles" / name).write_text(text, encoding="utf-8")
    (commands,) = [text for language, text in _BLOCK.findall(_recipe()) if not language]
    printed = []
    for command in commands.splitlines():
        program, *arguments = shlex.split(command)
        ended = subprocess.run(
            [Path(sys.executable).parent / Path(program).name, *arguments],
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": str(tmp_path / "driver")},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert ended.returncode == 0, f"{command}\n{ended.stdout}\n{ended.stderr}"
        printed.append(ended.stdout)
    for name in ("z10-16gb", "z-server", "fpga-duo"):
        assert re.search(rf"^{name} ", printed[0], re.MULTILINE)
    assert "pool node-1: 5 slices" in printed[1]
    assert "name: region-1" in printed[2]
