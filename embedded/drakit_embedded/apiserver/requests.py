"""What a client asks for, read from method, path and query before anything else is looked at.

Paths are taken apart by hand: they have one fixed form (k8s.io/apiserver/pkg/endpoints/request/requestinfo.go), and a
routing table with a pattern for each kind, verb and subresource would be slower than all the rest of a small request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, unquote_plus

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_embedded.apiserver.managedfields import managers
from drakit_embedded.apiserver.statuses import Cause, bad_request, invalid

_INTEGER = re.compile(r"[+-]?[0-9]+")
_BROKEN = re.compile(r"%(?![0-9a-fA-F]{2})")
# Go's time.ParseDuration.
_AMOUNT = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)")
_DURATION = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_TOO_LARGE = 2**63
# Longer numbers are not parsed: leading zeros aside, they are too large.
_MOST_DIGITS = 64
_FIELD_VALIDATION = ("", "Ignore", "Strict", "Warn")
_NO_OPTIONS: ReadOnlyObject = {}
NAMESPACE_SUBRESOURCES = ("status", "finalize")


@dataclass(frozen=True, slots=True)
class Target:
    """A path below a group and version: a collection, an object or a subresource."""

    group: str
    version: str
    namespace: str | None
    plural: str
    name: str | None = None
    subresource: str | None = None


def split_path(path: str) -> list[str]:
    """Unescape a URL path, slashes included, and split it into segments; a slash at the end counts for nothing."""
    return (unquote(path) if "%" in path else path).strip("/").split("/")


def target(group: str, version: str, rest: list[str]) -> Target | None:
    """Read what stands behind the version, or None if it is no path of a resource."""
    namespace = None
    if len(rest) >= 3 and rest[0] == "namespaces" and rest[2] not in NAMESPACE_SUBRESOURCES:
        # A list of namespaces is not within a namespace.
        namespace, rest = rest[1] or None, rest[2:]
    if not 1 <= len(rest) <= 3 or not all(rest):
        return None
    return Target(group, version, namespace, *rest)


class Query:
    """The parameters of a request, typed; a value that cannot be read is a 400 in the words of Go's strconv."""

    __slots__ = ("_query", "_values")

    def __init__(self, query: str) -> None:
        self._query = query
        self._values: dict[str, str] = {}
        if query:
            for key, value in _parameters(query):
                self._values.setdefault(key, value)

    def given(self, key: str) -> bool:
        """Check whether the parameter occurs, with a value or without."""
        return key in self._values

    def texts(self, key: str) -> list[str]:
        """Read all values of a parameter that may occur several times."""
        return [value for found, value in _parameters(self._query) if found == key]

    def text(self, key: str) -> str:
        """Read the first value of a parameter; empty if absent."""
        return self._values.get(key, "")

    def flag(self, key: str) -> bool:
        """Check whether a parameter is set: only absence, ``0`` and ``false`` say no, as in runtime/conversion.go."""
        value = self._values.get(key)
        return value is not None and value != "0" and value.lower() != "false"

    def number(self, key: str) -> int | None:
        """Read a decimal int64, or None if absent.

        Raises:
            StatusError: 400 if it is not a decimal int64.
        """
        text = self._values.get(key)
        if text is None:
            return None
        if _INTEGER.fullmatch(text) is None:
            raise bad_request(f"strconv.ParseInt: parsing {quote(text)}: invalid syntax")
        number = int(text) if len(text) <= _MOST_DIGITS else _TOO_LARGE
        if not -_TOO_LARGE <= number < _TOO_LARGE:
            raise bad_request(f"strconv.ParseInt: parsing {quote(text)}: value out of range")
        return number

    def check_timeout(self) -> None:
        """Refuse a malformed ``timeout`` with 400 (k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go)."""
        text = self.text("timeout")
        if text and _DURATION.fullmatch(text) is None:
            why = "missing unit in" if _AMOUNT.fullmatch(text) else "invalid"
            fault = f"time: {why} duration {quote(text)}"
            raise bad_request(f"invalid timeout specified in the request URL - {fault}")

    def timeout(self) -> float:
        """Read the seconds that a client gives a request, which ``check_timeout`` has found well-formed; 0 if none."""
        text = self.text("timeout")
        seconds = sum(float(amount) * _UNITS[unit] for amount, unit in _PART.findall(text))
        return -seconds if text.startswith("-") else seconds

    def options(self) -> ReadOnlyObject:
        """Read the fields of CreateOptions and UpdateOptions, without those that are empty."""
        if not self._values:
            return _NO_OPTIONS
        found: Object = {key: self._values[key] for key in ("fieldManager", "fieldValidation") if self._values.get(key)}
        return {"dryRun": self.texts("dryRun"), **found} if "dryRun" in self._values else found

    def dry_run(self, options: str, *, applying: bool = False) -> bool:
        """Check whether nothing is to be stored. Checks the other options, too; ``options`` names their kind."""
        if not self._values and not applying:
            return False
        field_manager = self.text("fieldManager")
        faults: list[Cause] = []
        if options == "PatchOptions":
            faults += managers.apply_faults(field_manager, self._values.get("force"), applying=applying)
        faults += managers.faults(field_manager)
        asked = self.texts("dryRun") if "dryRun" in self._values else []
        faults += dry_run_faults(asked)
        validation = self._values.get("fieldValidation", "")
        if validation not in _FIELD_VALIDATION:
            supported = ", ".join(f'"{value}"' for value in _FIELD_VALIDATION)
            message = f'Unsupported value: "{validation}": supported values: {supported}'
            faults.append(Cause("FieldValueNotSupported", "fieldValidation", message))
        if faults:
            raise invalid(options, "meta.k8s.io", "", faults)
        return bool(asked)


def dry_run_faults(asked: Sequence[str]) -> list[Cause]:
    """List what is wrong with the values of ``dryRun`` (ValidateDryRun, apimachinery/pkg/apis/meta/v1/validation)."""
    if not set(asked) - {"All"}:
        return []
    message = f'Unsupported value: [{",".join(map(quote, asked))}]: supported values: "All"'
    return [Cause("FieldValueNotSupported", "dryRun", message)]


def _parameters(query: str) -> Iterator[tuple[str, str]]:
    """Parse keys and values; as in Go's net/url, those with a semicolon or a broken escape are skipped."""
    for parameter in query.split("&"):
        if parameter and ";" not in parameter and ("%" not in parameter or _BROKEN.search(parameter) is None):
            key, _, value = parameter.partition("=")
            yield unquote_plus(key), unquote_plus(value)


def resource_version(text: str) -> int | None:
    """Parse a ``resourceVersion`` parameter; None stands for "any".

    Raises:
        ValueError: if it is not an unsigned number, in Go's words.
    """
    if not text:
        return None
    try:
        return unsigned(text)
    except ValueError as error:
        raise ValueError(f"resourceVersion: Invalid value: {quote(text)}: {error}") from None


def unsigned(text: str, *, bits: int = 64) -> int:
    """Parse as ``strconv.ParseUint`` with these bits does.

    Raises:
        ValueError: in the words of that function.
    """
    digits = text.lstrip("0") or text[:1]
    wrong = ""
    if not (digits.isascii() and digits.isdigit()):
        wrong = "invalid syntax"
    elif len(digits) > _MOST_DIGITS or int(digits) >= 2**bits:
        wrong = "value out of range"
    if wrong:
        raise ValueError(f"strconv.ParseUint: parsing {quote(text)}: {wrong}")
    return int(digits)
