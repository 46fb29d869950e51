"""What simulated containers are given, and when they end."""

from __future__ import annotations

import tracemalloc

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_embedded.kubelet.cdi import Edits
from drakit_embedded.kubelet.cdi_specs import DeviceNode, Mount
from drakit_embedded.kubelet.commands import Exit
from drakit_embedded.kubelet.containers import (
    Launch,
    StartError,
    declared_variables,
    environment,
    expand,
    launch,
    log_lines,
)


def pod(**annotations: str) -> Object:
    metadata = {"name": "p", "namespace": "default", "uid": "u", "labels": {"app": "x"}}
    metadata["annotations"] = {f"drakit.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {"metadata": metadata, "spec": {"nodeName": "n"}}


def course(container: Object, **annotations: str) -> Launch:
    return launch(pod(**annotations), {"name": "c", **container}, Edits(), "10.0.0.1")


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
    assert course({"command": ["sleep", "9"]}, **annotations).exit == expected


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
        course({}, **annotations)


def test_environment_has_literals_fields_and_devices_in_this_order() -> None:
    env = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)-$$(A)-$(UNKNOWN)-$(HOSTNAME)"},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "OVERRIDDEN", "value": "by the pod"},
    ]
    edits = Edits(environment={"OVERRIDDEN": "by the device"})
    declared = declared_variables(pod(), {"name": "c", "env": env}, "10.0.0.1")
    assert environment(pod(), declared, edits) == {
        "HOSTNAME": "p",
        "A": "1",
        # The runtime sets the host name later.
        "B": "1-$(A)-$(UNKNOWN)-$(HOSTNAME)",
        "NODE": "n",
        "APP": "x",
        "IP": "10.0.0.1",
        "OVERRIDDEN": "by the device",
    }


def test_the_log_is_the_environment_then_devices_then_mounts() -> None:
    edits = Edits(
        device_nodes=[DeviceNode(path="/dev/a"), DeviceNode(path="/dev/b", host_path="/dev/c")],
        mounts=[Mount(host_path="/h", container_path="/c", options=["ro", "bind"])],
    )
    assert [line.text.removesuffix("\n") for line in log_lines({"B": "2", "A": "1"}, edits)] == [
        "A=1",
        "B=2",
        "# device /dev/a",
        "# device /dev/b from /dev/c",
        "# mount /h on /c (ro,bind)",
    ]


# After third_party/forked/golang/expansion/expand.go.
@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)", "1"),
        ("$(A)$(A)", "11"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A ${A}", "$A ${A}"),
        ("$(A", "$(A"),
        ("$()", "$()"),
        ("$(x$(A))", "$(x$(A))"),
        ("cost: $", "cost: $"),
    ],
)
def test_references_are_put_in_as_the_kubelet_does(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1"}) == expanded


def test_command_and_arguments_may_refer_to_variables() -> None:
    env = [{"name": "A", "value": "1"}]
    launched = course({"command": ["echo", "$(A)"], "args": ["$$(A)", "$(B)"], "env": env})
    assert "".join(each.text for each in launched.output) == "1 $(A) $(B)\n"


def test_a_command_that_prints_nothing_known_logs_what_it_was_given() -> None:
    for command in (["sleep", "9"], ["true"], ["/server"], []):
        assert [each.text for each in course({"command": command}).output] == ["HOSTNAME=p\n"]


def doubling(times: int) -> list[Object]:
    return [
        {"name": "V0", "value": "x"},
        *({"name": f"V{n}", "value": f"$(V{n - 1})$(V{n - 1})"} for n in range(1, times)),
    ]


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"env": doubling(40)}, "argument list too long"),
        ({"env": [{"name": f"N{n}", "value": "x" * 100_000} for n in range(30)]}, "argument list too long"),
        ({"env": doubling(16), "args": ["$(V15)" * 1000]}, "argument list too long"),
        ({"args": ["x" * 131_072]}, "argument list too long"),
        ({"env": [*doubling(17), *({"name": f"C{n}", "value": "$(V16)"} for n in range(30_000))]}, "too long"),
        ({"env": doubling(17), "args": ["$(V16)"] * 100_000}, "too long"),
        ({"env": [{"name": "A", "value": "a\0b"}]}, "'A' contains a NUL byte"),
    ],
    ids=["doubled", "many", "argument of variables", "long argument", "copies", "copied arguments", "NUL"],
)
def test_what_linux_cannot_start_is_not_started(container: Object, message: str) -> None:
    with pytest.raises(StartError, match=message):
        course(container)


@pytest.mark.parametrize(
    "container",
    [
        {"env": doubling(60)},
        {"env": doubling(16), "args": ["$(V15)"] * 10_000},
        {"env": [*doubling(16), *({"name": f"N{n}", "value": "$(V15)"} for n in range(10_000))]},
    ],
    ids=["doubled", "in arguments", "in variables"],
)
def test_variables_of_variables_do_not_fill_the_memory(container: Object) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(StartError):
            course(container)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 16 * 1024 * 1024
