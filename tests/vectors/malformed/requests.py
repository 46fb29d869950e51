"""Damage to requests: to the object in the body, to its text, and to what the headers and the query say of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tests.vectors.malformed import damage, odd, trees
from tests.vectors.malformed.vocabulary import Word

Step = dict[str, Any]

_JSON, _YAML = "application/json", "application/yaml"
MERGE, OPERATIONS = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, _APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
PATCHES = (MERGE, OPERATIONS, _APPLY)
_ODD_TYPES = (
    *(
        None,
        "",
        "text/plain",
        "application/xml",
        "application/cbor",
        "application/vnd.kubernetes.protobuf",
        "a",
        "/",
        "*/*",
    ),
    *(
        "application/json;charset=utf-8",
        "APPLICATION/JSON",
        "application/json; a",
        "application/json, application/yaml",
    ),
    *(
        'application/json; charset="utf',
        "application/apply-patch+cbor",
        "multipart/form-data",
        "application/json;a=b;a=c",
        *PATCHES,
        STRATEGIC,
    ),
)
_QUERIES = (
    *(("fieldValidation=Strict", "fieldValidation=Ignore", "fieldValidation=Warn", "dryRun=All", "fieldManager=m") * 4),
    *("pretty=true", "a=b", "%zz=1", "resourceVersion=x", "timeout=1s", "dryRun=All&dryRun=All", "force=false"),
    *("fieldValidation=x", "dryRun=x", "fieldManager=" + "m" * 200, "fieldManager=%00", "force=true", "force=x"),
    "fieldValidation=Strict&fieldValidation=Ignore",
)
_POINTERS = (
    "",
    "/",
    "//",
    "a",
    "/metadata/name",
    "/metadata/uid",
    "/kind",
    "/apiVersion",
    "/spec/-",
    "/~",
    "/~2",
    "/spec/01",
    "/spec/-1",
)
_LARGE = 4 * 1024 * 1024
_IN_YAML = 0.06
# Shares of requests: with other headers, another query, and a text that is damaged itself.
_RETYPED, _ASKED_OTHERWISE, _TORN = 0.05, 0.25, 0.05


def damaged(
    step: Step, words: Sequence[Word], chance: Random, *, patches: Sequence[str] = (*PATCHES, STRATEGIC)
) -> Step:
    """Make a damaged request of one with a ``body``; ``patches`` are the types of which a patch may be."""
    body = step["body"]
    made = {key: value for key, value in step.items() if key not in ("body", "response", "vital", "save", "generated")}
    made["headers"] = dict(step.get("headers") or {})
    if step["method"] == "PATCH":
        _choose_patch(made, patches, chance)
    tree = damage.damaged(body, words, chance)
    if made["headers"].get("Content-Type") == OPERATIONS and not isinstance(body, list):
        tree = operations(body, words, chance)
    made["raw"] = trees.text(tree)
    if step["method"] != "PATCH" and chance.random() < _IN_YAML:
        made["headers"]["Content-Type"] = _YAML
        made["raw"] = _in_yaml(made["raw"], chance)
    if chance.random() < _RETYPED:
        made["headers"]["Content-Type"] = chance.choice(_ODD_TYPES)
    if chance.random() < _TORN:
        made["raw"] = torn(made["raw"], chance)
    if chance.random() < _ASKED_OTHERWISE:
        made["path"] += ("&" if "?" in made["path"] else "?") + chance.choice(_QUERIES)
    return made


def dry(step: Step) -> Step:
    """The same request, of which nothing remains."""
    return {**step, "path": step["path"] + ("&" if "?" in step["path"] else "?") + "dryRun=All"}


def _choose_patch(step: Step, patches: Sequence[str], chance: Random) -> None:
    """Leave the kind of patch as it is, mostly; an apply has somebody who applies."""
    if "Content-Type" not in step["headers"] or chance.random() < 0.4:
        step["headers"]["Content-Type"] = chance.choice(patches)
    if step["headers"]["Content-Type"] == _APPLY and "fieldManager" not in step["path"] and chance.random() < 0.9:
        step["path"] += (
            "&" if "?" in step["path"] else "?"
        ) + f"fieldManager=m&force={chance.choice(('true', 'false'))}"


def operations(body: Any, words: Sequence[Word], chance: Random) -> Any:
    """Make a JSON patch for an object like ``body``, which is wrong in one way or another."""
    pointers = [_pointer(path) for path in trees.paths(body)] + [_pointer(chance.choice(_POINTERS)) for _ in range(3)]
    values = [trees.at(body, path) for path in trees.paths(body)]
    found = []
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        operation: Step = {"op": chance.choice(("add", "replace", "remove", "test", "copy", "move", "add", "replace"))}
        if operation["op"] in ("copy", "move"):
            operation["from"] = chance.choice(pointers)
        operation["path"] = chance.choice(pointers) + chance.choice(
            ("", "", "", "/-", "/0", "/-1", "/00", "/a", "/~1", "/1e0")
        )
        if operation["op"] in ("add", "replace", "test"):
            operation["value"] = chance.choice((odd.value(chance), chance.choice(values)))
        found.append(operation)
    if chance.random() < 0.03:
        found *= odd.length(chance) * 3
    return damage.damaged(found, words, chance, times=1) if chance.random() < 0.5 else found


def _pointer(path: str | trees.Path) -> str:
    if isinstance(path, str):
        return path
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _in_yaml(text: str, chance: Random) -> str:
    """Write JSON as YAML: as it is, or with something that only YAML has."""
    return chance.choice(
        (
            text,
            f"---\n{text}\n",
            f"{text}\n---\n{text}",
            f"%YAML 1.1\n---\n{text}",
            text.replace(":", ": "),
            text.replace('"', "'"),
            text.replace(',"', ", ").replace('{"', "{").replace('":', ": "),
            text[:-1] + ", a: &a [1], b: *a, <<: {c: 1}}",
            text[:-1] + ", b: *a}",
            text[:-1] + ", a: !!binary aGk=, b: !!python/none x, c: !a b}",
            text[:-1] + ", a: 2020-01-01, b: 0o17, c: 017, d: 0x1f, e: 1_000, f: 1:30, g: .inf, h: .nan, i: yes, j: ~}",
            text[:-1] + ", a: &a [*a]}",
            "\t" + text,
            "a: b\n" + text,
            "- " + text,
        )
    )


def torn(text: str, chance: Random) -> str:
    """Damage the text itself. What is no UTF-8 has the form of Python's ``surrogateescape``."""
    place = chance.randint(0, len(text))
    ways: tuple[Callable[[], str], ...] = (
        lambda: text[:place],
        lambda: text[place:],
        lambda: text[:place] + "\udcff\udcfe" + text[place:],
        lambda: text[:place] + "\udced\udca0\udc80" + text[place:],
        lambda: text[:place] + chance.choice('{}[]",:\\\x00\x01 \n0') + text[place:],
        lambda: text[:place] + text[place + 1 :],
        lambda: "\ufeff" + text,
        lambda: text + chance.choice(("}", " ", "\x00", text, "null", "//", ",")),
        lambda: chance.choice(("", " ", "null", "[]", "{}", "1", '"a"', "true", "[{}]", "k8s\x00", "\x1f\udc8b\x08")),
        lambda: text.replace('"', "'"),
        lambda: text.replace(",", ",,", 1),
        lambda: text.replace("{", "{/**/", 1),
        lambda: json.dumps(text),
        lambda: "[" + text + "]",
        lambda: text[:-1] + ',"a":"' + "x" * _LARGE + '"}',
    )
    # What is large takes its time, and comes less often.
    return chance.choices(ways, [*[4] * (len(ways) - 1), 1])[0]()
