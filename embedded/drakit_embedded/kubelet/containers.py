"""Containers that are not there: what they would be given, what they would print, and when they would end.

A simulated container runs until its pod is deleted, unless something says when it ends:

- annotation ``drakit.dev/exit-after: 2s`` of the pod, for all its containers, or ``drakit.dev/exit-after.NAME`` for one
  (seconds, or a number with unit ``ms``, ``s``, ``m``, ``h``, ``d``); ``drakit.dev/exit-code`` and
  ``drakit.dev/exit-code.NAME`` go with it, 0 if unset;
- a command that is understood (``commands``). Any other command runs for ever, as a server does.

Its log is what such a command prints; of a command of which nothing is known that it prints, what it was given.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.kubelet import commands
from drakit_embedded.kubelet.cdi import Edits
from drakit_embedded.kubelet.cdi_specs import DeviceNode, Mount
from drakit_embedded.kubelet.commands import Exit, Printed

EXIT_AFTER = "drakit.dev/exit-after"
EXIT_CODE = "drakit.dev/exit-code"

_REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)")
# Limits of Linux (execve(2)): one argument or variable, and all of them with the usual stack limit.
_STRING_BYTES = 128 * 1024
_ALL_BYTES = 2 * 1024 * 1024


class StartError(Exception):
    """A process that cannot be started with what it is given; the message is for the pod's events."""


