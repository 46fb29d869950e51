"""The rules of one container of a pod.

``container_rules`` puts the others together: ``env_rules``, ``mount_rules``, ``probe_rules``, ``resource_rules`` and
``security_rules``, of which some are asked about the whole pod, too.
"""
