"""Several errors as one, as Kubernetes words them. This imports nothing slow, since every command loads it."""

from __future__ import annotations

from collections.abc import Iterable


def aggregated(errors: Iterable[str]) -> str:
    """Join errors into one (k8s.io/apimachinery/pkg/util/errors, Aggregate), each once; "" if there are none."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""
