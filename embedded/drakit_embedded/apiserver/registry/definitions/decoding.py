"""Reading the body of a definition: its schemas decode themselves, all else does as in other kinds."""

from __future__ import annotations

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.decoding import DecodeError
from drakit_embedded.apiserver.registry.definitions.schema_reading import SchemaReader, TooDeepError
from drakit_embedded.apiserver.registry.strategy import Cluster
from drakit_embedded.apiserver.scheme import empties, structures
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import bad_request

_SCHEMA = "openAPIV3Schema"
_STACK = f"spec.versions.schema.{_SCHEMA}"


def decode(obj: Object, kind: Kind, validation: str, cluster: Cluster) -> tuple[Object, list[str]]:
    """Decode a body, and drop empty fields; also returns warnings."""
    decoded, complaints = structures.read(obj, kind)
    for place, version in enumerate((decoded.get("spec") or {}).get("versions") or ()):
        validated = version.get("schema") or {}
        if validated.get(_SCHEMA) is None:
            continue
        has_status = (version.get("subresources") or {}).get("status") is not None
        # What is empty at the root is refused where there is a status, and means nothing elsewhere.
        reader = SchemaReader(f"spec.versions[{place}].schema.{_SCHEMA}", _STACK, keeps_empty=has_status)
        try:
            validated[_SCHEMA] = reader.read(validated[_SCHEMA])
        except (DecodeError, TooDeepError) as error:
            raise _unreadable(kind, str(error)) from None
        if problem := reader.wrong_type or reader.unconvertible:
            raise _unreadable(kind, problem)
        complaints += tuple(f"{what} field {quote(path)}" for what, path in reader.complaints)
    warnings = structures.judged(complaints, kind, validation)
    empties.drop(decoded, *structures.types_of(kind))
    return decoded, warnings


def _unreadable(kind: Kind, problem: str) -> Exception:
    return bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {problem}')
