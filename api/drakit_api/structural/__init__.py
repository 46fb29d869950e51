"""Structural schemas: what a CustomResourceDefinition says about its objects, and what follows from it for a value."""
