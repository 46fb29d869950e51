"""``drakit conformance``: the suite as a judgement that can be handed on.

Configurations (a backend, a version, gates) go in; each is one run of pytest, whose ``recorder`` writes down what every
story showed; JUnit XML for machines and one HTML page for people come out. Against a driver and a cluster that are not
ours, only the stories about any driver run.
"""
