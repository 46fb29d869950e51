"""What becomes of a solution: devices by name, the status of claims, and the answer kept for nodes that are alike."""
