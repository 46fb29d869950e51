"""Requests about what holds for every kind, all that are recorded in ``tests/vectors/api/http.jsonl.gz``.

Each module has those of one matter, fully enumerated. ``tests.vectors.conventions`` asks them.
"""
