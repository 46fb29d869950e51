"""A port is chosen a while before it is used, so it is one that nobody else is given meanwhile."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from drakit_kind.processes import ports


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("32768\t60999", range(10_000, 30_000)),
        ("10000 19999", range(20_000, 30_000)),
        ("1024 65535", range(1024, 65_536)),  # then any will do
    ],
)
def test_a_port_is_none_that_the_kernel_gives_to_anybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, expected: range
) -> None:
    setting = tmp_path / "ip_local_port_range"
    setting.write_text(f"{given}\n")
    monkeypatch.setattr(ports, "_GIVEN_TO_ANYBODY", setting)
    for _ in range(50):
        assert ports.free_port() in expected


def test_a_port_that_is_used_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as used:
        used.bind(("127.0.0.1", 0))
        used.listen()
        taken = used.getsockname()[1]
        monkeypatch.setattr(ports, "_OURS", [taken, taken])
        assert ports.free_port() != taken
