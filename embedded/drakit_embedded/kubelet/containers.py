"""Containers that are not there: what they would be given, and when they would end.

A simulated container runs until its pod is deleted, unless something says when it ends:

- annotation ``drakit.dev/exit-after: 2s`` of the pod, for all its containers, or ``drakit.dev/exit-after.NAME`` for one
  (seconds, or a number with unit ``ms``, ``s``, ``m``); ``drakit.dev/exit-code`` and ``drakit.dev/exit-code.NAME`` go
  with it, 0 if unset;
- a command that is understood: ``true``, ``false``, ``sleep N``, ``exit N``, ``echo ...``, ``env``, alone or joined by
  ``;`` and ``&&`` in ``sh -c``. Any other command runs for ever, as a server does.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shlex
from dataclasses import dataclass, field
from datetime import UTC, datetime

from drakit_client.connection import Object
from drakit_embedded.kubelet.cdi import Edits

EXIT_AFTER = "drakit.dev/exit-after"
EXIT_CODE = "drakit.dev/exit-code"

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}
_SHELLS = {"sh", "bash", "ash", "/bin/sh", "/bin/bash", "/bin/ash"}
_REFERENCE = re.compile(r"\$\$|\$\(([^()]+)\)")


@dataclass(frozen=True, slots=True)
class Exit:
    """After how many seconds a container ends, and with which code."""

    seconds: float
    code: int


@dataclass(slots=True)
class Container:
    """One run of one container of a pod."""

    name: str
    lines: list[str]
    exit: Exit | None
    started: datetime
    id: str = field(default_factory=lambda: f"drakit://{secrets.token_hex(32)}")
    restarts: int = 0
    finished: datetime | None = None
    code: int = 0
    last: Object | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.finished is None

    def finish(self, code: int, when: datetime) -> None:
        """The process ends."""
        self.finished = when
        self.code = code
        self.ended.set()

    def seconds_left(self) -> float | None:
        """Until it ends by itself; None if it does not."""
        if self.exit is None:
            return None
        return self.exit.seconds - (datetime.now(UTC) - self.started).total_seconds()

    def state(self) -> Object:
        """``state`` of the container's status."""
        if self.finished is None:
            return {"running": {"startedAt": rfc3339(self.started)}}
        return {
            "terminated": {
                "exitCode": self.code,
                "reason": "Completed" if self.code == 0 else "Error",
                "startedAt": rfc3339(self.started),
                "finishedAt": rfc3339(self.finished),
                "containerID": self.id,
            }
        }


def rfc3339(when: datetime) -> str:
    """As ``metav1.Time`` prints it."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def planned_exit(pod: Object, container: Object) -> Exit | None:
    """When and how a container ends; raises ``ValueError`` for an annotation that cannot be read."""
    annotations = pod["metadata"].get("annotations") or {}
    name = container["name"]
    after = annotations.get(f"{EXIT_AFTER}.{name}", annotations.get(EXIT_AFTER))
    if after is not None:
        code = annotations.get(f"{EXIT_CODE}.{name}", annotations.get(EXIT_CODE, "0"))
        return Exit(_seconds(after), _exit_code(code))
    return _exit_of_command([*(container.get("command") or ()), *(container.get("args") or ())])


def _seconds(text: str) -> float:
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f'annotation {EXIT_AFTER}: "{text}" is not a duration; write for example 500ms, 2s or 1m')
    return float(match[1]) * _UNITS[match[2]]


def _exit_code(text: str) -> int:
    if not text.isdecimal() or int(text) > 255:
        raise ValueError(f'annotation {EXIT_CODE}: "{text}" is not an exit code; write a number from 0 to 255')
    return int(text)


def _exit_of_command(command: list[str]) -> Exit | None:
    if len(command) >= 3 and command[0] in _SHELLS and command[1] in ("-c", "-ec"):
        return _exit_of_script(command[2])
    return _exit_of_words(command)


def _exit_of_script(script: str) -> Exit | None:
    """A sequence of understood commands, in which only the last one, or ``exit``, gives the code."""
    seconds, code = 0.0, 0
    for part in re.split(r"(&&|;|\n)", script):
        part = part.strip()
        if part == "&&" and code:
            return Exit(seconds, code)
        if part in ("", ";", "&&"):
            continue
        try:
            words = shlex.split(part)
        except ValueError:
            return None
        step = _exit_of_words(words)
        if step is None:
            return None
        seconds, code = seconds + step.seconds, step.code
        if words[0] == "exit":
            break
    return Exit(seconds, code)


def _exit_of_words(words: list[str]) -> Exit | None:
    match words:
        case ["true" | "/bin/true"] | ["env" | "printenv"] | ["echo", *_]:
            return Exit(0.0, 0)
        case ["false" | "/bin/false"]:
            return Exit(0.0, 1)
        case ["sleep" | "/bin/sleep", duration] if (match := _DURATION.fullmatch(duration)) is not None:
            return Exit(float(match[1]) * _UNITS[match[2]], 0)
        case ["exit"]:
            return Exit(0.0, 0)
        case ["exit", code] if code.isdecimal():
            return Exit(0.0, int(code) % 256)
    return None


def environment(pod: Object, container: Object, edits: Edits, pod_ip: str) -> dict[str, str]:
    """Variables of a container: its own, then those of its devices, which win."""
    found = {"HOSTNAME": pod["spec"].get("hostname") or pod["metadata"]["name"]}
    for entry in container.get("env") or ():
        if "value" in entry or "valueFrom" not in entry:
            found[entry["name"]] = _expand(entry.get("value", ""), found)
        elif (value := _field(pod, entry["valueFrom"], pod_ip)) is not None:
            found[entry["name"]] = value
    return {**found, **edits.environment}


def _expand(text: str, known: dict[str, str]) -> str:
    """``$(NAME)`` of an earlier variable; ``$$`` is a dollar sign; what is unknown stays as it is."""
    return _REFERENCE.sub(lambda m: "$" if m[0] == "$$" else known.get(m[1], m[0]), text)


def _field(pod: Object, source: Object, pod_ip: str) -> str | None:
    """The downward API; config maps and secrets are not looked into."""
    path = (source.get("fieldRef") or {}).get("fieldPath", "")
    metadata, spec = pod["metadata"], pod["spec"]
    simple = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.podIP": pod_ip,
        "status.podIPs": pod_ip,
        "status.hostIP": "127.0.0.1",
    }
    if path in simple:
        return str(simple[path])
    match = re.fullmatch(r"metadata\.(labels|annotations)\['(.+)'\]", path)
    return (metadata.get(match[1]) or {}).get(match[2], "") if match is not None else None


def log_lines(variables: dict[str, str], edits: Edits) -> list[str]:
    """What ``kubectl logs`` shows: the environment as ``env`` prints it but sorted, then devices and mounts."""
    lines = [f"{name}={variables[name]}" for name in sorted(variables)]
    for node in edits.device_nodes:
        host = f" from {node['hostPath']}" if node.get("hostPath") else ""
        lines.append(f"# device {node['path']}{host}")
    for mount in edits.mounts:
        options = ",".join(mount.get("options") or ())
        lines.append(
            f"# mount {mount.get('hostPath')} on {mount.get('containerPath')}" + (f" ({options})" if options else "")
        )
    return lines
