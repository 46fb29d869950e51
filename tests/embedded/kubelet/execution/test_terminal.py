"""What somebody at a terminal sees of what he types, and what the command gets of it."""

from __future__ import annotations

import asyncio

import pytest

from drakit_embedded.kubelet.execution.terminal import Terminal
from drakit_embedded.kubelet.streaming.streams import Channel, Options, Outcome, Streams


class Client(Streams):
    """A client whose screen can be looked at."""

    def __init__(self) -> None:
        super().__init__(Options(stdin=True, stdout=True, stderr=False, tty=True))
        self.screen = b""

    async def receive(self) -> None:
        return

    async def send(self, channel: Channel, data: bytes) -> None:
        assert channel is Channel.STDOUT
        self.screen += data

    async def end(self, outcome: Outcome) -> None:
        return


@pytest.mark.parametrize(
    ("typed", "lines", "screen"),
    [
        (b"ab\r", [b"ab\n", b""], b"ab\r\n"),
        (b"ab\n", [b"ab\n", b""], b"ab\r\n"),
        (b"ax\x7fb\r", [b"ab\n", b""], b"ax\b \bb\r\n"),
        (b"\x7f\x08a\r", [b"a\n", b""], b"a\r\n"),
        (b"a\rb\r\x04c\r", [b"a\n", b"b\n", b""], b"a\r\nb\r\n"),
        (b"ab\x04\x04", [b"ab", b""], b"ab"),
        (b"ab\x03c\r", [b""], b"ab^C\r\n"),
    ],
)
async def test_lines(typed: bytes, lines: list[bytes], screen: bytes) -> None:
    client = Client()
    terminal = Terminal(client)
    await client.stdin.feed(typed)
    await client.stdin.close()
    await asyncio.wait_for(terminal.type(), 5)
    assert [await asyncio.wait_for(terminal.read(), 5) for _ in lines] == lines
    assert client.screen == screen
    assert terminal.interrupted.is_set() is (b"\x03" in typed)


async def test_what_a_command_prints_begins_on_the_left() -> None:
    client = Client()
    await Terminal(client).write(b"a\nb\n")
    assert client.screen == b"a\r\nb\r\n"
