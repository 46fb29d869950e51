"""What administrators say of devices: DeviceTaintRules and ResourceSlicePatches, laid over the published slices.

Slices go in as their drivers have published them, and come out as the allocator sees them. Nothing is stored anywhere:
a slice that changes is looked at alone, and a statement that changes is evaluated alone.
"""
