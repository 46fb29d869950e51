"""The type of every part of an expression, and what its calls may mean."""
