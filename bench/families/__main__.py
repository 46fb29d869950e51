"""Writes the problems of all families, or of those whose names contain the argument, as JSON lines."""

from __future__ import annotations

import json
import sys

from bench.families import problems

for problem in problems(*sys.argv[1:2]):
    print(json.dumps(problem, separators=(",", ":")))
