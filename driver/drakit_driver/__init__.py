"""The fake DRA driver: device profiles in, ResourceSlices and prepared containers out.

A profile (or an author's layout file) becomes pools; the publisher keeps them in the API server; the kubelet plugin
answers prepare and unprepare over gRPC and writes CDI specs, as a vendor's driver does on a node with the hardware.
"""
