"""Pods, part by part: what is set, refused, kept and warned of, each module with one subject.

Apart from the other kinds because they are so many; ``registry.pods`` puts them together, and the templates of
workloads follow the same rules.
"""
