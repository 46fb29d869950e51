"""Devices as lists for people and scripts: what there is, who holds it, and what patches make of it.

An ``Inventory`` goes in, with a choice of what is wanted; ``Listing`` is the outcome, which ``table`` prints for people
and ``documents`` for scripts.
"""
