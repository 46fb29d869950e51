"""Claims to devices: the structured allocator as a library, and the scheduler process around it.

Node, slices, classes, claims and what is already allocated go in; an AllocationResult per claim, or the reason why
there is none, comes out. The semantics are those of ``k8s.io/dynamic-resource-allocation/structured`` 0.37.1.
"""
