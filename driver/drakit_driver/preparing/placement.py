"""On which nodes a device or an allocation is: node names and node selectors.

The plugin must refuse a claim that belongs elsewhere, and a multi-host device names its workers in its selector.
"""

from __future__ import annotations

from drakit_api.node_selectors import Selector
from drakit_api.node_selectors import selects as selects

HOSTNAME_LABEL = "kubernetes.io/hostname"


def node_names(selector: Selector | None) -> list[str]:
    """The nodes that a selector lists by name or host name, in its order; empty if it selects by other labels."""
    terms = (selector or {}).get("nodeSelectorTerms") or []
    if len(terms) != 1:
        return []
    named = [
        *((item, "metadata.name") for item in terms[0].get("matchFields") or []),
        *((item, HOSTNAME_LABEL) for item in terms[0].get("matchExpressions") or []),
    ]
    for requirement, key in named:
        if requirement.get("key") == key and requirement.get("operator") == "In":
            return list(requirement.get("values") or [])
    return []
