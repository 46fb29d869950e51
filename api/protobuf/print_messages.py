"""Print the fields of Kubernetes' protobuf messages: what ``drakit_api.etcd`` reads and measures objects by.

    python api/protobuf/print_messages.py MODULES > api/drakit_api/etcd/messages.json

MODULES is a Go module cache's ``k8s.io`` directory with ``api@VERSION``, ``apimachinery@VERSION`` and
``apiextensions-apiserver@VERSION`` in it. Numbers and types are in each package's generated.proto; which fields are
pointers (so that zero means something) and which are embedded (so that JSON has no level of their own) is known only to
the tags of types.go beside it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

VERSION = "v0.37.1"
PACKAGES = (
    *("admissionregistration/v1", "apps/v1", "authentication/v1", "authorization/v1", "autoscaling/v1"),
    *("autoscaling/v2", "batch/v1", "certificates/v1", "coordination/v1", "core/v1", "discovery/v1", "events/v1"),
    *("flowcontrol/v1", "networking/v1", "node/v1", "policy/v1", "rbac/v1", "resource/v1", "resource/v1alpha3"),
    *("resource/v1beta1", "resource/v1beta2", "scheduling/v1", "storage/v1"),
    "storagemigration/v1",
)
META, EXTENSIONS = "meta/v1", "apiextensions/v1"
MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
MAP = re.compile(r"^  map<string, ([\w.]+)> (\w+) = (\d+);", re.MULTILINE)
PLAIN = re.compile(r"^  (optional|repeated) ([\w.]+) (\w+) = (\d+);", re.MULTILINE)
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
TAGGED = re.compile(r"^\s*(?:\w+ )?\s*([*\[\]\w.]+)\s+`(.*)`", re.MULTILINE)
SCALARS = {"string": "s", "bytes": "b", "bool": "t", "int32": "i", "int64": "i", "double": "d"}


def go_facts(text: str) -> dict[tuple[str, str], tuple[str, str]]:
    """Map struct and field to the name in JSON (``uid`` of ``uID``), ``*`` for pointers, ``<`` for embedded structs."""
    facts: dict[tuple[str, str], tuple[str, str]] = {}
    for struct, body in STRUCT.findall(text):
        for go_type, tags in TAGGED.findall(body):
            name = re.search(r'protobuf:"[^"]*name=(\w+)', tags)
            if name:
                embedded = "<" if re.search(r'json:"(,inline)?"', tags) else ""
                in_json = re.search(r'json:"([\w$-]+)', tags)
                marks = embedded + ("*" if go_type.startswith("*") else "")
                facts[struct, name[1]] = (in_json[1] if in_json else name[1], marks)
    return facts


def qualified(name: str, package: str) -> str:
    """Return ``core/v1.Pod``; scalars are one letter."""
    if name in SCALARS:
        return SCALARS[name]
    if "." not in name:
        return f"{package}.{name}"
    *_, group, version, message = name.split(".")
    if message in ("Quantity", "IntOrString", "RawExtension"):
        return message
    return f"{group}/{version}.{message}"


def messages(folder: Path, package: str) -> dict[str, dict[str, list[str]]]:
    """Return the fields of each message by number: name, type, and marks (``[`` list, ``{`` map, ``*``, ``<``)."""
    facts = go_facts("\n".join(file.read_text() for file in sorted(folder.glob("*types*.go"))))
    found: dict[str, dict[str, list[str]]] = {}
    for message, body in MESSAGE.findall((folder / "generated.proto").read_text()):
        fields: dict[str, list[str]] = {}
        for repeated, kind, name, number in PLAIN.findall(body):
            in_json, marks = facts.get((message, name), (name, ""))
            fields[number] = [in_json, qualified(kind, package), ("[" if repeated == "repeated" else "") + marks]
        for kind, name, number in MAP.findall(body):
            fields[number] = [name, qualified(kind, package), "{"]
        found[f"{package}.{message}"] = fields
    return found


def main(modules: Path) -> None:
    """Write all messages as one line of JSON each."""
    table = messages(modules / f"apimachinery@{VERSION}" / "pkg/apis/meta/v1", META)
    for package in PACKAGES:
        table |= messages(modules / f"api@{VERSION}" / package, package)
    table |= messages(modules / f"apiextensions-apiserver@{VERSION}" / "pkg/apis" / EXTENSIONS, EXTENSIONS)
    lines = (
        f"{json.dumps(name)}: {json.dumps(fields, separators=(',', ':'))}" for name, fields in sorted(table.items())
    )
    print("{\n" + ",\n".join(lines) + "\n}")


main(Path(sys.argv[1]))
