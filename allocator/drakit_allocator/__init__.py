"""Claims to devices: the structured allocator as a library, and the scheduler process around it.

Node, slices, classes, claims and what is already allocated go in; an AllocationResult per claim, or the reason why
there is none, comes out. The semantics are those of ``k8s.io/dynamic-resource-allocation/structured`` 0.37.1.

In the order in which data goes: ``inputs`` reads objects; ``devices`` and ``pools`` hold what slices publish, a
``snapshot`` all of it, and ``allocated`` what is given out already; ``requests`` expands claims, ``candidates`` says
which devices each may get, ``search`` finds which go together, ``results`` makes a status of that. ``allocator`` is
the way in, ``explanation`` says why something does not fit, ``scheduler`` is the process, ``cli`` has the commands.
"""
