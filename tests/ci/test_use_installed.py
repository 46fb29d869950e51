"""`.ci/use-installed` leaves nothing, also where it is told to end; its programs are stand-ins."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.kind.waits import appears

_SCRIPT = Path(__file__).parents[2] / ".ci" / "use-installed"
_SECONDS = 60

_DRAKIT = """#!/bin/sh
echo "$*" >>"{log}"
[ "$*" != "cluster up" ] || {{
    echo >"{log}.starting"
    while [ ! -e "{log}.go-on" ]; do :; done
    echo "cluster is up" >>"{log}"
}}
"""


def _is_pending(number: signal.Signals, pid: int) -> bool:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return any(int(status[field], 16) & 1 << number - 1 for field in ("SigPnd", "ShdPnd"))


@pytest.mark.slow
@pytest.mark.usefixtures("signals_heard")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 143), (signal.SIGINT, 130)])
def test_told_to_end_while_a_cluster_starts_it_takes_it_down_when_it_is_there(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    log, scratch, programs = tmp_path / "log", tmp_path / "scratch", tmp_path / "venv" / "bin"
    for directory in (scratch, programs, tmp_path / ".ci"):
        directory.mkdir(parents=True)
    for name, text in {"drakit": _DRAKIT.format(log=log), "kubectl": "#!/bin/sh\n"}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    shutil.copy(_SCRIPT, tmp_path / ".ci")
    command = [str(tmp_path / ".ci" / "use-installed"), str(programs.parent)]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as run:
        assert appears(Path(f"{log}.starting"), seconds=_SECONDS)
        run.send_signal(number)
        deadline = time.monotonic() + _SECONDS
        while _is_pending(number, run.pid):
            assert time.monotonic() < deadline
        Path(f"{log}.go-on").touch()
        assert run.wait(_SECONDS) == status
    assert log.read_text().splitlines() == ["cluster up", "cluster is up", "cluster down"]
    assert list(scratch.iterdir()) == []
