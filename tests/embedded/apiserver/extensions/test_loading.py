"""The first definition of a server finds loaded what it needs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

# In a process of its own: others have loaded all of it.
PROGRAM = """
import asyncio, json, sys
from bench.extensions import definition
from bench.wire import Client, Request
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.extending import loading

async def main():
    async with Server(ServerConfig(token="t")) as server, Client(server.url, "t", None) as client:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        await client.send(Request("GET", path))
        await loading.ahead(0)
        before = set(sys.modules)
        await client.send(Request("POST", path, json.dumps(definition("widgets")).encode()))
        print(json.dumps(sorted(set(sys.modules) - before)))

asyncio.run(main())
"""


@pytest.mark.slow
def test_nothing_is_left_to_be_loaded_for_a_definition() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout) == []
