"""What records the answers of Kubernetes knows every file, loses no question, and makes the same ones again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from drakit_kind.kubernetes.releases import modules_directory
from tests.vectors import conventions, managed_fields, recordings
from tests.vectors.record import __main__ as command
from tests.vectors.record.apiserver import changes, ours
from tests.vectors.record.apiserver.answers import answer
from tests.vectors.record.apiserver.conventions import answers as conventions_answers
from tests.vectors.record.apiserver.conventions.exchange import exchange
from tests.vectors.record.apiserver.told import fields_answers, fields_stories
from tests.vectors.record.go_modules import HERE, at_release
from tests.vectors.record.outcome import Outcome, of_answers, of_both, of_lines
from tests.vectors.record.parts import PARTS, Part
from tests.vectors.replay import NotStoredError

Vector = dict[str, Any]

README = (recordings.DIRECTORY / "README.md").read_text()
# tests/vectors/README.md says how they came to be.
RECORDED_OTHERWISE = {"allocator/families", "rules/definitions", "rules/objects"}


def test_every_file_is_asked_again_and_is_in_the_readme() -> None:
    assert sorted({part.file for part in PARTS} | RECORDED_OTHERWISE) == recordings.files()
    assert [file for file in recordings.files() if f"`{file}`" not in README] == []


@pytest.mark.slow
def test_the_recorded_requests_are_those_that_are_made() -> None:
    recorded = [{key: one for key, one in line.items() if key != "response"} for line in conventions.recorded()]
    assert json.loads(json.dumps(list(conventions_answers.made()))) == recorded


def test_the_recorded_stories_are_those_that_are_made() -> None:
    def questions(story: Vector) -> Vector:
        steps = [{key: one for key, one in step.items() if key != "answer"} for step in story["steps"]]
        return {**story, "steps": steps}

    made = list(fields_stories.made(fields_answers.STORIES))
    assert json.loads(json.dumps(made)) == list(map(questions, managed_fields.recorded()))


def test_a_type_that_is_missing_is_part_of_a_name() -> None:
    with_type = exchange("bodies", "POST", "/x", "{}", content_type="application/json")
    assert (
        exchange("bodies", "POST", "/x", "{}")["name"]
        == f"{with_type['name'].removesuffix(' {}')} Content-Type: - {{}}"
    )
    assert exchange("lists", "GET", "/x")["name"] == "lists: GET /x"


def test_two_requests_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Matter:
        @staticmethod
        def exchanges() -> list[Vector]:
            return [{"name": "a", "path": "/1"}, {"name": "a", "path": "/1"}, {"name": "a", "path": "/2"}]

    monkeypatch.setattr(conventions_answers, "_MATTERS", (Matter,))
    with pytest.raises(ValueError, match="two requests are called a"):
        list(conventions_answers.made())


def test_what_cannot_be_asked_is_named_and_what_says_the_same_stays() -> None:
    before = [{"name": name, "n": number} for number, name in enumerate("abc")]
    now = [{"name": "a", "n": 0, "order": 1}, None, {"name": "c", "n": 7}]
    outcome = of_answers(zip(before, now, strict=True), lambda one: one["name"], lambda one, two: one["n"] == two["n"])
    assert outcome == Outcome(vectors=[before[0], {"name": "c", "n": 7}], different=["c"], refused=["b"])


def test_lines_that_came_went_or_changed_are_named() -> None:
    before: list[Vector] = [{"name": "gone"}, {"name": "same"}, {"name": "changed", "n": 1}]
    now: list[Vector] = [{"name": "same"}, {"name": "changed", "n": 2}, {"name": "new"}]
    outcome = of_lines(before, now, lambda one: str(one["name"]))
    assert outcome == Outcome(vectors=now, different=["changed", "new", "gone"], refused=[])


def test_only_what_is_answered_otherwise_twice_is_told() -> None:
    recorded: list[Vector] = [{"name": name} for name in "abc"]
    otherwise: list[Vector] = [{"name": name, "n": 1} for name in "abc"]
    first = Outcome([otherwise[0], recorded[1], otherwise[2]], ["a", "c"], [])
    second = Outcome([recorded[0], otherwise[1], otherwise[2]], ["b", "c"], [])
    assert of_both(first, second, recorded) == Outcome([*recorded[:2], otherwise[2]], ["c"], [])


async def test_an_exchange_whose_old_object_is_refused_is_not_lost() -> None:
    class Refusing:
        async def response(self, vector: Vector) -> Vector:
            raise NotStoredError(vector["name"])

    assert await answer(Refusing(), {"name": "x", "response": {}}) is None  # type: ignore[arg-type]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Runs a command on a file ``api/x`` of one line, of which this is the outcome; nothing of Kubernetes is needed."""
    monkeypatch.setattr(recordings, "DIRECTORY", tmp_path)
    (tmp_path / "api").mkdir()
    recordings.keep("api/x", [{"name": "old"}])

    def run(name: str, outcome: Outcome | Exception) -> Any:
        def ask(version: str) -> Outcome:
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(command, "PARTS", (Part("api/x", ask, served=True),))
        monkeypatch.setattr(command, "_refuse_unready", lambda version, wanted: None)
        return CliRunner().invoke(command.main, [name])

    return run


