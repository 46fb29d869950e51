"""Layouts: pools of devices as authors write them, and the ResourceSlices that they become."""
