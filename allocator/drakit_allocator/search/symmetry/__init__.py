"""What is alike to a search: parts of a node, kinds of devices and demands."""
