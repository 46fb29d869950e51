"""Plays the recorded stories of ``extensions/stories`` against an API server, and says where it answers otherwise.

A story is a list of steps: requests with the answers of kube-apiserver 1.37.1, waits, and what its webhooks were asked.
``playing`` is the door; ``answers`` brings an answer into the form that is recorded, ``places`` finds values in it,
``texts`` replaces what a server chooses itself, ``judging`` compares, and ``hooks`` answers for the webhooks.
"""
