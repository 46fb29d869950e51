"""How an allocation fails other than by not fitting; apart from the modules that raise, so callers import little."""

from __future__ import annotations


class AllocationError(Exception):
    """Broken input: a selector that fails, a missing class, an impossible request.

    With ``on_node`` only this node is affected and others may still be tried (``ErrFailedAllocationOnNode`` of
    upstream's ``structured/allocator.go``); otherwise the pod's scheduling attempt ends. The message is upstream's.
    """

    def __init__(self, message: str, *, on_node: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.on_node = on_node


class AllocationAborted(AllocationError):
    """The deadline or the bound on steps was reached. As upstream's filter timeout it ends the pod's attempt."""
