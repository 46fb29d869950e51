"""Request bodies: bytes to an object of the expected kind, or the refusal that kube-apiserver would give.

k8s.io/apimachinery/pkg/runtime/serializer decodes in this order: format, type, structure. The first two are here, the
third is in ``registry.structures``.
"""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from drakit_embedded.apiserver import protobuf, statuses
from drakit_embedded.apiserver.registry.kinds import Kind
from drakit_embedded.apiserver.statuses import Object, StatusError

_JSON = ("application/json", "")
_YAML = ("application/yaml", "text/yaml", "application/x-yaml")
_decode = msgspec.json.Decoder().decode


def parse(raw: bytes, content_type: str, kind: str) -> Object:
    """The object in a body; 400 if it is none, 415 if the format is not read here."""
    media = content_type.partition(";")[0].strip().lower()
    if media in _JSON:
        return _parse_json(raw, kind)
    if media in _YAML:
        return _parse_yaml(raw, kind)
    if media == protobuf.MEDIA_TYPE:
        try:
            return protobuf.decode(raw)
        except protobuf.ProtobufError as error:
            raise statuses.bad_request(f"the body cannot be read as protobuf: {error}") from None
    raise statuses.unsupported_body()


def _parse_json(raw: bytes, kind: str) -> Object:
    try:
        obj = _decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        why = "unexpected end of JSON input" if "truncated" in str(error) else str(error)
        raise _unrecognized(raw, kind, why) from None
    if not isinstance(obj, dict):
        raise _unrecognized(
            raw, kind, f"json: cannot unmarshal {go_type(obj)} into Go value of type map[string]interface {{}}"
        )
    return obj


def _parse_yaml(raw: bytes, kind: str) -> Object:
    try:
        if b"*" in raw and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(raw, Loader=_Loader)):
            # A few lines of them can stand for gigabytes.
            raise statuses.bad_request("aliases in YAML bodies are not read here: write the value out")
        obj = yaml.load(raw, Loader=_Loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _unrecognized(raw, kind, f"yaml: {str(error).splitlines()[0]}") from None
    if not isinstance(obj, dict):
        raise _unrecognized(
            raw, kind, f"json: cannot unmarshal {go_type(obj)} into Go value of type map[string]interface {{}}"
        )
    return obj


class _Loader(yaml.CSafeLoader):
    """YAML as JSON: dates are strings, and so are all keys."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        return {str(key): value for key, value in super().construct_mapping(node, deep=deep).items()}


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _unrecognized(raw: bytes, kind: str, why: str) -> StatusError:
    shown = raw[:1024].decode(errors="replace")
    return statuses.bad_request(
        f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; "
        f"json parse error: {why} ({shown})"
    )


def typed(obj: Object, kind: Kind) -> Object:
    """Check and take off ``kind`` and ``apiVersion``; a body without them is taken for what the path says."""
    found_kind, found_version = obj.pop("kind", None) or kind.kind, obj.pop("apiVersion", None) or kind.api_version
    if found_version != kind.api_version:
        raise statuses.bad_request(
            f"the API version in the data ({found_version}) does not match the expected API version "
            f"({kind.api_version})"
        )
    if found_kind != kind.kind:
        version, group = kind.version, kind.group.partition(".")[0] or "core"
        raise statuses.bad_request(
            f'{found_kind} in version "{version}" cannot be handled as a {kind.kind}: converting '
            f"({version}.{found_kind}) to ({group}.{kind.kind}): unknown conversion"
        )
    return obj


def go_type(value: object) -> str:
    """What Go's JSON decoder calls a value."""
    if isinstance(value, bool):
        return "bool"
    return {dict: "object", list: "array", str: "string", int: "number", float: "number"}.get(type(value), "null")
