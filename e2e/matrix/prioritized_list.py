"""DRAPrioritizedList (KEP-4816): lists of alternatives while parts of the control plane do not know them.

The order of the phases is that in which the KEP's authors tested upgrade and rollback by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import RESOURCE_CLAIMS
from drakit_kind.clusters.manifests import claim, claim_template, first_available, pod, request, subrequest
from e2e.matrix.stage import Stage

_DEVICES = """
driver: sized.example.com
devices:
- {name: large-0, attributes: {size: {string: large}}}
- {name: large-1, attributes: {size: {string: large}}}
- {name: small-0, attributes: {size: {string: small}}}
- {name: small-1, attributes: {size: {string: small}}}
- {name: small-2, attributes: {size: {string: small}}}
- {name: small-3, attributes: {size: {string: small}}}
"""
_DRIVER = "sized.example.com"
_SCHEDULER_SAYS = r"has subrequests, but the DRAPrioritizedList feature is disabled"
_SERVER_SAYS = "exactly one of `exactly` or `firstAvailable` is required"
_CONTROLLER_SAYS = "template includes a prioritized list of subrequests, but the feature is disabled"


def _of_size(size: str) -> str:
    return f"device.attributes['{_DRIVER}'].size == '{size}'"


def _best() -> Object:
    """The best that is free."""
    alternatives = [subrequest(size, _DRIVER, _of_size(size)) for size in ("large", "small")]
    return first_available("device", *alternatives)


def _exact(size: str) -> Object:
    return request("device", _DRIVER, _of_size(size))


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler; off in the API server and the controllers too; on in the scheduler; on everywhere."""
    stage.layout(_DEVICES)
    assert stage.runs(claim("first", _best())) == ["large-0"]
    assert stage.runs(claim("whole", _exact("large"))) == ["large-1"]
    assert stage.runs(claim("second", _best())) == ["small-0"]
    assert [result["request"] for result in stage.results("second")] == ["device/small"]
    stage.api.create(claim("stored", _best()), claim_template("template", _best()))
    yield

    stage.waits(claim("new", _best()), _SCHEDULER_SAYS)
    stage.api.create(pod("waiting", "stored"))
    stage.not_scheduled("waiting", _SCHEDULER_SAYS)
    assert stage.runs(claim("exact", _exact("small"))) == ["small-1"]
    yield

    _check_refused(stage)
    stage.api.create(pod("generated", template="template"))
    said = stage.api.wait_event("generated", "FailedResourceClaimCreation", containing=_CONTROLLER_SAYS)
    assert said.startswith("PodResourceClaim device:")
    kept = stage.api.get(RESOURCE_CLAIMS, "stored")
    assert stage.api.replace(kept)["spec"] == kept["spec"], "a stored list is kept where it is in use"
    yield

    _check_refused(stage)
    # What was stored is for the scheduler to decide.
    stage.started("new")
    stage.started("waiting")
    assert [result["request"] for name in ("new", "stored") for result in stage.results(name)] == ["device/small"] * 2
    yield

    stage.ends("first", "whole")
    assert [*stage.started("generated"), *stage.runs(claim("last", _best()))] in (
        ["large-0", "large-1"],
        ["large-1", "large-0"],
    )


def _check_refused(stage: Stage) -> None:
    """A list is dropped from what is sent, and what is left is no request."""
    assert _SERVER_SAYS in stage.refused(claim("refused", _best()))
    assert _SERVER_SAYS in stage.refused(claim_template("refused", _best()))
