"""Answers in YAML, refusals in protobuf, and JSON for people: what is encoded already is encoded anew for few.

After k8s.io/apiserver pkg/endpoints/handlers/negotiation/negotiate.go: by the ``Accept`` header, the parameter
``pretty``, or because browsers and command line tools ask.
"""

from __future__ import annotations

import msgspec
from aiohttp import web

from drakit_embedded.apiserver.requests import Query
from drakit_embedded.apiserver.wire import negotiation

_PEOPLE = ("curl", "Wget", "Mozilla/5.0")
_ALWAYS_JSON = ("/", "/version")
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))


def is_plain(request: web.BaseRequest) -> bool:
    """Check whether the answer goes out as it is encoded."""
    accept = request.headers.get("Accept", "")
    return not _is_for_people(request) and ("yaml" not in accept and "pretty" not in accept)


def presented(request: web.BaseRequest, response: web.StreamResponse) -> web.StreamResponse:
    """Convert an answer to the media type that the request asks for."""
    if not isinstance(response, web.Response) or response.headers.get("Content-Type") != negotiation.JSON:
        return response
    if is_plain(request) and response.status < 400:
        return response
    refused = response.status >= 400
    body, accept = response.body, request.headers.get("Accept", "")
    assert isinstance(body, bytes)
    if refused and negotiation.takes_protobuf_only(accept):
        # Imported here, as none of a cluster's own clients asks for it.
        from drakit_embedded.apiserver.wire import protobuf_answers

        response.body = protobuf_answers.encode_status(msgspec.json.decode(body))
        response.headers["Content-Type"] = negotiation.PROTOBUF
        return response
    found = negotiation.of_answer(accept, refused=refused)
    if found.media == negotiation.YAML and (refused or request.path not in _ALWAYS_JSON):
        # Imported here: hardly any client accepts YAML, and importing it takes a twentieth of a start.
        from drakit_embedded.apiserver.wire import yaml_answers

        response.body = yaml_answers.write(body)
        response.headers["Content-Type"] = negotiation.YAML
    elif found.pretty or _is_for_people(request):
        response.body = msgspec.json.format(body, indent=2).rstrip()
    return response


def _is_for_people(request: web.BaseRequest) -> bool:
    query = request.raw_path.partition("?")[2]
    if "pretty" in query and (pretty := Query(query).text("pretty")):
        return pretty in _TRUE
    return request.headers.get("User-Agent", "").startswith(_PEOPLE)
