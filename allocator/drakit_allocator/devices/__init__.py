"""What ResourceSlices publish, read once into columns.

That is devices, their counters and capacities, and which of them a selector takes.
"""
