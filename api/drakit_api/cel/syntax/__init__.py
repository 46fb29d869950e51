"""From the text of an expression to its tree, and what is said where that fails."""
