"""Custom resources: what their definition's schema makes of a body, and the rules that follow from it.

``served_kinds`` is where the catalog enters, with a definition; it gets back a kind with a ``Strategy`` in each version
like those of all other kinds.
"""
