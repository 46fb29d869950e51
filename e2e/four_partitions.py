"""Seed 004's claim of four partitions: one of the two ways in which they fit on one A100, wherever it is told."""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from e2e.ledger import Ledger, results

SEED_CLAIM = ("1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb")
# 3g.20gb must lie at 4-7: at 0-3 it would leave room for one 1g only. See the picture in KEP-4815.
_LEGAL_LAYOUTS = [
    {(0,), (1,), (2, 3), (4, 5, 6, 7)},
    {(2,), (3,), (0, 1), (4, 5, 6, 7)},
]


def gpu_of_all_four(account: Ledger, claim: Object) -> str:
    """The UUID of the GPU that an allocated claim of the four has filled; ``AssertionError`` if it is not so."""
    account.check()
    where = [(result["pool"], result["device"]) for result in results(claim)]
    attributes = [account.devices[each]["attributes"] for each in where]
    assert [attribute["profile"]["string"] for attribute in attributes] == list(SEED_CLAIM)
    assert {account.memory_slices(*each) for each in where} in _LEGAL_LAYOUTS
    (gpu,) = {attribute["parentUUID"]["string"] for attribute in attributes}
    return str(gpu)
