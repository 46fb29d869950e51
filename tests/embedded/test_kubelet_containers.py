"""What simulated containers are given, and when they end."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_embedded.kubelet.cdi import Edits
from drakit_embedded.kubelet.containers import Exit, environment, log_lines, planned_exit

Object = dict[str, Any]


def pod(**annotations: str) -> Object:
    metadata = {"name": "p", "namespace": "default", "uid": "u", "labels": {"app": "x"}}
    metadata["annotations"] = {f"drakit.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {"metadata": metadata, "spec": {"nodeName": "n"}}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ([], None),
        (["/bin/server", "--port=80"], None),
        (["sleep", "infinity"], None),
        (["sleep", "2"], Exit(2, 0)),
        (["true"], Exit(0, 0)),
        (["false"], Exit(0, 1)),
        (["sh", "-c", "env; sleep 3600"], Exit(3600, 0)),
        (["sh", "-c", "sleep 1 && exit 3; sleep 9"], Exit(1, 3)),
        (["sh", "-c", "false && sleep 9"], Exit(0, 1)),
        (["sh", "-c", "false; sleep 1"], Exit(1, 0)),
        (["sh", "-c", "run-training --steps 5"], None),
        (["sh", "-c", "echo 'unbalanced"], None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_commands_that_are_understood_end(command: list[str], expected: Exit | None) -> None:
    assert planned_exit(pod(), {"name": "c", "command": command}) == expected
    assert planned_exit(pod(), {"name": "c", "command": command[:1], "args": command[1:]}) == expected


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"exit_after": "500ms"}, Exit(0.5, 0)),
        ({"exit_after": "2", "exit_code": "3"}, Exit(2, 3)),
        ({"exit_after": "1m", "exit_after.c": "0"}, Exit(0, 0)),
        ({"exit_after": "1s", "exit_code": "1", "exit_code.c": "0"}, Exit(1, 0)),
    ],
    ids=str,
)
def test_annotations_say_when_a_container_ends(annotations: dict[str, str], expected: Exit) -> None:
    assert planned_exit(pod(**annotations), {"name": "c", "command": ["sleep", "9"]}) == expected


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ({"exit_after": "soon"}, 'annotation drakit.dev/exit-after: "soon" is not a duration'),
        ({"exit_after": "1s", "exit_code": "256"}, 'annotation drakit.dev/exit-code: "256" is not an exit code'),
    ],
    ids=["duration", "code"],
)
def test_annotations_that_cannot_be_read_are_refused(annotations: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        planned_exit(pod(**annotations), {"name": "c"})


def test_environment_has_literals_fields_and_devices_in_this_order() -> None:
    env = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)-$$(A)-$(UNKNOWN)"},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "OVERRIDDEN", "value": "by the pod"},
    ]
    edits = Edits(environment={"OVERRIDDEN": "by the device"})
    assert environment(pod(), {"name": "c", "env": env}, edits, "10.0.0.1") == {
        "HOSTNAME": "p",
        "A": "1",
        "B": "1-$(A)-$(UNKNOWN)",
        "NODE": "n",
        "APP": "x",
        "IP": "10.0.0.1",
        "OVERRIDDEN": "by the device",
    }


def test_the_log_is_the_environment_then_devices_then_mounts() -> None:
    edits = Edits(
        device_nodes=[{"path": "/dev/a"}, {"path": "/dev/b", "hostPath": "/dev/c"}],
        mounts=[{"hostPath": "/h", "containerPath": "/c", "options": ["ro", "bind"]}],
    )
    assert log_lines({"B": "2", "A": "1"}, edits) == [
        "A=1",
        "B=2",
        "# device /dev/a",
        "# device /dev/b from /dev/c",
        "# mount /h on /c (ro,bind)",
    ]
