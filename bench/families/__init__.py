"""Allocation problems that are hard to search, by family and size, in the form of ``drakit allocate --problems``."""
