"""Bounds: relaxations that say early that a search cannot succeed."""