@dataclass(slots=True)
class Container:
    """One run of one container of a pod."""

    name: str
    output: list[Printed]
    exit: Exit | None
    started: datetime
    id: str = field(default_factory=lambda: f"drakit://{secrets.token_hex(32)}")
    restarts: int = 0
    finished: datetime | None = None
    code: int = 0
    last: Object | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    # What it was given.
    variables: Mapping[str, str] = field(default_factory=dict)
    mounts: Sequence[Mount] = ()
    devices: Sequence[DeviceNode] = ()

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.finished is None

    def finish(self, code: int, when: datetime) -> None:
        """End the process with an exit code."""
        self.finished = when
        self.code = code
        self.ended.set()

    def seconds_left(self) -> float | None:
        """Compute the seconds until it ends by itself; None if it does not."""
        if self.exit is None:
            return None
        return self.exit.seconds - (datetime.now(UTC) - self.started).total_seconds()

    def printed(self) -> list[tuple[datetime, str]]:
        """List what it has printed by now, or until it ended: mostly whole lines, each with its time."""
        end = self.finished or datetime.now(UTC)
        due = ((self.started + timedelta(seconds=each.seconds), each.text) for each in self.output)
        return [(when, text) for when, text in due if when <= end]

    def next_print(self) -> float | None:
        """Compute the seconds until it prints again; None if it does not."""
        if self.finished is not None:
            return None
        past = (datetime.now(UTC) - self.started).total_seconds()
        return min((each.seconds - past for each in self.output if each.seconds > past), default=None)

    def state(self) -> Object:
        """Build ``state`` of the container's status."""
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
    """Print a time as ``metav1.Time`` does."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Launch:
    """What a container is started with, and what it will do then."""

    output: list[Printed]
    exit: Exit | None
    variables: Mapping[str, str] = field(default_factory=dict)
    mounts: Sequence[Mount] = ()
    devices: Sequence[DeviceNode] = ()

    def container(self, name: str, started: datetime) -> Container:
        """Start it."""
        return Container(
            name,
            self.output,
            self.exit,
            started,
            variables=self.variables,
            mounts=self.mounts,
            devices=self.devices,
        )


def launch(pod: Object, container: Object, edits: Edits, pod_ip: str) -> Launch:
    """Work out what a container prints and how it ends, from its spec and its devices.

    Raises:
        ValueError: for an annotation that cannot be read.
        StartError: if the container could not be started.
    """
    annotated = annotated_exit(pod, container["name"])
    declared = declared_variables(pod, container, pod_ip)
    words = _expanded((*(container.get("command") or ()), *(container.get("args") or ())), declared)
    variables = environment(pod, declared, edits)
    _check_size(words, variables)
    course = commands.course(words, variables)
    output = log_lines(variables, edits) if course.output is None else course.output
    return Launch(output, annotated or course.exit, variables, edits.mounts, edits.device_nodes)


def annotated_exit(pod: Object, name: str) -> Exit | None:
    """Read from annotations when and how a container ends; raises ``ValueError`` for malformed ones."""
    annotations = pod["metadata"].get("annotations") or {}
    after = annotations.get(f"{EXIT_AFTER}.{name}", annotations.get(EXIT_AFTER))
    if after is None:
        return None
    code = annotations.get(f"{EXIT_CODE}.{name}", annotations.get(EXIT_CODE, "0"))
    return Exit(_seconds(after), _exit_code(code))


def _seconds(text: str) -> float:
    seconds = commands.seconds(text)
    if seconds is None:
        raise ValueError(f'annotation {EXIT_AFTER}: "{text}" is not a duration; write for example 500ms, 2s or 1m')
    return seconds


def _exit_code(text: str) -> int:
    if not text.isdecimal() or int(text) > 255:
        raise ValueError(f'annotation {EXIT_CODE}: "{text}" is not an exit code; write a number from 0 to 255')
    return int(text)


def declared_variables(pod: Object, container: Object, pod_ip: str) -> dict[str, str]:
    """Resolve the variables of a container's spec, in order; each may refer to those before it.

    Raises:
        StartError: if they are longer than arguments may be.
    """
    found: dict[str, str] = {}
    length = 0
    for entry in container.get("env") or ():
        if "value" in entry or "valueFrom" not in entry:
            found[entry["name"]] = expand(entry.get("value", ""), found)
        elif (value := field_value(pod, entry["valueFrom"], pod_ip)) is not None:
            found[entry["name"]] = value
        length += len(found.get(entry["name"], ""))
        if length > _ALL_BYTES:
            raise StartError("argument list too long")
    return found


def _expanded(words: Iterable[str], known: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    length = 0
    for word in words:
        found.append(expand(word, known))
        length += len(found[-1])
        if length > _ALL_BYTES:
            raise StartError("argument list too long")
    return found


def environment(pod: Object, declared: Mapping[str, str], edits: Edits) -> dict[str, str]:
    """Collect all variables of a container: its own, then those of its devices, which win."""
    hostname = pod["spec"].get("hostname") or pod["metadata"]["name"]
    return {"HOSTNAME": hostname, **declared, **edits.environment}


def expand(text: str, known: Mapping[str, str]) -> str:
    """Replace ``$(NAME)`` by the variable's value; ``$$`` is a dollar sign; what is unknown stays as it is.

    As k8s.io/kubernetes/third_party/forked/golang/expansion does. Raises ``StartError`` for what becomes too long, as
    each variable may contain the one before it several times.
    """
    parts: list[str] = []
    length = at = 0
    for match in _REFERENCE.finditer(text):
        value = "$" if match[0] == "$$" else known.get(match[1], match[0])
        length += match.start() - at + len(value)
        if length > _STRING_BYTES:
            raise StartError("argument list too long")
        parts += (text[at : match.start()], value)
        at = match.end()
    return "".join((*parts, text[at:]))


def _check_size(words: list[str], variables: Mapping[str, str]) -> None:
    strings = [*words, *(f"{name}={value}" for name, value in variables.items())]
    sizes = [len(string.encode()) + 1 for string in strings]
    if any(size > _STRING_BYTES for size in sizes) or sum(sizes) > _ALL_BYTES:
        raise StartError("argument list too long")
    if with_nul := next((string for string in strings if "\0" in string), None):
        raise StartError(f"{with_nul.partition('=')[0][:60]!r} contains a NUL byte")


def field_value(pod: Object, source: Object, pod_ip: str) -> str | None:
    """Resolve a value of the downward API; None for what it does not know, as ConfigMaps and resources.

    After k8s.io/kubernetes/pkg/fieldpath/fieldpath.go.
    """
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
    if path in ("metadata.labels", "metadata.annotations"):
        entries = metadata.get(path.partition(".")[2]) or {}
        return "\n".join(f"{key}={quote(entries[key])}" for key in sorted(entries))
    match = re.fullmatch(r"metadata\.(labels|annotations)\['(.+)'\]", path)
    return (metadata.get(match[1]) or {}).get(match[2], "") if match is not None else None


def log_lines(variables: dict[str, str], edits: Edits) -> list[Printed]:
    """Print what a container was given: the environment as ``env`` does, but sorted, then devices and mounts."""
    lines = [f"{name}={variables[name]}" for name in sorted(variables)]
    for node in edits.device_nodes:
        host = f" from {node.host_path}" if node.host_path else ""
        lines.append(f"# device {node.path}{host}")
    for mount in edits.mounts:
        options = ",".join(mount.options or ())
        lines.append(f"# mount {mount.host_path} on {mount.container_path}" + (f" ({options})" if options else ""))
    return [Printed(0.0, f"{line}\n") for line in lines]
