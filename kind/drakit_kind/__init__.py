"""Test clusters behind one interface, the ``drakit`` command and the pytest plugin.

This is the only package that knows all the others: it starts the components, hands out kubeconfigs, and stops what it
started.
"""
