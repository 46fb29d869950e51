"""What a real server puts into etcd for objects of every kind: the length of each value, as etcd has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import msgspec

from tests.vectors import stored_sizes
from tests.vectors.defaulted import WRITTEN_AT_ONCE
from tests.vectors.record.apiserver import servers
from tests.vectors.record.outcome import Outcome, of_answers
from tests.vectors.recordings import Vector

_KEY, _VALUE, _RANGE_END, _FOUND = 1, 5, 2, 2
_CREATED = 201


async def asked_again(version: str) -> Outcome:
    """Everything that is recorded, and what the lines of ``api/defaults`` have besides."""
    before = {vector["name"]: vector for vector in stored_sizes.recorded()}
    async with servers.storing("default", version) as (session, token, etcd):
        found = [
            (before.get(asked["name"], asked), await _answer(session, token, etcd, asked))
            for asked in stored_sizes.asked()
        ]
    return of_answers(found, lambda vector: str(vector["name"]), _is_same)


def _is_same(recorded: Vector, asked: Vector) -> bool:
    """Compare sizes; that of a kind which is written to meanwhile depends on who comes first."""
    return asked["object"]["kind"] in WRITTEN_AT_ONCE or recorded.get("bytes") == asked["bytes"]


async def _answer(session: aiohttp.ClientSession, token: str, etcd: Path, asked: Vector) -> Vector | None:
    """Create an object, look into etcd, and delete it again; None if the server does not take it."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    # Without spaces, as drakit prints embedded objects, which are stored as their text.
    async with session.post(asked["path"], data=msgspec.json.encode(asked["object"]), headers=headers) as answer:
        made: Any = await answer.json()
    if answer.status != _CREATED:
        return None
    uid = made["metadata"]["uid"].encode()
    size = next(len(value) for value in _values(etcd) if uid in value)
    path = f"{asked['path']}/{made['metadata']['name']}"
    async with session.delete(path, headers=headers, params={"gracePeriodSeconds": "0"}):
        pass
    return {"name": asked["name"], "object": made, "bytes": size}


def _values(etcd: Path) -> Iterator[bytes]:
    """All values below ``/registry/``: ``etcdserverpb.KV/Range``, without generated classes."""
    request = b"".join(_text(number, text) for number, text in ((_KEY, b"/registry/"), (_RANGE_END, b"/registry0")))
    with grpc.insecure_channel(f"unix:{etcd}", options=[("grpc.max_receive_message_length", -1)]) as channel:
        answer: bytes = channel.unary_unary("/etcdserverpb.KV/Range")(request)
    for number, found in _fields(answer):
        if number == _FOUND:
            yield dict(_fields(found))[_VALUE]


def _text(number: int, text: bytes) -> bytes:
    return bytes([number << 3 | 2, len(text)]) + text


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Numbers and contents of the fields of a message that have a length."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        length, at = _varint(message, at)
        if key & 7 == 2:
            yield key >> 3, message[at : at + length]
            at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at
