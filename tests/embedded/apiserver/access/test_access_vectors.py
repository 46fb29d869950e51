"""What several users were told by kube-apiserver 1.37.1, step by step, they are told here in the same words."""

from __future__ import annotations

import json

import aiohttp
import pytest

from drakit_client.connection import Connection
from tests.vectors.access import FILES, Conversation, recorded

TOKEN = "of-the-tests"
# Steps that are known to be answered otherwise: in which way.
KNOWN: dict[tuple[str, str], str] = {}


@pytest.mark.slow
@pytest.mark.usefixtures("controllers")
@pytest.mark.parametrize("file", FILES)
async def test_recorded_conversations(connection: Connection, file: str) -> None:
    different, known = [], set()
    async with aiohttp.ClientSession(connection.server) as session:
        conversation = Conversation(session, TOKEN)
        for number, step in enumerate(recorded(file)):
            answer = await conversation.answer(step)
            if step["op"] == "prepare" or answer == step["response"]:
                pass
            elif (file, step["name"]) in KNOWN:
                known.add((file, step["name"]))
            else:
                shown = (json.dumps(each, sort_keys=True) for each in (step["response"], answer))
                different.append(f"{number} {step['name']}: " + "\n    ".join(shown))
            assert answer["code"] < 500 or answer == step.get("response"), step
    assert not different, "\n".join(different)
    assert known == {key for key in KNOWN if key[0] == file}
