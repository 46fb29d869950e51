"""What ``kubectl get`` shows of each kind: columns and cells, made by the server (``as=Table``).

Columns and their order are those of k8s.io/kubernetes/pkg/printers/internalversion/printers.go; kinds without an entry
have the name and the age, as kinds without a printer have in the real server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.wire import access_columns, admission_columns, columns, network_columns, workload_columns

Cells = Callable[[Object], list[Any]]
_PRINTERS = {
    **columns.PRINTERS,
    **workload_columns.PRINTERS,
    **network_columns.PRINTERS,
    **access_columns.PRINTERS,
    **admission_columns.PRINTERS,
}
_TYPES = {"#": "integer", "?": "boolean"}


@dataclass(frozen=True, slots=True)
class Printer:
    """The column definitions of a kind, and the function that fills a row."""

    columns: list[Object]
    cells: Cells


def of_kind(kind: Kind) -> Printer:
    """Find the printer of a kind; a custom resource has the columns of its definition."""
    if kind.definition is None:
        return printer(kind.group, kind.plural)
    # Imported here, as most clusters have no custom resources.
    from drakit_embedded.apiserver.wire import custom_columns

    version = kind.definition.versions[kind.version]
    found: Printer = version.compiled("columns", lambda _: Printer(*custom_columns.of(version)))
    return found


@cache
def printer(group: str, plural: str) -> Printer:
    """Find the printer of a kind; the default one if it has none of its own."""
    names, cells = _PRINTERS.get((group, plural), columns.DEFAULT)
    described = admission_columns.DESCRIPTIONS if group == admission_columns.GROUP else {}
    return Printer([_column(name, described) for name in names], cells)


def _column(text: str, described: Mapping[str, str]) -> Object:
    """Parse a column: ``Name``; ``-Name`` for ``-o wide`` only; ``Name#`` is an integer, ``Name?`` a boolean."""
    name = text.strip("-#?")
    return {
        "name": name,
        "type": _TYPES.get(text[-1], "string"),
        "format": "name" if name == "Name" else "",
        "description": described.get(name, ""),
        "priority": 1 if text.startswith("-") else 0,
    }
