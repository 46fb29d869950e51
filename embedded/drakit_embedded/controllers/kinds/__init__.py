"""The kinds that an API server serves, which come and go with CustomResourceDefinitions.

Garbage collection, quotas and the end of a namespace concern every kind, those that nobody here has heard of included.
``discovery`` asks for them, ``following`` tells of changes within milliseconds.
"""
