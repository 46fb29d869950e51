"""What a user reads in FailedScheduling: first kube-scheduler's sentence, then why the claims did not fit, by node."""

from __future__ import annotations

import pytest

from drakit_allocator.scheduler.diagnosis import MESSAGE_BYTES, Diagnosis
from drakit_allocator.scheduler.nodes.filters import DYNAMIC_RESOURCES, NODE_RESOURCES, Rejection

NO_DEVICES = Rejection(DYNAMIC_RESOURCES, ("cannot allocate all claims",))
NO_ROOM = Rejection(NODE_RESOURCES, ("Insufficient cpu", "Insufficient memory"))


@pytest.mark.parametrize(
    ("rejections", "explanations", "message"),
    [
        pytest.param(
            {f"n{number}": NO_ROOM for number in range(10)} | {"g1": NO_DEVICES, "g2": NO_DEVICES},
            {},
            "0/12 nodes are available: 10 Insufficient cpu, 10 Insufficient memory, 2 cannot allocate all claims.",
            id="reasons in the order of their texts, as upstream",
        ),
        pytest.param(
            {"g1": NO_DEVICES, "g2": NO_DEVICES, "g3": NO_DEVICES},
            {"g1": "all are in use.", "g2": "a taint", "g3": "a taint"},
            "0/3 nodes are available: 3 cannot allocate all claims. g2 and 1 more: a taint. g1: all are in use.",
            id="what holds on most nodes first",
        ),
    ],
)
def test_a_message_is_that_of_kube_scheduler_and_then_the_reasons_of_devices(
    rejections: dict[str, Rejection], explanations: dict[str, str], message: str
) -> None:
    assert Diagnosis(len(rejections), rejections, explanations).message() == message


def test_what_does_not_fit_into_an_event_is_left_out_by_the_sentence() -> None:
    nodes = {f"node-{number}": NO_DEVICES for number in range(8)}
    message = Diagnosis(8, nodes, {name: ", ".join([f"{name} lacks everything"] * 10) for name in nodes}).message()
    assert 700 < len(message) <= MESSAGE_BYTES
    assert message.startswith("0/8 nodes are available: 8 cannot allocate all claims. node-0: node-0 lacks")
    assert message.endswith("lacks everything.")


@pytest.mark.parametrize("letter", ["x", "ä"])
def test_one_explanation_that_is_too_long_is_cut(letter: str) -> None:
    """A claim of 32 requests has much to say, and its beginning is better than nothing."""
    message = Diagnosis(1, {"n": NO_DEVICES}, {"n": letter * 2000}).message()
    assert MESSAGE_BYTES - 1 <= len(message.encode()) <= MESSAGE_BYTES
    assert message.startswith(f"0/1 nodes are available: 1 cannot allocate all claims. n: {letter}")
    assert message.endswith(f"{letter} ...")
