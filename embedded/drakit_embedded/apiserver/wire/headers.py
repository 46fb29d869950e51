"""The headers that many answers have.

Answers are the state of now, and not for everybody (k8s.io/apiserver/pkg/endpoints/filters/cachecontrol.go).
"""

from __future__ import annotations

from typing import Final

UNCACHED: Final = {"Cache-Control": "no-cache, private"}
JSON: Final = {**UNCACHED, "Content-Type": "application/json"}
# As Go's http.Error sends them.
TEXT: Final = {**UNCACHED, "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"}