NEW, OLD = [{"name": "new"}], [{"name": "old"}]
REFUSED = "cannot be asked any more: 'b'"


@pytest.mark.parametrize(
    ("name", "outcome", "status", "kept", "words"),
    [
        ("check", Outcome(OLD, [], []), 0, OLD, "0 of 1 otherwise"),
        ("check", Outcome(NEW, ["a"], []), 1, OLD, "otherwise: 'a'"),
        ("check", Outcome([], [], ["b"]), 1, OLD, REFUSED),
        ("check", ValueError("no such gate"), 1, OLD, "cannot be asked: ValueError: no such gate"),
        ("again", Outcome(OLD, [], []), 0, OLD, "0 of 1 otherwise"),
        ("again", Outcome(NEW, ["a"], []), 0, NEW, "written to"),
        ("again", Outcome([], [], ["b"]), 1, OLD, REFUSED),
        ("again", ValueError("no such gate"), 1, OLD, "api/x stays as it was"),
    ],
)
def test_what_the_commands_do(
    run: Callable[..., Any], name: str, outcome: Outcome | Exception, status: int, kept: list[Vector], words: str
) -> None:
    result = run(name, outcome)
    assert (result.exit_code, [json.loads(text) for text in recordings.lines("api/x")]) == (status, kept)
    assert words in result.output


@pytest.mark.parametrize("name", ["check", "again", "ask"])
def test_a_version_that_is_not_pinned_is_told_how_to_pin(name: str) -> None:
    arguments = [name, "--version", "1.99.0", *(["texts"] if name == "ask" else [])]
    result = CliRunner().invoke(command.main, arguments, input="{}")
    assert result.exit_code == 1
    assert "python -m drakit_kind.kubernetes.pin 1.99.0" in result.output


@pytest.mark.parametrize("recorder", sorted(path.parent.name for path in HERE.glob("*/go.mod")))
def test_recorders_have_the_modules_of_the_release(recorder: str) -> None:
    """Those of the newest one as they are written; of an older one its own, and nothing else is another."""
    written = (HERE / recorder / "go.mod").read_text()
    assert at_release(written, (modules_directory() / "1.37.1" / "go.mod").read_text()) == written
    older = at_release(written, (modules_directory() / "1.36.3" / "go.mod").read_text())
    assert " v0.37.1" not in older
    changed = [new for old, new in zip(written.splitlines(), older.splitlines(), strict=True) if old != new]
    assert all("k8s.io/" in line or "github.com/google/cel-go v0.26.0" in line for line in changed)
    assert bool(changed) == ("v0.37.1" in written)


@pytest.mark.slow
def test_changes_at_once_end_where_nothing_is_left_to_change() -> None:
    made = [one["name"].count("; ") + 1 for seed in range(2, 9) for one in changes.chosen(1, seed, together=12)]
    assert max(made) == 12 > min(made)


@pytest.mark.slow
async def test_changes_at_once_are_the_same_for_a_seed_and_are_asked_of_our_server() -> None:
    made = list(changes.chosen(30, 7, together=2))
    assert made == list(changes.chosen(30, 7, together=2))
    assert made != list(changes.chosen(30, 8, together=2))
    assert all(one["name"].count("; ") >= 1 for one in made)
    wrong = {**made[0], "response": {"code": 299}, "reads": None}
    (found,) = await ours.different([wrong])
    assert found["response"] == {"code": 299}
    assert found["ours"] is None or found["ours"]["response"]["code"] != 299
