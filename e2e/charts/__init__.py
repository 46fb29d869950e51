"""Charts of drivers that are not ours, installed by helm as their users install them.

``.ci/helm`` builds helm, fetches the driver and runs these stories; without it they are left out.
"""
