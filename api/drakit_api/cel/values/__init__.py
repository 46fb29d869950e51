"""The values and types of CEL, and how functions on them are declared."""
