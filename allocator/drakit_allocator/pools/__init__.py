"""Pools put together from slices: what a node sees of them, and what is left of them."""
