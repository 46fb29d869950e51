"""The rules for CustomResourceDefinitions: what is stored of one, and whether it describes a kind that can be."""
