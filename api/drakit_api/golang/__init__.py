"""Texts, numbers and JSON as Go reads and writes them, because error messages and stored objects show it."""
