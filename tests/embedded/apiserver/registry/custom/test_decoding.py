"""Bodies of custom resources, however odd, are read or refused."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.custom.decoding import decode
from drakit_embedded.apiserver.scheme import definitions
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import StatusError
from tests.embedded.apiserver.registry.definitions.samples import definition, field


class _NoCluster:
    """Reading a body asks for nothing of the cluster."""


def _kind() -> Kind:
    crd = definition(field({"type": "string"}))
    crd["status"] |= {
        "acceptedNames": crd["spec"]["names"],
        "conditions": [{"type": "Established", "status": "True"}],
    }
    read = definitions.read(crd)
    assert read is not None
    return read.kinds()[0]


def _decoded(body: Object) -> Object:
    cluster: Any = _NoCluster()
    return decode({"apiVersion": "example.com/v1", "kind": "Widget", **body}, _kind(), "Ignore", cluster)[0]


def test_what_is_unknown_goes() -> None:
    assert _decoded({"metadata": {"name": "x", "odd": 1}, "a": "b", "c": {}}) == {"metadata": {"name": "x"}, "a": "b"}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"apiVersion": 1.5}, ".apiVersion accessor error: 1.5 is of the type float64, expected string"),
        ({"kind": [1]}, "Object 'Kind' is missing in"),
        (
            {"metadata": {"name": 1}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(body: Object, problem: str) -> None:
    with pytest.raises(StatusError) as raised:
        _decoded(body)
    assert raised.value.code == 400
    assert problem in raised.value.message
