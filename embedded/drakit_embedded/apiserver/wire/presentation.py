"""Answers in YAML, and JSON for people: what is encoded already is encoded anew for the few that want it otherwise.

After k8s.io/apiserver pkg/endpoints/handlers/negotiation/negotiate.go: by the ``Accept`` header, the parameter
``pretty``, or because browsers and command line tools ask.
"""

from __future__ import annotations

import re

import msgspec
import yaml
from aiohttp import web

from drakit_embedded.apiserver.requests import Query
from drakit_embedded.apiserver.wire import negotiation

_PEOPLE = ("curl", "Wget", "Mozilla/5.0")
_ALWAYS_JSON = ("/",)
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))


# What a reader of YAML may take for something else than a text (resolve.go and encode.go of gopkg.in/yaml.v2).
_AMBIGUOUS = re.compile(
    r"""
    | ~ | null | Null | NULL
    | y | Y | yes | Yes | YES | on | On | ON | true | True | TRUE
    | n | N | no | No | NO | off | Off | OFF | false | False | FALSE
    | [-+]?\.(?:inf|Inf|INF) | \.(?:nan|NaN|NAN)
    | [-+]?(?:\.[0-9_]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9_]+)?
    | [-+]?0[xX][0-9a-fA-F_]+ | [-+]?0[oO][0-7_]+ | [-+]?0[bB][01_]+
    | [-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}
      (?:[Tt][0-9:.]+(?:Z|[-+][0-9]{2}:[0-9]{2}) | \ [0-9:.]+)?
    """,
    re.VERBOSE,
)


class _Dumper(yaml.CSafeDumper):
    """Texts of several lines stand there as they are, and in double quotes what else could be something else."""


def _text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else '"' if _AMBIGUOUS.fullmatch(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def is_plain(request: web.BaseRequest) -> bool:
    """Whether the answer goes out as it is encoded."""
    accept = request.headers.get("Accept", "")
    return not _is_for_people(request) and ("yaml" not in accept and "pretty" not in accept)


def presented(request: web.BaseRequest, response: web.StreamResponse) -> web.StreamResponse:
    """The answer in the form that was asked for."""
    if not isinstance(response, web.Response) or response.headers.get("Content-Type") != negotiation.JSON:
        return response
    if is_plain(request) and response.status < 400:
        return response
    found = negotiation.of_answer(request.headers.get("Accept", ""), refused=response.status >= 400)
    body = response.body
    assert isinstance(body, bytes)
    if found.media == negotiation.YAML and request.path not in _ALWAYS_JSON:
        response.body = _yaml(body)
        response.headers["Content-Type"] = negotiation.YAML
    elif found.pretty or _is_for_people(request):
        response.body = msgspec.json.format(body, indent=2).rstrip()
    return response


def _yaml(encoded: bytes) -> bytes:
    return yaml.dump(msgspec.json.decode(encoded), Dumper=_Dumper, encoding="utf-8", allow_unicode=True)


def _is_for_people(request: web.BaseRequest) -> bool:
    query = request.raw_path.partition("?")[2]
    if "pretty" in query and (pretty := Query(query).text("pretty")):
        return pretty in _TRUE
    return request.headers.get("User-Agent", "").startswith(_PEOPLE)
