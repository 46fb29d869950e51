"""DRAListTypeAttributes (KEP-5491): attributes with several values, such as the racks that a device reaches."""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import RESOURCE_SLICES
from drakit_kind.clusters.manifests import claim, request
from e2e.matrix.stage import Stage

_DRIVER = "listed.example.com"
_DEVICES = f"""
driver: {_DRIVER}
devices:
- {{name: left, attributes: {{racks: {{strings: [a, b]}}}}}}
- {{name: right, attributes: {{racks: {{strings: [c, d]}}}}}}
- {{name: middle, attributes: {{racks: {{strings: [b, c]}}}}}}
- {{name: upper, attributes: {{racks: {{strings: [x, y]}}}}}}
- {{name: lower, attributes: {{racks: {{strings: [y, z]}}}}}}
"""
_NOTHING_FITS = "cannot allocate all claims"


def _reaching(name: str, rack: str) -> Object:
    return claim(name, request("device", _DRIVER, f"'{rack}' in device.attributes['{_DRIVER}'].racks"))


def _two_together(name: str) -> Object:
    return claim(name, request("device", _DRIVER, count=2), match_attribute=f"{_DRIVER}/racks")


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler; off in the API server too, and the kubelet wipes the slices; on everywhere."""
    driver = stage.layout(_DEVICES)
    assert stage.runs(_two_together("together")) == ["left", "middle"]
    stage.waits(_reaching("far", "e"), _NOTHING_FITS)
    yield

    # Expressions know lists always, constraints do not.
    assert stage.runs(_reaching("near", "d")) == ["right"]
    stage.waits(_two_together("again"), _NOTHING_FITS)
    yield

    # Without its values an attribute is none, so the whole slice is refused.
    stage.told(driver, f"pool {stage.node}: not published")
    line = stage.told(driver, "spec.devices[0].attributes[racks]: Invalid value")
    assert "must specify one of: `int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`" in line
    assert stage.api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={_DRIVER}") == []
    yield

    assert stage.started("again") == ["upper", "lower"]
