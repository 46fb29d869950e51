"""What makes a label selector valid, wherever one stands.

After ValidateLabelSelector in k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go.
"""

from __future__ import annotations

from functools import partial

from drakit_api.kubernetes_objects import Object
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, forbidden, invalid_constant, required
from drakit_api.validation.items import each
from drakit_api.validation.metadata import label_map


def label_selector(selector: Object, path: str, *, values: bool = True) -> Errors:
    """Validate a LabelSelector; ``{}`` is valid, and selects everything.

    Without ``values``, expressions may ask for what no label can have (AllowInvalidLabelValueInSelector).
    """
    yield from label_map(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    yield from each(selector.get("matchExpressions"), f"{path}.matchExpressions", partial(_requirement, values))


def in_order(selector: Object) -> Object:
    """Order a selector as Go writes it into messages: fields as in the type, labels by name."""
    labels, requirements = selector.get("matchLabels"), selector.get("matchExpressions") or ()
    listed = [{key: each[key] for key in ("key", "operator", "values") if key in each} for each in requirements]
    return {
        **({"matchLabels": dict(sorted(labels.items()))} if labels else {}),
        **({"matchExpressions": listed} if listed else {}),
    }


def _requirement(check_values: bool, requirement: Object, path: str) -> Errors:
    operator, values = requirement.get("operator") or "", requirement.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    else:
        yield invalid_constant(f"{path}.operator", operator, "not a valid selector operator")
    yield from names.label_key(requirement.get("key") or "", f"{path}.key")
    if check_values:
        yield from each(values, f"{path}.values", names.label_value)
