"""The shell completes what a user would look up, and what is mistyped is answered with the nearest name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from drakit_kind.cli.drakit_command import main
from drakit_kind.cluster import ClusterSpec
from drakit_kind.clusters.home import ClusterHome


def _completed(*words: str) -> list[str]:
    *before, incomplete = words
    complete = ShellComplete(main, {}, "drakit", "_DRAKIT_COMPLETE")
    return [item.value for item in complete.get_completions(list(before), incomplete)]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["clu"], "cluster"),
        (["cluster", "re"], "restart"),
        (["driver", "r"], "run"),
        (["driver", "slices", "dgx"], "dgx-a100"),
        (["driver", "classes", "lay"], "layout"),
        (["driver", "run", "tpu-v6e-16"], "tpu-v6e-16x16"),
        (["cluster", "up", "--driver", "a3"], "a30"),
        (["cluster", "logs", "sch"], "scheduler"),
        (["kubernetes", "build", "1.37"], "1.37.1"),
        (["kubernetes", "where", "1.37.1", "etc"], "etcd"),
        (["cluster", "status", "--name", "r"], "red"),
    ],
)
def test_names_are_completed(words: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAKIT_HOME", str(tmp_path))
    ClusterHome.of("red").write_spec(ClusterSpec(name="red", token="t", port=1))
    completed = _completed(*words)
    assert name in completed
    assert all(word.startswith(words[-1]) for word in completed)


@pytest.mark.slow
def test_names_of_commands_are_completed_without_importing_them() -> None:
    """Pressing the tab key must not take longer than a cluster's start."""
    code = (
        "import sys\n"
        "from click.shell_completion import ShellComplete\n"
        "from drakit_kind.cli.drakit_command import main\n"
        "assert len(ShellComplete(main, {}, 'drakit', 'X').get_completions([], '')) > 10\n"
        "sys.exit(bool({'drakit_driver', 'drakit_allocator', 'drakit_embedded', 'aiohttp', 'yaml'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "suggested"),
    [
        (["clutser"], "cluster"),
        (["driver", "slcies"], "slices"),
        (["driver", "rn"], "run"),
        (["cluster", "satus"], "status"),
        (["cluster", "up", "--nam", "red"], "--name"),
        (["kubernetes", "lst"], "list"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_nearest(arguments: list[str], suggested: str) -> None:
    refused = CliRunner().invoke(main, arguments)
    assert refused.exit_code == 2
    assert f"Did you mean '{suggested}'?" in refused.stderr
