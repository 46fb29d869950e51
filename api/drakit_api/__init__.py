"""What an object of ``resource.k8s.io`` is: values, rules and limits, without any I/O.

Every other part of drakit speaks about quantities, devices, counter sets, feature gates and selectors; the meaning of
each of them is written down here once, so that the driver that publishes a slice, the server that validates it and the
allocator that picks from it cannot disagree. Data enters and leaves as plain Kubernetes JSON objects (``dict``).
"""
