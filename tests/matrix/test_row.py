"""Rows are played phase by phase, and one that has to fail on ours must fail where and as it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from drakit_client.errors import NotFound
from drakit_embedded.apiserver.scheme.kinds import all_kinds
from drakit_kind.cluster import COMPONENTS, Component
from drakit_kind.clusters.api import IdleObjectWarning, WaitTimeout
from e2e.matrix.row import Change, NotYet, Phase, Row, StillLacking, play
from e2e.matrix.rows import ROWS
from e2e.matrix.stage import Stage


class AnyStage:
    """A cluster that is what every row says; what it is asked for is noted."""

    def __init__(self) -> None:
        self.cluster = self
        self.versions: list[dict[Component, str]] = []

    def check_versions(self, versions: Mapping[Component, str], *, emulated: str | None) -> None:
        assert emulated is None
        self.versions.append(dict(versions))

    def check_survivors(self) -> None:
        pass

    def restart(self, component: Component, **options: Any) -> None:
        pass


def _two_phases(stage: Stage) -> Iterator[None]:
    yield


def _row(story: Callable[[Stage], Iterator[None]] = _two_phases, **fields: Any) -> Row:
    fields = {"phases": [Phase(name="on"), Phase(name="off")], **fields}
    return Row(name="row", feature="DRAThing", source="KEP-1", story=story, **fields)


def _play(row: Row, stage: AnyStage | None = None) -> None:
    play(row, stage or AnyStage())  # type: ignore[arg-type]


@pytest.mark.parametrize("phases", [1, 3])
def test_a_story_with_another_number_of_phases_than_its_row_is_an_error(phases: int) -> None:
    row = _row(phases=[Phase(name=str(number)) for number in range(phases)])
    with pytest.raises(AssertionError, match="has not as many phases as the row"):
        _play(row)


def test_ci_plays_the_rows_that_it_names() -> None:
    (names,) = re.findall(r"^rows='(.*)'$", (Path(__file__).parents[2] / ".ci" / "run").read_text(), re.MULTILINE)
    assert [name for name in names.split(" or ") if not any(name in row.name for row in ROWS)] == []


def test_in_each_phase_every_component_has_to_be_what_the_row_says() -> None:
    newer = Change(component="scheduler", version="1.37.1")
    back = Change(component="scheduler")
    phases = [Phase(name="old"), Phase(name="new", changes=[newer]), Phase(name="old again", changes=[back])]

    def three_phases(stage: Stage) -> Iterator[None]:
        yield
        yield

    stage = AnyStage()
    _play(_row(three_phases, phases=phases, version="1.35.4", versions={"scheduler": "1.36.3"}), stage)
    others: dict[Component, str] = dict.fromkeys(COMPONENTS, "1.35.4")
    assert stage.versions == [{**others, "scheduler": version} for version in ("1.36.3", "1.37.1", "1.36.3")]


_NOT_YET = NotYet(reason="nobody does it", phase="off", message="does not exist")


def _fails(phase: str, error: BaseException) -> Row:
    def story(stage: Stage) -> Iterator[None]:
        for name in ("on", "off"):
            if name == phase:
                raise error
            if name == "on":
                yield

    return _row(story, not_yet=_NOT_YET)


@pytest.mark.parametrize(
    "error",
    [
        AssertionError("it does not exist"),
        WaitTimeout("it does not exist after 30 s"),
        IdleObjectWarning("drakit: who answers it does not exist"),
    ],
)
def test_a_row_that_has_to_fail_fails_where_and_as_it_says(error: BaseException) -> None:
    with pytest.raises(StillLacking, match="nobody does it") as lacking:
        _play(_fails("off", error))
    assert lacking.value.__cause__ is error


@pytest.mark.parametrize(
    ("phase", "error"),
    [
        pytest.param("on", AssertionError("it does not exist"), id="another phase"),
        pytest.param("off", AssertionError("it exists twice"), id="another message"),
        pytest.param("off", KeyError("does not exist"), id="an error of the test itself"),
        pytest.param("off", NotFound(404, {"message": "gone"}), id="another answer"),
    ],
)
def test_any_other_failure_counts(phase: str, error: BaseException) -> None:
    with pytest.raises(type(error)) as failed:
        _play(_fails(phase, error))
    assert failed.value is error


def test_what_is_said_not_to_be_served_is_not_served() -> None:
    served = {kind.kind for kind in all_kinds()}
    reasons = [row.not_yet.reason for row in ROWS if row.not_yet]
    unserved = [found[1] for reason in reasons if (found := re.fullmatch(r"(\w+)s are not served", reason))]
    assert unserved
    assert served.isdisjoint(unserved)


def test_the_phase_in_which_a_row_has_to_fail_is_one_of_its_own() -> None:
    expected = [(row.not_yet.phase, [phase.name for phase in row.phases]) for row in ROWS if row.not_yet]
    assert expected
    assert [phase for phase, phases in expected if phase not in phases] == []


_ALL, _CONTROL_PLANE = frozenset(COMPONENTS), frozenset(COMPONENTS) - {"kubelet"}


@pytest.mark.parametrize(
    ("fields", "real", "in_kind", "why"),
    [
        ({"own_gate": True}, frozenset(), False, ""),
        ({"own_gate": True}, _ALL, False, "a gate of drakit's own components"),
        ({"own_gate": True, "ours": {"scheduler"}}, _ALL, False, ""),
        ({"own_gate": True, "ours": {"scheduler"}}, frozenset(), False, ""),
        ({"own_gate": True, "ours": {"scheduler"}}, _ALL, True, "kind restarts Kubernetes' own components only"),
        ({"containers": True}, _CONTROL_PLANE, False, "real kubelets run as root only"),
        ({}, _ALL, True, ""),
    ],
)
def test_a_row_is_left_out_where_it_cannot_be_run(
    fields: dict[str, Any], real: frozenset[Component], in_kind: bool, why: str
) -> None:
    assert _row(**fields).left_out(real, in_kind=in_kind) == why
