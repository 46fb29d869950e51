"""Run by test_crashes: kills a preparing driver before each of its file operations in turn, and restarts it.

Each run is a forked child, so that a kill is a real SIGKILL and 40 of them take a second. What the kubelet was answered
goes to a file of its own before the next step, and is compared with what the restarted driver knows.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from drakit_api.layouts.pools import Pool
from drakit_client.connection import Connection
from drakit_client.errors import NotFound
from drakit_driver.preparing.cdi import CdiSpecs
from drakit_driver.preparing.checkpoint import Checkpoint, PreparedClaim
from drakit_driver.preparing.claim_references import ClaimReference
from drakit_driver.preparing.commitments import Inventory
from drakit_driver.preparing.prepare import Preparer

DRIVER, NODE = "gpu.example.com", "node-1"
REFERENCES = {name: ClaimReference("default", name, f"uid-{name}") for name in ("a", "b", "c")}


class Claims(Connection):
    """The API: each claim has the device of its name."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1")

    async def get(self, resource: Any, name: str, namespace: str | None = None) -> dict[str, Any]:
        if resource.plural != "resourceclaims":
            raise NotFound(404, {"message": name})
        result = {"request": "r", "driver": DRIVER, "pool": NODE, "device": name}
        return {
            "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
            "status": {"allocation": {"devices": {"results": [result]}}},
        }


def preparer(directory: Path) -> Preparer:
    pool = Pool(driver=DRIVER, name=NODE, node_name=NODE, devices=[{"name": name} for name in REFERENCES])
    specs = CdiSpecs(directory / "cdi", DRIVER)
    return Preparer(Claims(), DRIVER, NODE, Inventory([pool]), checkpoint=Checkpoint(directory), specs=specs)


async def work(directory: Path) -> None:
    """A node's life, each answer noted as the kubelet would."""
    driver = preparer(directory)
    await driver.recover()
    for verb, names in (("prepare", "a"), ("prepare", "bc"), ("unprepare", "a"), ("unprepare", "bc"), ("prepare", "a")):
        note(directory, ["asked", verb, names])
        references = [REFERENCES[name] for name in names]
        answers = await (driver.prepare(references) if verb == "prepare" else driver.unprepare(references))
        bad = [answer for answer in answers.values() if not isinstance(answer, PreparedClaim | None)]
        note(directory, ["answered" if not bad else "failed", verb, names])


def note(directory: Path, line: list[str]) -> None:
    with (directory / "kubelet.log").open("a") as file:
        file.write(json.dumps(line) + "\n")


def kill_before(step: int) -> None:
    """Replace every function that changes files; the ``step``-th call of any of them is the end."""
    calls = 0

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments, **options)

        return call

    os.open, os.fsync = counted(os.open), counted(os.fsync)
    for name in ("rename", "unlink", "mkdir"):
        setattr(Path, name, counted(getattr(Path, name)))


def forked(work: Callable[[], None]) -> int:
    """The wait status of a child that does ``work``."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


async def check(directory: Path) -> None:
    """The restarted driver knows what the kubelet was told, and can go on."""
    driver = preparer(directory)
    await driver.recover()
    known = {claim.name for claim in driver.claims.values()}
    specs = {path.name for path in (directory / "cdi").glob("*")} | {
        path.name for path in (directory / "cdi").glob(".*")
    }
    assert specs == {f"k8s.{DRIVER}-claim_uid-{name}.json" for name in known}, (specs, known)
    assert {path.name for path in directory.iterdir()} <= {"cdi", "checkpoint.json", "kubelet.log"}, "left-over files"
    certain, open_calls = told(directory)
    assert certain - open_calls <= known <= certain | open_calls, (certain, open_calls, known)
    for references in ([REFERENCES[name]] for name in REFERENCES):
        answers = await driver.prepare(references)
        assert all(isinstance(answer, PreparedClaim) for answer in answers.values()), answers
    assert set((await driver.unprepare(list(REFERENCES.values()))).values()) == {None}
    assert not driver.claims
    assert not list((directory / "cdi").iterdir())


def told(directory: Path) -> tuple[set[str], set[str]]:
    """Claims that the kubelet knows to be prepared, and claims of the call that was not answered."""
    log = directory / "kubelet.log"
    prepared: set[str] = set()
    unanswered: set[str] = set()
    for line in log.read_text().splitlines() if log.exists() else []:
        what, verb, names = json.loads(line)
        assert what != "failed", line
        unanswered = set(names) if what == "asked" else set()
        if what == "answered":
            prepared = prepared | set(names) if verb == "prepare" else prepared - set(names)
    return prepared, unanswered


def main() -> None:
    """Print how many steps were killed; exit with 1 at the first that a restart does not mend."""
    step = 0
    while True:
        step += 1
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)

            def dying(step: int = step, directory: Path = directory) -> None:
                kill_before(step)
                asyncio.run(work(directory))

            def checking(directory: Path = directory) -> None:
                asyncio.run(check(directory))

            status = forked(dying)
            if status not in (0, signal.SIGKILL) or forked(checking):
                print(f"killed before file operation {step}: not mended", file=sys.stderr)
                sys.exit(1)
            if status == 0:
                print(step - 1)
                return


if __name__ == "__main__":
    main()
